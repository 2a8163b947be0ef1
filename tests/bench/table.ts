/** Figures for people: aligned columns, medians with their range. */
import { median } from "./measure-load.ts";

/** The first column is text, the others are figures. */
export function renderTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join("   ")
      .trimEnd();
  const [head = [], ...body] = rows;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n");
}

/** `1,234 (1,100-1,300)` */
export function withRange(values: readonly number[], digits: number): string {
  if (values.length === 0) return "-";
  const show = (value: number) => formatNumber(value, digits);
  if (values.length === 1) return show(median(values));
  return `${show(median(values))} (${show(Math.min(...values))}-${show(Math.max(...values))})`;
}

export function formatNumber(value: number, digits: number): string {
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export interface Goal {
  readonly text: string;
  readonly figure: string;
  readonly met: boolean;
}

export function renderGoals(goals: readonly Goal[]): string {
  return goals.map(({ text, figure, met }) => `${met ? "met    " : "NOT MET"}  ${text}: ${figure}`).join("\n");
}
