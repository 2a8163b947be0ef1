/**
 * Follows a class until no submission continues on its own, or the person leaves. Then reports the result and writes the reports and grade
 * files.
 */
import { statusOf } from "@markmill/classroom/gradebook";
import { releasedFor } from "@markmill/grading";
import { commitOf, followBatch, type Stack } from "@markmill/stack";
import type { BatchDetail } from "@markmill/store";
import { countOf, formatElapsed } from "./amounts.ts";
import { endTable } from "./attend-table.ts";
import { batchAsJson } from "./batch-as-json.ts";
import { type ClassEnd, classEnd, classExitCode, nextOfEnd } from "./class-end.ts";
import { readClassFacts } from "./class-facts.ts";
import { type Papers, type ReadClass, readBatchClass } from "./class-papers.ts";
import { spendOf } from "./class-progress.ts";
import { ClassResults } from "./class-results.ts";
import { printClassTable } from "./class-table.ts";
import { exitCodes, type Terminal } from "./command.ts";
import { jsonText } from "./json-text.ts";
import { reviewList } from "./review-order.ts";
import { shortId } from "./short-id.ts";
import { showClassProgress } from "./show-class-progress.ts";
import { statusCounts, tellCounts } from "./status-counts.ts";

export interface AttendingClass {
  readonly json: boolean;
  /** This process is the worker of the batch, so leaving interrupts the batch. */
  readonly works: boolean;
  /** false: the output contains no names and no grades. */
  readonly names: boolean;
  /** The folder for the results. null: none are written. */
  readonly out: string | null;
  /** Absolute path of the project's home. */
  readonly home: string;
}

export async function attendClass(
  stack: Stack,
  batchId: string,
  { json, works, names, out, home }: AttendingClass,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const begun = stack.store.clock.now();
  const { batch: last, end } = await followClass(stack, batchId, terminal, names, signal);
  if (last === null) return exitCodes.failed;
  if (end === null) {
    if (works) terminal.err("interrupted: finishing the running steps (press Ctrl-C again to stop at once)");
    return exitCodes.interrupted;
  }
  const { table } = readClassFacts(last.settings.facts);
  if (table !== null) {
    const ms = stack.store.clock.now() - begun;
    return await endTable(stack, last, table, { json, names, out, end, ms }, terminal);
  }
  const results = new ClassResults(stack, batchId, { home, terminal });
  if (out !== null) await results.expect(out);
  const written = await results.write({ tellWritten: false });
  const papers = out === null ? null : (written.get(out) ?? null);
  const read = await readBatchClass(stack, last);
  const code = results.code(classExitCode(end, handedIn(read)));
  if (json && names) terminal.out(jsonText(classAsJson(read, end, papers, code)));
  else if (names) printClassTable(read.sheet, terminal);
  for (const line of summariseClass(read, end, papers, stack.store.clock.now() - begun)) terminal.err(line);
  return code;
}

/** Shows events until no submission continues on its own. `end` null: the person left. */
export async function followClass(
  stack: Stack,
  batchId: string,
  terminal: Terminal,
  names: boolean,
  signal: AbortSignal,
): Promise<{ readonly batch: BatchDetail | null; readonly end: ClassEnd | null }> {
  const progress = await showClassProgress(stack, batchId, terminal, names);
  let batch: BatchDetail | null = null;
  try {
    for await (const look of followBatch(stack.tenant.batches, batchId, signal)) {
      batch = look.batch;
      progress.show(look);
      const end = classEnd(batch);
      if (end !== null) return { batch, end };
    }
  } finally {
    progress.end();
  }
  return { batch, end: null };
}

/** Returns the status of each student. A student who submitted nothing does not miss a grade. */
function handedIn({ sheet }: ReadClass) {
  return sheet.rows.map((row) => statusOf(row));
}

