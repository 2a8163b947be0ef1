/** Lists, before grading, which students have a submission, which have none, and which files are unmatched. Pure. */
import type { ClassIntake, Roster } from "@markmill/classroom";
import { countOf, formatBytes } from "./amounts.ts";

export function previewClass(name: string, intake: ClassIntake, roster: Roster | null): string[] {
  const { members, submissions, unmatched, withoutWork, layout } = intake;
  const counting = submissions.filter(({ counts }) => counts);
  const taken = counting.filter(({ content }) => content.is === "taken");
  const undecided = counting.filter(({ content }) => content.is === "undecided").length;
  const bytes = taken.reduce((sum, { content }) => sum + (content.is === "taken" ? content.bytes : 0), 0);
  const late = counting.filter(({ lateness }) => lateness.is === "late").length;
  const names = new Map(members.map((member) => [member.key, member.name]));
  const who = (keys: readonly string[]) => keys.map((key) => names.get(key) ?? key).join(", ");
  const lines = [
    `${name}: ${countOf(members.length, "student")}, ${countOf(counting.length - undecided, "submission")} to grade${undecided > 0 ? `, ${countOf(undecided, "submission")} to decide first` : ""} (${layout} layout, ${formatBytes(bytes)})`,
  ];
  if (roster !== null) {
    const mapped = roster.mapping.map(({ header, as }) => `${header} → ${as ?? "not used"}`);
    lines.push(`roster: ${mapped.join(", ")}`);
  }
  if (late > 0) lines.push(`late: ${countOf(late, "submission")}`);
  for (const { code, message } of intake.problems)
    if (code === "INTAKE_LATE_UNKNOWN") lines.push(`unknown hand-in time: ${message}`);
  for (const { by, label, attempt, countsFor } of submissions) {
    const without = by.filter((key) => !countsFor.includes(key));
    if (without.length > 0) lines.push(`does not count: ${who(without)}: ${label} (attempt ${attempt})`);
  }
  for (const { by, content } of counting) {
    if (content.is === "refused") lines.push(`cannot be graded: ${who(by)}: ${content.message}`);
    else if (content.is === "empty") lines.push(`cannot be graded: ${who(by)}: the submission is empty`);
    else if (content.is === "undecided") lines.push(`needs a decision: ${who(by)}: ${content.message}`);
    else if (content.is === "incomplete") lines.push(`cannot be graded: ${who(by)}: ${content.message}`);
  }
  for (const { by, message } of intake.unfetched) lines.push(`not fetched: ${who(by)}: ${message}`);
  const may = new Set(unmatched.flatMap(({ may = [] }) => may));
  const asked = withoutWork.filter((key) => may.has(key));
  const absent = withoutWork.filter((key) => !may.has(key));
  if (asked.length > 0) lines.push(`not matched, because a file could belong to several students: ${who(asked)}`);
  if (absent.length > 0) lines.push(`no submission: ${who(absent)}`);
  if (unmatched.length > 0) lines.push(`unmatched files: ${unmatched.map((one) => one.name).join(", ")}`);
  return lines;
}
