import type { Separator } from "./read-table.ts";

export interface WriteOptions {
  readonly separator?: Separator;
  readonly newline?: "\n" | "\r\n";
  /** Excel takes a file without the mark for one in its own code page. */
  readonly bom?: boolean;
}

/** Quotes only what needs them; readTable gives back the same cells. */
export function writeTable(rows: readonly (readonly string[])[], options: WriteOptions = {}): string {
  const { separator = ",", newline = "\r\n", bom = false } = options;
  const lines = rows.map((row) => {
    // A lone empty cell would be a blank line, which is no row.
    if (row.length === 1 && (row[0] ?? "").trim() === "") return `"${row[0] ?? ""}"`;
    return row.map((cell) => quoted(cell)).join(separator);
  });
  return `${bom ? "\ufeff" : ""}${lines.map((line) => line + newline).join("")}`;
}

/** All three separators are quoted: a reader that guesses must not find them in a text. */
function quoted(cell: string): string {
  return /[",;\t\r\n]|^\s|\s$|^\ufeff/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
