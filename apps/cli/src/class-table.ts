/**
 * Prints the class as a table that fits the screen: student, status, total, then the criteria. Headings of criteria are shortened first.
 * Criteria that still do not fit are named below the table, with the command that shows them. A program that reads the output gets all
 * columns.
 */
import { formatPoints, type GradeRow, type GradeSheet, statusOf } from "@markmill/classroom/gradebook";
import type { Terminal } from "./command.ts";
import { fitWidth, oneLine, textWidth } from "./fit-width.ts";
import { foldText } from "./fold-text.ts";

const mostName = 26;
const fewestName = 8;
const gap = "  ";
const flag = "⚑";

export function printClassTable(
  sheet: GradeSheet,
  terminal: Pick<Terminal, "out" | "shown" | "columns">,
  wide = false,
): void {
  const columns = wide || !terminal.shown ? Number.POSITIVE_INFINITY : terminal.columns;
  for (const line of classTable(sheet, columns)) terminal.out(line);
}

export function classTable({ rows, criteria, most }: GradeSheet, columns: number): string[] {
  const totalHead = `of ${formatPoints(most)}`;
  const totals = rows.map((row) => totalOf(row));
  const totalWidth = widest([totalHead, ...totals]);
  const statuses = rows.map((row) => statusOf(row));
  const statusWidth = widest(["status", ...statuses]);
  const besideName = statusWidth + totalWidth + 3 * gap.length + 3;
  const longest = Math.max(fewestName, widest(rows.map(({ student }) => oneLine(student.name))));
  const marks = criteria.map(({ id }) => ({ id: oneLine(id), cells: rows.map((row) => markOf(row, id)) }));
  const { nameWidth, headWidth } = widthsFor(marks, longest, columns - besideName);
  const widthOf = ({ id, cells }: Marks) => widest([fitWidth(id, headWidth), ...cells]);
  let room = columns - nameWidth - besideName;
  const shown = marks.filter((one) => {
    room -= widthOf(one) + gap.length;
    return room >= 0;
  });
  const line = (name: string, status: string, total: string, cells: readonly string[], end: string) =>
    [
      left(name, nameWidth),
      left(status, statusWidth),
      right(total, totalWidth),
      ...shown.map((one, index) => right(cells[index] ?? "", widthOf(one))),
      end,
    ]
      .join(gap)
      .trimEnd();
  const hidden = marks.slice(shown.length).map(({ id }) => id);
  return [
    line(
      "student",
      "status",
      totalHead,
      shown.map(({ id }) => fitWidth(id, headWidth)),
      "",
    ),
    ...rows.map((row, index) =>
      line(
        oneLine(row.student.name),
        statuses[index] ?? "",
        totals[index] ?? "",
        shown.map(({ cells }) => cells[index] ?? ""),
        flagsOf(row),
      ),
    ),
    ...(hidden.length === 0
      ? []
      : foldText(
          `Hidden columns: ${hidden.map((id) => fitWidth(id, 20)).join(", ")}. To show all columns: markmill status CLASS --wide`,
          columns,
        )),
  ];
}

interface Marks {
  readonly id: string;
  readonly cells: readonly string[];
}

/** The widest layout that shows all criteria. If none does, the narrowest. `room`: the space for names and criteria. */
function widthsFor(
  marks: readonly Marks[],
  longest: number,
  room: number,
): { readonly nameWidth: number; readonly headWidth: number } {
  const tries = [
    [mostName, 12],
    [mostName, 8],
    [16, 8],
    [16, 5],
    [12, 4],
  ].map(([name = 0, headWidth = 0]) => ({
    headWidth,
    nameWidth: Math.max(fewestName, Math.min(name, longest, room)),
  }));
  const fits = tries.find(
    ({ nameWidth, headWidth }) =>
      nameWidth +
        marks.reduce((sum, { id, cells }) => sum + widest([fitWidth(id, headWidth), ...cells]) + gap.length, 0) <=
      room,
  );
  return fits ?? { nameWidth: Math.max(fewestName, Math.min(16, longest, room)), headWidth: 5 };
}

/** Points that a person must still check are proposals, so they are in brackets. */
function totalOf({ grade }: GradeRow): string {
  if (grade === null) return "–";
  if (grade.total !== null) return formatPoints(grade.total);
  return grade.outcome.is === "needs human" && grade.points !== null ? `(${formatPoints(grade.points)})` : "–";
}

function markOf({ grade }: GradeRow, id: string): string {
  const found = grade?.criteria.find((one) => one.id === id);
  return found?.is === "scored" ? formatPoints(found.points) : "–";
}

function flagsOf({ grade }: GradeRow): string {
  const count = grade?.flags.length ?? 0;
  return count === 0 ? "" : count === 1 ? flag : `${flag}${count}`;
}

function widest(texts: readonly string[]): number {
  return Math.max(0, ...texts.map(textWidth));
}

function left(text: string, width: number): string {
  const fitted = fitWidth(text, width);
  return fitted + " ".repeat(Math.max(0, width - textWidth(fitted)));
}

function right(text: string, width: number): string {
  return " ".repeat(Math.max(0, width - textWidth(text))) + text;
}
