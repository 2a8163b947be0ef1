import { parseArgs } from "node:util";
import { formatPoints, statusOf } from "@markmill/classroom/gradebook";
import { classSheet, commitOf, countingWork, everyMember, everyWork, parseCount } from "@markmill/stack";
import type { BatchDetail, BatchWork } from "@markmill/store";
import { countOf } from "../amounts.ts";
import { isReleased } from "../attend-class.ts";
import { readClassFacts } from "../class-facts.ts";
import { resultsOf } from "../class-results.ts";
import { type Command, CommandError, exitCodes, type Terminal, UsageError } from "../command.ts";
import { requireDecided, settlingCommands } from "../counting-choices.ts";
import { findClass } from "../find-batch.ts";
import { attemptsOf, findWork } from "../find-student.ts";
import { oneLine, textWidth } from "../fit-width.ts";
import { foldText } from "../fold-text.ts";
import { jsonText } from "../json-text.ts";
import { reasonsOf, reviewList, tellQueue } from "../review-order.ts";
import { shortId } from "../short-id.ts";
import { whoSays } from "../who-says.ts";
import { withStack } from "../with-stack.ts";

export const review: Command = {
  help: `Usage: markmill review [BATCH] [--student WHO] [--list] [--json]
       markmill review [BATCH] --student WHO --accept [--try N]
       markmill review [BATCH] --student WHO --undo [--entry ID]

Show the next submission that needs a human decision: the reason, the proposed
grade and the evidence. Submissions where a decision can change most come first.
Without BATCH: the latest class. If a student has several attempts, the one that
counts is shown.

Examples:
  markmill review
  markmill review --list
  markmill review --student 4119 --accept --try 1   accept the proposed grade
  markmill override 4119 --criterion names --points 2 --reason 'too kind'

  --student WHO        show this student: key, id, name or pseudonym
  --list               list all submissions that need a human decision, and
                       graded submissions with flags that no one has reviewed
  --accept             accept the proposed grade; needs --student. A criterion
                       without points stays open, and the submission stays on
                       the list until a person gives points (exit code 3)
  --undo               take back your own last acceptance. The one before it
                       counts again. Marks from 'override' do not change
  --entry ID           with --undo: take back the acceptance with this id, even
                       if another person gave it
  --try N              the grading attempt that you have seen; refused if there
                       is a newer one
  --by NAME            the person who accepts (default: your user account)`,

  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        student: { type: "string" },
        list: { type: "boolean" },
        accept: { type: "boolean" },
        undo: { type: "boolean" },
        entry: { type: "string" },
        try: { type: "string" },
        by: { type: "string" },
        json: { type: "boolean" },
      },
    });
    if (values.accept === true && values.student === undefined) throw new UsageError("--accept needs --student WHO.");
    if (values.undo === true && (values.student === undefined || values.accept === true))
      throw new UsageError("--undo needs --student WHO and cannot be combined with --accept.");
    const entry = values.entry === undefined ? null : parseCount(values.entry);
    if (values.entry !== undefined && (entry === null || values.undo !== true))
      throw new UsageError("--entry needs --undo and the id of an acceptance, such as 12.");
    const seen = values.try === undefined ? null : parseCount(values.try);
    if (values.try !== undefined && (seen === null || seen < 1)) throw new UsageError("--try must be a number from 1.");
    return await withStack(terminal, async (stack, config) => {
      const { batches } = stack.tenant;
      const batch = await findClass(stack.tenant, positionals[0], terminal.cwd);
      const results = resultsOf(stack, config, batch, terminal);
      if (values.accept !== true && values.undo !== true) await results.repair();
      const members = await everyMember(batches, batch.id);
      const works = await everyWork(batches, batch.id);
      const names = new Map(members.map(({ key, name }) => [key, name]));
      const { unsampled, unfetched, candidates, unmatched } = readClassFacts(batch.settings.facts);
      // Uses the same rules as the table and the exports: students outside the sample need no decision yet.
      const sheetOf = (all: readonly BatchWork[]) =>
        classSheet(batch, members, all, new Set(unsampled), new Set(unfetched), new Set(candidates));
      const queue = reviewList(sheetOf(works).works);
      const nameOf = ({ by }: BatchWork) => by.map((key) => names.get(key) ?? key).join(", ");
      if (values.list === true) {
        const lost = sheetOf(works).sheet.rows.filter((row) => statusOf(row) === "not matched");
        const whose = `not matched: decide to which student each file belongs: ${unmatched.join(", ")}`;
        if (values.json === true) {
          terminal.out(
            jsonText({
              items: [
                ...queue.map(({ is, work, students, why }) => ({
                  work: work.key,
                  attempt: work.attempt,
                  status: is,
                  students,
                  why,
                  grade: work.grade,
                })),
                ...lost.map(({ student }) => ({
                  work: null,
                  attempt: null,
                  status: "not matched",
                  students: [student.key],
                  why: [whose],
                  grade: null,
                })),
              ],
              next: null,
            }),
          );
          return exitCodes.success;
        }
        for (const { is, students, why } of queue) {
          const who = students.map((key) => names.get(key) ?? key).join(", ");
          const text = `${oneLine(who)}: ${is === "flagged" ? "graded, flagged: " : ""}${oneLine(why.join("; "))}`;
          for (const line of reviewLines(students.join("+"), text, terminal)) terminal.out(line);
        }
        for (const { student } of lost)
          for (const line of reviewLines(student.key, `${oneLine(student.name)}: ${oneLine(whose)}`, terminal))
            terminal.out(line);
        terminal.err(tellQueue(queue));
        if (lost.length > 0)
          terminal.err(
            `${countOf(lost.length, "student")} not matched: correct the roster or the file names, then grade again`,
          );
        return exitCodes.success;
      }
      const [first] = queue;
      const meant =
        values.student !== undefined
          ? findWork(values.student, members, works)
          : first === undefined
            ? undefined
            : { work: first.work, student: first.students[0] ?? null };
      if (meant === undefined) {
        if (values.json === true) terminal.out(jsonText({ items: [], next: null }));
        terminal.err(tellQueue(queue));
        if (!isReleased(sheetOf(works).sheet))
          terminal.err(`next: markmill release ${shortId(batch.id)}   release the grades to the students`);
        return exitCodes.success;
      }
      const { work, student } = meant;
      if (values.undo === true) {
        const reviewed = work.grade?.reviewed ?? null;
        const me = whoSays(values.by);
        const id = entry ?? (reviewed?.by === me ? reviewed.id : null);
        if (id === null) throw noReview(reviewed, me);
        await results.during(() =>
          batches.record(batch.id, {
            work: work.key,
            kind: "reviewed",
            by: me,
            takesBack: id,
            // The person named the acceptance, so they have seen it.
            ...(entry === null ? {} : { seen: [work.etag] }),
          }),
        );
        const after = await batches.work(batch.id, work.key);
        terminal.err(
          `taken back: the acceptance ${id} of ${nameOf(work)}; the submission is ${after?.grade?.outcome.is ?? "open"} now`,
        );
        return results.code(exitCodes.success);
      }
      if (values.accept === true) {
        requireDecided(student, works, batch);
        refuseUnseen(work, seen);
        await results.during(() =>
          batches.record(batch.id, {
            work: work.key,
            kind: "reviewed",
            by: whoSays(values.by),
            ...(work.proposal === null ? {} : { try: work.proposal.try }),
          }),
        );
        const after = await batches.work(batch.id, work.key);
        const open = (after?.grade?.criteria ?? []).flatMap((one) => (one.is === "not graded" ? one.id : []));
        const now = works.map((one) => (one.key === after?.key ? after : one));
        const still = reviewList(sheetOf(now).works).find(
          (item) => item.is === "needs human" && item.work.key === work.key,
        );
        if (open.length === 0 && still !== undefined) {
          terminal.err(
            `reviewed: ${nameOf(work)}; the submission stays on the review list: ${oneLine(still.why.join("; "))}`,
          );
          return results.code(exitCodes.someNotGraded);
        }
        if (open.length === 0) {
          terminal.err(`reviewed: ${nameOf(work)}; the proposed grade is accepted`);
          return results.code(exitCodes.success);
        }
        terminal.err(
          `reviewed: ${nameOf(work)}; accepted except for ${open.join(", ")}, which has no points yet, so the submission stays on the review list`,
        );
        terminal.err(
          `next: markmill override --student ${work.by[0] ?? work.key} --criterion ${open[0]} --points N --reason TEXT`,
        );
        return results.code(exitCodes.someNotGraded);
      }
      if (values.json === true)
        terminal.out(
          jsonText({
            work: work.key,
            attempt: work.attempt,
            students: work.by,
            name: nameOf(work),
            why: reasonsOf(work),
            grade: work.grade,
            marks: work.marks,
            try: work.proposal?.try ?? null,
            left: queue.length,
          }),
        );
      else {
        for (const line of showWork(batch, work, nameOf(work))) terminal.out(line);
        const attempts = attemptsOf(work, works);
        if (attempts.length > 1) terminal.out(tellAttempts(work, attempts));
        for (const line of tellMarks(work)) terminal.out(line);
      }
      const who = work.by[0] ?? work.key;
      terminal.err(tellQueue(queue));
      const settling = student === null ? [] : settlingCommands(student, works, batch);
      if (settling.length > 0) {
        for (const command of settling) terminal.err(`next: ${command}`);
        return exitCodes.success;
      }
      if (work.proposal !== null)
        terminal.err(
          `next: markmill review ${shortId(batch.id)} --student ${who} --accept --try ${work.proposal.try}   accept it`,
        );
      terminal.err(`next: markmill override --student ${who} --criterion ID --points N --reason TEXT`);
      if (work.try !== null)
        terminal.err(`next: markmill history ${shortId(work.try.runId)}   show every prompt, reply and command`);
      return exitCodes.success;
    });
  },
};

