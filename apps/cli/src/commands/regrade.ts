import { parseArgs } from "node:util";
import { formatPoints } from "@markmill/classroom/gradebook";
import { suggest } from "@markmill/definition";
import { catchInterrupts, everyMember, everyWork, followBatch, mustWork, workForBatch } from "@markmill/stack";
import type { BatchDetail, BatchWork } from "@markmill/store";
import { adoptModel } from "../adopt-model.ts";
import { countOf, formatDollars } from "../amounts.ts";
import { nextOf } from "../attend-class.ts";
import { type ClassEnd, classEnd, classExitCode } from "../class-end.ts";
import { type ClassPlan, planClass } from "../class-plan.ts";
import { resultsOf } from "../class-results.ts";
import { type Command, CommandError, exitCodes, UsageError } from "../command.ts";
import { findClass } from "../find-batch.ts";
import { oneLine } from "../fit-width.ts";
import { jsonText } from "../json-text.ts";
import { gradeChanges, regradePrice } from "../regrade-preview.ts";
import { readConditions, requireKnown, selects } from "../select-works.ts";
import { shortId } from "../short-id.ts";
import { showClassProgress } from "../show-class-progress.ts";
import { withStack } from "../with-stack.ts";

export const regrade: Command = {
  help: `Usage: markmill regrade [BATCH] --where CONDITION… [--with PATH] --yes
       markmill regrade [BATCH] --only-criterion ID [--where CONDITION…] --yes

Grade the selected submissions again. Without --yes, Markmill prints how many
submissions it would grade and the expected cost. With --yes, it grades them and
prints each grade before and after. Old grades stay in the record.

Examples:
  markmill regrade --where outcome=grader-error
  markmill regrade --where criterion.names<2 --where late=no --yes
  markmill regrade --only-criterion names --where 'total<10' --yes
  markmill regrade --where rubric=old --with examples/class-roman --yes

  --where CONDITION    outcome=…, flag=…, total<5, criterion.ID>=3, student=KEY,
                       late=yes, released=no, rubric=old. All must be true
  --only-criterion ID  grade only this criterion, also after you reworded it.
                       All other marks are kept. If another criterion was
                       changed too, nothing starts. Without --where: grade it
                       for all submissions
  --with PATH          use the workflow and rubric of this class folder
  --model NAME         use this model from now on
  --script FILE        use this scripted model from now on
  --yes                grade the submissions
  --json               print the changes as JSON

Exit codes:
  0  all of them are graded          4  results could not be written
  1  cancelled or refused            5  the budget is spent
  3  some submissions not graded     8  a run waits to be resumed
  130  interrupted`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        where: { type: "string", multiple: true },
        with: { type: "string" },
        "only-criterion": { type: "string" },
        model: { type: "string" },
        script: { type: "string" },
        yes: { type: "boolean" },
        json: { type: "boolean" },
      },
    });
    const criterion = values["only-criterion"];
    const conditions = readConditions(values.where ?? []);
    if (conditions.length === 0 && criterion === undefined)
      throw new UsageError("Select submissions with --where CONDITION, such as --where outcome=grader-error.");
    const interrupts = catchInterrupts();
    let stopScript = async () => {};
    try {
      return await withStack(terminal, async (stack, config) => {
        const { batches } = stack.tenant;
        const batch = await findClass(stack.tenant, positionals[0], terminal.cwd);
        const plan = values.with === undefined ? null : await planClass(values.with, {}, config, terminal);
        if (values.with !== undefined && plan === null) return exitCodes.invalid;
        if (criterion !== undefined) checkCriterion(criterion, batch, plan, config.server !== null);
        const hash = plan?.definition.hash ?? batch.definitionHash;
        const all = await everyWork(batches, batch.id);
        requireKnown(conditions, all);
        const meant = all.filter(
          (work) => work.counts && work.content.is === "taken" && work.tries > 0 && selects(conditions, work, hash),
        );
        const before = criterion === undefined ? meant : meant.filter(hasMarks);
        const price = regradePrice(before);
        const whole = meant.length - before.length;
        if (whole > 0) terminal.err(`! skipped, because they have no marks that could be kept: ${whole}`);
        terminal.err(
          `${before.length} of ${all.length} submissions${criterion === undefined ? "" : `, only ${criterion}`}; expected cost: ${price === null ? "unknown" : `${criterion === undefined ? "" : "at most "}about ${formatDollars(price)}`}, based on their earlier cost`,
        );
        if (before.length === 0) {
          if (values.json === true) terminal.out(jsonText({ id: batch.id, items: [], next: null }));
          return exitCodes.success;
        }
        if (values.yes !== true) {
          if (values.json === true) terminal.out(jsonText({ id: batch.id, items: [], next: null }));
          terminal.err("nothing was started; add --yes to grade them");
          return exitCodes.success;
        }
        refuseHalted(batch);
        stopScript = (await adoptModel(stack, config, batch, values, terminal)).stop;
        const results = resultsOf(stack, config, batch, terminal);
        await results.note();
        const { works } = await batches.regrade(batch.id, {
          keys: before.map(({ key }) => key),
          ...(criterion === undefined ? {} : { criterion }),
          ...(plan === null ? {} : { definition: plan.definition }),
        });
        // Submissions that wait because of wrong settings at the start count as active. They are resumed with the others.
        const held = (await batches.get(batch.id))?.troubles.some((one) => one.held) === true;
        const jobs = held ? (await batches.resume(batch.id)).jobs : [];
        if (await mustWork(stack, config)) await workForBatch(stack, batch.id);
        await stack.queues.enqueue(jobs);
        const progress = await showClassProgress(stack, batch.id, terminal);
        let end: ClassEnd | null = null;
        for await (const look of followBatch(batches, batch.id, interrupts.signal)) {
          progress.show({ ...look, ended: [] });
          end = classEnd(look.batch);
          if (end !== null) break;
        }
        progress.end();
        if (end === null) {
          terminal.err("results on disk are out of date until then");
          terminal.err(`next: markmill watch ${shortId(batch.id)}   continue`);
          return exitCodes.interrupted;
        }
        await results.write();
        const after = await everyWork(batches, batch.id, { keys: before.map(({ key }) => key) });
        const changes = gradeChanges(before, after);
        const names = new Map((await everyMember(batches, batch.id)).map(({ key, name }) => [key, name]));
        if (values.json === true) terminal.out(jsonText({ id: batch.id, items: changes, next: null }));
        else
          for (const { students, from, to, criteria } of changes.filter((one) => one.changed)) {
            const who = oneLine(students.map((key) => names.get(key) ?? key).join(", "));
            terminal.out(
              `${who}: ${from} → ${to}${criteria.length === 0 ? "" : ` (${criteria.map((one) => `${one.id} ${show(one.from)} → ${show(one.to)}`).join(", ")})`}`,
            );
          }
        const changed = changes.filter((one) => one.changed).length;
        terminal.err(`${changed} changed, ${changes.length - changed} unchanged`);
        const left = before.length - works.length;
        if (left > 0)
          terminal.err(`${countOf(left, "submission")} ${left === 1 ? "was" : "were"} already running and continued`);
        if (end.is !== "finished")
          for (const step of nextOf(end, shortId(batch.id), new Map(), false)) terminal.err(`next: ${step}`);
        return results.code(
          classExitCode(
            end,
            after.map(({ grade }) => grade?.outcome.is ?? "waiting"),
          ),
        );
      });
    } finally {
      await stopScript();
      interrupts.release();
    }
  },
};

