/** The class as a table that fits the screen: who, how it stands, the total, then as many criteria as there is room for. */
import { formatPoints, type GradeRow, type GradeSheet, statusOf } from "@markmill/gradebook";
import { fitWidth, oneLine, textWidth } from "./fit-width.ts";

const mostName = 26;
const fewestName = 8;
const gap = "  ";
const flag = "⚑";

export function classTable({ rows, criteria, most }: GradeSheet, columns: number): string[] {
  const totalHead = `of ${formatPoints(most)}`;
  const totals = rows.map((row) => totalOf(row));
  const totalWidth = widest([totalHead, ...totals]);
  const statuses = rows.map((row) => statusOf(row));
  const statusWidth = widest(["status", ...statuses]);
  const besideName = statusWidth + totalWidth + 3 * gap.length + 3;
  const longest = widest(rows.map(({ student }) => oneLine(student.name)));
  const nameWidth = Math.max(fewestName, Math.min(mostName, longest, columns - besideName));
  const marks = criteria.map(({ id }) => ({ id, cells: rows.map((row) => markOf(row, id)) }));
  let room = columns - nameWidth - besideName;
  const shown = marks.filter(({ id, cells }) => {
    const width = widest([id.slice(0, 8), ...cells]) + gap.length;
    room -= width;
    return room >= 0;
  });
  const line = (name: string, status: string, total: string, cells: readonly string[], end: string) =>
    [
      left(name, nameWidth),
      left(status, statusWidth),
      right(total, totalWidth),
      ...shown.map(({ id, cells: all }, index) => right(cells[index] ?? "", widest([id.slice(0, 8), ...all]))),
      end,
    ]
      .join(gap)
      .trimEnd();
  return [
    line(
      "student",
      "status",
      totalHead,
      shown.map(({ id }) => id.slice(0, 8)),
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
  ];
}

/** Points of what a person must look at stand in brackets: they are a proposal. */
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