function tellAttempts({ key, attempt }: BatchWork, attempts: readonly BatchWork[]): string {
  const [first, ...more] = attempts;
  const counts = first === undefined ? null : countingWork([first, ...more]);
  if (counts === null || counts.key === key)
    return `attempt ${attempt} is shown: it is the one of ${attempts.length} attempts that counts`;
  return `attempt ${attempt} of ${attempts.length} is shown; attempt ${counts.attempt} counts`;
}

/** Lists people's marks that do not count, with the reason. */
function tellMarks({ marks }: BatchWork): string[] {
  return marks
    .filter(({ fate }) => fate.is !== "stands")
    .map((mark) => {
      const { id, by, at, criterion, points } = mark;
      return `mark ${id}: ${by} gave ${criterion} ${formatPoints(points)} at ${at}; ${tellFate(mark)}`;
    });
}

function tellFate({ fate }: BatchWork["marks"][number]): string {
  switch (fate.is) {
    case "stands":
      return "stands";
    case "replaced":
    case "taken back":
      return `${fate.is} by entry ${fate.by}`;
    case "other content":
      return "the submission changed after this mark";
    case "no criterion":
      return "the rubric no longer has this criterion";
  }
}

/** On a screen the reasons are wrapped and none is cut. For a program it is one line. */
export function reviewLines(key: string, text: string, screen: Pick<Terminal, "shown" | "columns">): string[] {
  const head = key.padEnd(10);
  if (!screen.shown) return [`${head}  ${text}`];
  const [first = "", ...more] = foldText(text, Math.max(20, screen.columns - textWidth(head) - 2));
  return [`${head}  ${first}`, ...more.map((line) => `${" ".repeat(textWidth(head))}  ${line}`)];
}