/** Reports criteria that cannot be graded alone, before anything is started. */
function checkCriterion(id: string, { rubric }: BatchDetail, plan: ClassPlan | null, remote: boolean): void {
  const { criteria } = plan?.rubric ?? rubric;
  const found = criteria.find((one) => one.id === id);
  if (found === undefined) {
    const known = criteria.map((one) => one.id);
    const near = suggest(id, known);
    throw new UsageError(
      `The rubric has no criterion '${id}'. ${near === null ? "" : `Did you mean ${near}? `}It has ${known.join(", ")}.`,
    );
  }
  if (found.source.is === "human")
    throw new UsageError(`A person grades ${id}. 'markmill override WHO --criterion ${id}' sets its points.`);
  if (remote)
    throw new UsageError("--only-criterion works only without MARKMILL_URL; a server regrades whole submissions.");
}

/** Whether there are marks that stay beside the regraded one. The store also refuses if the rubric has changed elsewhere. */
function hasMarks({ proposal }: BatchWork): boolean {
  const is = proposal?.grade.outcome.is;
  return is === "graded" || is === "needs human";
}

/** A new grading attempt would wait in a paused or cancelled class, and nothing would be graded. */
function refuseHalted({ id, state }: BatchDetail): void {
  if (state.is === "open") return;
  throw new CommandError(
    state.is === "cancelled" ? "CLASS_CANCELLED" : "CLASS_PAUSED",
    `Nothing was started, because this class is ${state.is} (${state.reason}).`,
    `Continue the class with 'markmill resume ${shortId(id)}'. Then regrade.`,
  );
}

function show(points: number | null): string {
  return points === null ? "–" : formatPoints(points);
}
