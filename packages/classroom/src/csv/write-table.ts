import type { Separator } from "./read-table.ts";

export interface WriteOptions {
  readonly separator?: Separator;
  readonly newline?: "\n" | "\r\n";
  /** Without the byte order mark, Excel reads the file in its own code page. */
  readonly bom?: boolean;
}

/** Quotes only cells that need it. readTable returns the same cells. */
export function writeTable(rows: readonly (readonly string[])[], options: WriteOptions = {}): string {
  const { separator = ",", newline = "\r\n", bom = false } = options;
  const lines = rows.map((row) => {
    // A single empty cell would be a blank line, which is not a row.
    if (row.length === 1 && (row[0] ?? "").trim() === "") return `"${row[0] ?? ""}"`;
    return row.map((cell) => quoted(cell)).join(separator);
  });
  return `${bom ? "\ufeff" : ""}${lines.map((line) => line + newline).join("")}`;
}

/** All three separators are quoted, so that a reader that guesses the separator does not find one in a text. */
function quoted(cell: string): string {
  return /[",;\t\r\n]|^\s|\s$|^\ufeff/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