function noReview(reviewed: NonNullable<BatchWork["grade"]>["reviewed"], me: string): CommandError {
  return new CommandError(
    "REVIEW_NOT_YOURS",
    reviewed === null
      ? "No one has accepted this proposal, so nothing can be taken back."
      : `${me} has not accepted this proposal. ${reviewed.by} did at ${reviewed.at} (entry ${reviewed.id}).`,
    reviewed === null
      ? "'markmill review --student WHO' shows the submission."
      : `To take that acceptance back: --undo --entry ${reviewed.id}.`,
  );
}

/** Only a proposal that the person has seen can be accepted. A newer proposal must be reviewed first. */
function refuseUnseen({ proposal, grade, by, key }: BatchWork, seen: number | null): void {
  const who = by[0] ?? key;
  if (proposal === null || grade?.outcome.is === "grader error" || grade?.outcome.is === "ungradable")
    throw new CommandError(
      "REVIEW_NO_PROPOSAL",
      "The submission has no proposed grade that you could accept.",
      `'markmill override --student ${who}' sets points by hand.`,
    );
  if (seen === null || seen === proposal.try) return;
  throw new CommandError(
    "REVIEW_OTHER_TRY",
    `You have seen grading attempt ${seen}, but the proposal now comes from grading attempt ${proposal.try}.`,
    `'markmill review --student ${who}' shows it.`,
  );
}

function showWork({ rubric }: BatchDetail, work: BatchWork, name: string): string[] {
  const { grade } = work;
  const lines = [`${name} (${work.pseudonym}): ${grade === null ? work.standing.is : grade.outcome.is}`];
  const commit = commitOf(work);
  if (commit !== undefined) lines.push(`commit ${commit.hash} of ${commit.at ?? "an unknown time"}`);
  for (const doubt of commit?.doubts ?? []) lines.push(`! the date of the commit is doubtful: ${doubt}`);
  for (const reason of reasonsOf(work)) lines.push(`! ${reason}`);
  for (const { kind, message, file, line } of grade?.flags ?? [])
    lines.push(`⚑ ${kind}: ${message}${file === undefined ? "" : ` (${file}${line === undefined ? "" : `:${line}`})`}`);
  for (const { id, title, points } of rubric.criteria) {
    const found = grade?.criteria.find((one) => one.id === id);
    if (found?.is !== "scored") {
      lines.push(
        "",
        `${id}: not graded (of ${formatPoints(points)})   ${title}`,
        `  ${found?.why ?? "not graded yet"}`,
      );
      continue;
    }
    const proposed = grade?.overrides.find(({ criterion }) => criterion === id);
    const sure = found.confidence === null ? "" : `, ${Math.round(found.confidence * 100)} % confidence`;
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