function summariseClass(read: ReadClass, end: ClassEnd, papers: Papers | null, ms: number): string[] {
  const { batch, sheet, facts } = read;
  const counts = statusCounts(sheet);
  const flagged = reviewList(read.works).filter(({ is }) => is === "flagged").length;
  const id = shortId(batch.id);
  const lines = [
    "",
    `${batch.name}: ${tellCounts(counts)}`,
    `cost: ${spendOf(batch)}, ${countOf(batch.spent.calls, "model call")}, ${formatElapsed(ms)}`,
  ];
  if (flagged > 0) lines.push(`flags: ${countOf(flagged, "graded submission")} with flags that no one has reviewed`);
  if (facts.similar !== null) lines.push(`similar: ${countOf(facts.similar.length, "pair")} to compare`);
  if (facts.comparedPartly.length > 0)
    lines.push(`compared only in part (too long or too many): ${countOf(facts.comparedPartly.length, "submission")}`);
  if (facts.left > 0)
    lines.push(
      `sample: ${countOf(facts.left, "submission")} not graded yet; run the command without --sample to grade all`,
    );
  if (papers !== null) {
    lines.push(`class report: ${papers.report}`, ...papers.grades.map((path) => `grades: ${path}`));
    lines.push(tellReports(papers));
  }
  lines.push(`batch: ${batch.id}`, ...nextOf(end, id, counts, isReleased(sheet)).map((step) => `next: ${step}`));
  return lines;
}

/** Lists which students have a report, and why others have none. */
export function tellReports({ students, reports: { released, drafts, unreleased } }: Papers): string {
  const parts = [
    ...(released > 0 ? [`${released} released`] : []),
    ...(drafts > 0 ? [`${countOf(drafts, "draft")}`] : []),
    ...(unreleased > 0 ? [`${unreleased} not written until release`] : []),
  ];
  return `student reports: ${parts.join(", ") || "none"}${students === null ? "" : `: ${students}`}`;
}

/** Whether every existing grade is released. */
export function isReleased({ rows }: ReadClass["sheet"]): boolean {
  return rows.every((row) => statusOf(row) !== "graded" || row.release === "released");
}

export function nextOf(
  end: ClassEnd,
  id: string,
  counts: ReadonlyMap<string, number>,
  /** true: there is nothing left to release. */
  released: boolean,
): string[] {
  if (end.is !== "finished") return nextOfEnd(end, id);
  return [
    ...(counts.has("needs human") ? [`markmill review ${id}   review submissions that need a human decision`] : []),
    ...(counts.has("grader error")
      ? [`markmill retry ${id}   retry submissions that failed because of a grader error`]
      : []),
    ...(released ? [] : [`markmill release ${id}   release the grades to the students`]),
  ];
}

export function classAsJson(
  { batch, sheet, works, facts }: ReadClass,
  end: ClassEnd | null,
  papers: Papers | null,
  exitCode: number,
) {
  return {
    ...batchAsJson(batch),
    end,
    exitCode,
    papers,
    similar: facts.similar,
    comparedPartly: facts.comparedPartly,
    unmatched: facts.unmatched,
    most: sheet.most,
    students: sheet.rows.map((row) => {
      const work = works.get(row.student.key);
      return {
        student: row.student,
        status: statusOf(row),
        total: row.grade?.total ?? null,
        points: row.grade?.points ?? null,
        penalty: row.grade?.penalty ?? null,
        outcome: row.grade?.outcome ?? null,
        flags: row.grade?.flags ?? [],
        criteria: row.grade?.criteria ?? [],
        work: work?.key ?? null,
        pseudonym: work?.pseudonym ?? null,
        runId: work?.try?.runId ?? null,
        tries: work?.tries ?? 0,
        released: work?.grade == null ? null : releasedFor(work.grade, row.student.key),
        lateness: work?.lateness ?? null,
        commit: (work === undefined ? undefined : commitOf(work)) ?? null,
      };
    }),
  };
}
