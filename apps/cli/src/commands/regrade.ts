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

Grades some works of a class anew. First it says how many and what that may
cost; with --yes it does so, and then shows each grade before and after. Old
grades stay in the record.

Examples:
  markmill regrade --where outcome=grader-error
  markmill regrade --where criterion.names<2 --where late=no --yes
  markmill regrade --only-criterion names --where 'total<10' --yes
  markmill regrade --where rubric=old --with examples/class-roman --yes

  --where CONDITION    outcome=…, flag=…, total<5, criterion.ID>=3, student=KEY,
                       late=yes, released=no, rubric=old; all must hold
  --only-criterion ID  ask for this criterion alone, also after it was reworded;
                       all other marks stand, and where another criterion was
                       changed too, nothing is begun. Without --where: of all
                       works
  --with PATH          the class folder whose workflow and rubric are used now
  --model NAME         ask this model from now on
  --script FILE        let this scripted model answer instead
  --yes                do it
  --json               the changes as JSON

Exit codes: 0 all of them are graded, 3 some are not, 1 cancelled or refused,
4 graded, but results on disk could not be written, 5 the budget is spent,
8 to be resumed, 130 interrupted.`,

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
      throw new UsageError("Say which: --where CONDITION, such as --where outcome=grader-error.");
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
        if (whole > 0) terminal.err(`! ${whole} have no marks that could stand; they are left out`);
        terminal.err(
          `${before.length} of ${all.length} works; ${criterion === undefined ? "about" : `only ${criterion}, at most about`} ${price === null ? "an unknown sum" : formatDollars(price)}, by what they cost before`,
        );
        if (before.length === 0) {
          if (values.json === true) terminal.out(jsonText({ id: batch.id, items: [], next: null }));
          return exitCodes.success;
        }
        if (values.yes !== true) {
          if (values.json === true) terminal.out(jsonText({ id: batch.id, items: [], next: null }));
          terminal.err("nothing was begun: --yes does it");
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
          terminal.err(`next: markmill watch ${shortId(batch.id)}   goes on`);
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
        terminal.err(`${changed} changed, ${changes.length - changed} as before`);
        const left = before.length - works.length;
        if (left > 0)
          terminal.err(`${countOf(left, "submission")} that ${left === 1 ? "was" : "were"} under way went on`);
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
    throw new UsageError(`${id} is graded by a person; 'markmill override WHO --criterion ${id}' sets it.`);
  if (remote) throw new UsageError("--only-criterion works where the class is; a server regrades whole works.");
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
    `This class is ${state.is} (${state.reason}), so nothing was begun.`,
    `'markmill resume ${shortId(id)}' goes on with it; then regrade.`,
  );
}

function show(points: number | null): string {
  return points === null ? "–" : formatPoints(points);
}
