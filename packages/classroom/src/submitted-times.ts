/**
 * Reads submission times from a column of the roster or from names in the export. Pure.
 *
 * S1  A time is stored in a form that means the same everywhere: as written if it contains its offset from UTC, otherwise converted.
 * S2  A cell that cannot be read is an error at its place. A mapped column is never ignored silently.
 * S3  If times have no offset from UTC and the class has no timezone, one finding reports which zone was assumed.
 */
import type { Finding, Place, Report } from "@markmill/definition";
import { showName } from "@markmill/grading/submission";
import type { ClassFindingCode } from "./class-codes.ts";
import type { ClassClock } from "./class-file.ts";
import type { Row } from "./csv/read-table.ts";
import type { Work } from "./layout.ts";
import { readInstant } from "./read-instant.ts";

interface Column {
  readonly file: string;
  readonly clock: ClassClock;
  readonly header: Row | null;
}

const fix = "Write it as 2026-11-13T17:16:00+01:00, or remove the column from the roster.";

/** Submission times by line of the roster. A line without a time is missing. */
export function submittedTimes(
  rows: readonly Row[],
  index: number,
  { file, clock, header }: Column,
  report: Report<ClassFindingCode>,
): ReadonlyMap<number, string> {
  const times = new Map<number, string>();
  let assumed = false;
  for (const { cells, line } of index < 0 ? [] : rows) {
    const cell = cells[index];
    const text = cell?.text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim() ?? "";
    if (cell === undefined || saysNothing(text)) continue;
    const read = readTime(text, clock);
    if (read.is === "unreadable") {
      report.error(
        "ROSTER_TIME",
        { file, line, column: cell.column },
        `"${text.slice(0, 60)}" is not a valid hand-in time: ${read.why}.`,
        fix,
      );
      continue;
    }
    assumed ||= !read.zoned;
    times.set(line, read.time);
  }
  if (assumed && clock.from !== "timezone") {
    const at = { file, line: header?.line ?? rows[0]?.line ?? 1, column: header?.cells[index]?.column ?? 1 };
    report.warn("ROSTER_TIME_ZONE", at, assumedZone("of the roster", clock), zoneFix);
  }
  return times;
}

/** Reads the times in the names of the export. An unreadable time is a finding, and the submission has no time. */
export function timedWorks(
  works: readonly Work[],
  clock: ClassClock,
  at: Place,
): { readonly works: readonly Work[]; readonly findings: readonly Finding[] } {
  const findings: Finding[] = [];
  let assumed = false;
  const timed = works.map((work) => {
    if (work.submittedAt === null) return work;
    const read = readTime(work.submittedAt, clock);
    if (read.is === "unreadable") {
      const about = work.pieces[0]?.top ?? work.label;
      const message = `${showName(about)}: "${showName(work.submittedAt.slice(0, 60))}" is not a valid hand-in time: ${read.why}.`;
      const how = "Correct the name, or the group time of match in class.yaml.";
      findings.push({ severity: "warning", code: "INTAKE_TIME", message, fix: how, at, about });
      return { ...work, submittedAt: null };
    }
    assumed ||= !read.zoned;
    return { ...work, submittedAt: read.time };
  });
  if (assumed && clock.from !== "timezone") {
    const message = assumedZone("of the submissions", clock);
    findings.push({ severity: "warning", code: "INTAKE_TIME_ZONE", message, fix: zoneFix, at });
  }
  return { works: timed, findings };
}

const zoneFix = "Add a line such as `timezone: Europe/Berlin` to class.yaml.";

function assumedZone(where: string, { zone, from }: ClassClock): string {
  const why = from === "deadline" ? "as the deadline" : "because no time zone is set";
  return `Times ${where} have no UTC offset and were read as ${zone}, ${why}.`;
}

function readTime(
  text: string,
  { zone }: ClassClock,
):
  | { readonly is: "read"; readonly time: string; readonly zoned: boolean }
  | { readonly is: "unreadable"; readonly why: string } {
  const read = readInstant(text, zone);
  if (read.is === "unreadable") return read;
  return { is: "read", time: read.zoned ? text : new Date(read.at).toISOString(), zoned: read.zoned };
}

/** Platforms write a dash or a word if there is no submission. */
function saysNothing(text: string): boolean {
  return /^(?:[-\u2013\u2014]?|n\/a|none|never|nie|jamais|nunca|mai|nooit)$/i.test(text);
}
