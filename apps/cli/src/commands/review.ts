import { parseArgs } from "node:util";
import { formatPoints } from "@markmill/gradebook";
import { everyMember, everyWork, parseCount } from "@markmill/stack";
import type { BatchDetail, BatchWork } from "@markmill/store";
import { type Command, CommandError, exitCodes, UsageError } from "../command.ts";
import { findClass } from "../find-batch.ts";
import { findWork } from "../find-student.ts";
import { fitWidth, oneLine } from "../fit-width.ts";
import { jsonText } from "../json-text.ts";
import { rankForReview, reasonsOf } from "../review-order.ts";
import { shortId } from "../short-id.ts";
import { whoSays } from "../who-says.ts";
import { withStack } from "../with-stack.ts";

export const review: Command = {
  help: `Usage: markmill review [BATCH] [--student WHO] [--list] [--json]
       markmill review [BATCH] --student WHO --accept [--try N]

Shows the next work that wants a person, with why, what was proposed and the
evidence; those first where a look changes most. Without BATCH: the latest
class.

Examples:
  markmill review
  markmill review --list
  markmill review --student 4119 --accept --try 1   the proposal stands as it is
  markmill override 4119 --criterion names --points 2 --reason 'too kind'

  --student WHO        this one: key, id, name or pseudonym
  --list               all that want a person, one line each
  --accept             the proposal was reviewed and stands; needs --student
  --try N              the try you have seen; refused if there is a newer one`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        student: { type: "string" },
        list: { type: "boolean" },
        accept: { type: "boolean" },
        try: { type: "string" },
        by: { type: "string" },
        json: { type: "boolean" },
      },
    });
    if (values.accept === true && values.student === undefined)
      throw new UsageError("Say whose proposal stands: --accept needs --student WHO.");
    const seen = values.try === undefined ? null : parseCount(values.try);
    if (values.try !== undefined && (seen === null || seen < 1)) throw new UsageError("--try is a number from 1.");
    return await withStack(terminal, async (stack) => {
      const { batches } = stack.tenant;
      const batch = await findClass(stack.tenant, positionals[0], terminal.cwd);
      const members = await everyMember(batches, batch.id);
      const works = await everyWork(batches, batch.id);
      const names = new Map(members.map(({ key, name }) => [key, name]));
      const queue = rankForReview(works);
      const nameOf = ({ by }: BatchWork) => by.map((key) => names.get(key) ?? key).join(", ");
      if (values.list === true) {
        if (values.json === true) {
          terminal.out(
            jsonText(
              queue.map((work) => ({ work: work.key, students: work.by, why: reasonsOf(work), grade: work.grade })),
            ),
          );
          return exitCodes.success;
        }
        for (const work of queue)
          terminal.out(
            fitWidth(
              `${work.by.join("+").padEnd(10)}  ${oneLine(nameOf(work))}: ${oneLine(reasonsOf(work).join("; "))}`,
              terminal.shown ? terminal.columns : 200,
            ),
          );
        terminal.err(queue.length === 0 ? "Nothing wants a person." : `${queue.length} want a person`);
        return exitCodes.success;
      }
      const work = values.student === undefined ? queue[0] : findWork(values.student, members, works);
      if (work === undefined) {
        terminal.err("Nothing wants a person.");
        terminal.err(`next: markmill release ${shortId(batch.id)}   when the grades may be given out`);
        return exitCodes.success;
      }
      if (values.accept === true) {
        refuseUnseen(work, seen);
        await batches.record(batch.id, {
          ...{ work: work.key, kind: "reviewed", by: whoSays(values.by) },
          ...(work.proposal === null ? {} : { try: work.proposal.try }),
        });
        terminal.err(`reviewed: ${nameOf(work)}; the proposal stands`);
        return exitCodes.success;
      }
      if (values.json === true)
        terminal.out(
          jsonText({
            work: work.key,
            students: work.by,
            name: nameOf(work),
            why: reasonsOf(work),
            grade: work.grade,
            try: work.proposal?.try ?? null,
            left: queue.length,
          }),
        );
      else for (const line of showWork(batch, work, nameOf(work))) terminal.out(line);
      const who = work.by[0] ?? work.key;
      terminal.err(`${queue.length} want a person`);
      if (work.proposal !== null)
        terminal.err(
          `next: markmill review ${shortId(batch.id)} --student ${who} --accept --try ${work.proposal.try}   it stands as it is`,
        );
      terminal.err(`next: markmill override --student ${who} --criterion ID --points N --reason TEXT`);
      if (work.try !== null)
        terminal.err(`next: markmill history ${shortId(work.try.runId)}   every prompt, reply and command`);
      return exitCodes.success;
    });
  },
};

/** What was seen is what is accepted: a proposal that came since wants a look of its own. */
function refuseUnseen({ proposal, by, key }: BatchWork, seen: number | null): void {
  const who = by[0] ?? key;
  if (proposal === null)
    throw new CommandError(
      "REVIEW_NO_PROPOSAL",
      "Nothing is proposed that could stand.",
      `'markmill override --student ${who}' enters points by hand.`,
    );
  if (seen === null || seen === proposal.try) return;
  throw new CommandError(
    "REVIEW_OTHER_TRY",
    `You have seen try ${seen}, but the proposal is of try ${proposal.try} now.`,
    `'markmill review --student ${who}' shows it.`,
  );
}

function showWork({ rubric }: BatchDetail, work: BatchWork, name: string): string[] {
  const { grade } = work;
  const lines = [`${name} (${work.pseudonym}): ${grade === null ? work.standing.is : grade.outcome.is}`];
  for (const reason of reasonsOf(work)) lines.push(`! ${reason}`);
  for (const { kind, message, file, line } of grade?.flags ?? [])
    lines.push(`⚑ ${kind}: ${message}${file === undefined ? "" : ` (${file}${line === undefined ? "" : `:${line}`})`}`);
  for (const { id, title, points } of rubric.criteria) {
    const found = grade?.criteria.find((one) => one.id === id);
    if (found?.is !== "scored") {
      lines.push(
        "",
        `${id}: not graded (of ${formatPoints(points)})   ${title}`,
        `  ${found?.why ?? "nobody has graded this"}`,
      );
      continue;
    }
    const proposed = grade?.overrides.find(({ criterion }) => criterion === id);
    const sure = found.confidence === null ? "" : `, ${Math.round(found.confidence * 100)} % sure`;
    lines.push("", `${id}: ${formatPoints(found.points)} of ${formatPoints(points)} by ${found.by}${sure}   ${title}`);
    if (proposed?.proposed != null)
      lines.push(`  proposed: ${formatPoints(proposed.proposed)}; ${proposed.by}: ${proposed.reason}`);
    if (found.comment !== "") lines.push(`  ${found.comment}`);
    for (const note of found.notes) lines.push(`  note: ${oneLine(note)}`);
    for (const { file, line, quote } of found.evidence) lines.push(`  ${file}:${line}: ${oneLine(quote)}`);
    for (const test of found.tests.filter(({ passed }) => !passed).slice(0, 5))
      lines.push(`  failed: ${test.name}: ${oneLine(test.message)}`);
  }
  if (grade?.penalty != null) lines.push("", `penalty: ${formatPoints(grade.penalty.points)}: ${grade.penalty.why}`);
  if (grade?.points != null) lines.push("", `points: ${formatPoints(grade.points)} of ${formatPoints(grade.most)}`);
  return lines;
}
