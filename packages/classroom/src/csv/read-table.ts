/**
 * Reads a table by RFC 4180 and in the forms that programs write: separated by comma, semicolon or tab, with any line ends, and with line
 * breaks in quotes. The text is read once. Every cell has its position, so that messages can point to it.
 *
 * csv-parse 7 does not replace it: it tells the line and the byte where a cell ends, and not where the cell begins. If a quote
 * is never closed it throws or drops the row, and a cell such as "x" y is refused or keeps its quotes.
 */
export type Separator = "," | ";" | "\t";

export interface Cell {
  readonly text: string;
  /** From 1. Columns count UTF-16 units of the line in the file, as in editors. */
  readonly line: number;
  readonly column: number;
}

export interface Row {
  readonly line: number;
  readonly cells: readonly Cell[];
}

export interface Table {
  readonly separator: Separator;
  readonly newline: "\n" | "\r\n";
  /** Blank lines are not rows. */
  readonly rows: readonly Row[];
  /** A quoted cell that is never closed. All text after it is in doubt. */
  readonly openQuote: Cell | null;
}

export function readTable(text: string, separator: Separator = guessSeparator(text)): Table {
  const rows: Row[] = [];
  let cells: Cell[] = [];
  let openQuote: Cell | null = null;
  let at = text.startsWith("\ufeff") ? 1 : 0;
  let line = 1;
  let lineStart = at;
  let rowLine = 1;

  const endRow = () => {
    const blank = cells.length === 1 && cells[0]?.text.trim() === "";
    if (!blank && cells.length > 0) rows.push({ line: rowLine, cells });
    cells = [];
  };

  while (at < text.length) {
    const start = { line, column: at - lineStart + 1 };
    if (cells.length === 0) rowLine = line;
    let value = "";
    if (text[at] === '"') {
      let from = at + 1;
      let end: number;
      for (;;) {
        end = text.indexOf('"', from);
        if (end < 0 || text[end + 1] !== '"') break;
        value += text.slice(from, end + 1);
        from = end + 2;
      }
      const stop = end < 0 ? text.length : end;
      value += text.slice(from, stop);
      if (end < 0) openQuote ??= { text: value.slice(0, 80), ...start };
      for (let next = at + 1; next < stop; next += 1) {
        if (text[next] !== "\n" && text[next] !== "\r") continue;
        next += breakLength(text, next) - 1;
        line += 1;
        lineStart = next + 1;
      }
      at = end < 0 ? text.length : end + 1;
    }
    // Text after a closing quote belongs to the cell, as in spreadsheets.
    const end = endOfCell(text, at, separator);
    value += text.slice(at, end);
    cells.push({ text: value, ...start });
    at = end;
    if (at >= text.length) break;
    if (text[at] === separator) {
      at += 1;
      if (at >= text.length) cells.push({ text: "", line, column: at - lineStart + 1 });
      else if (text[at] === "\n" || text[at] === "\r") cells.push({ text: "", line, column: at - lineStart + 1 });
      else continue;
      if (at >= text.length) break;
    }
    at += breakLength(text, at);
    line += 1;
    lineStart = at;
    endRow();
  }
  endRow();
  return { separator, newline: text.includes("\r\n") ? "\r\n" : "\n", rows, openQuote };
}

/** Finds the separator that splits the first lines most evenly. Separators in quotes do not count. */
export function guessSeparator(text: string): Separator {
  const counts: Record<Separator, number>[] = [];
  let current: Record<Separator, number> = { ",": 0, ";": 0, "\t": 0 };
  let quoted = false;
  let filled = false;
  for (let at = 0; at < text.length && counts.length < 5; at += 1) {
    const char = text[at];
    if (char === '"') quoted = !quoted;
    else if (!quoted && (char === "\n" || char === "\r")) {
      if (filled) counts.push(current);
      current = { ",": 0, ";": 0, "\t": 0 };
      filled = false;
      continue;
    } else if (!quoted && (char === "," || char === ";" || char === "\t")) current[char] += 1;
    filled = true;
  }
  if (filled && counts.length < 5) counts.push(current);
  let best: Separator = ",";
  let most = 0;
  for (const separator of [",", ";", "\t"] as const) {
    const found = counts.map((count) => count[separator]);
    // A separator occurs in every line. A sign that only some lines contain is part of a text.
    const score = Math.min(...found) * 1000 + (found[0] ?? 0);
    if (found.length > 0 && score > most) {
      best = separator;
      most = score;
    }
  }
  return best;
}

function endOfCell(text: string, from: number, separator: Separator): number {
  for (let at = from; at < text.length; at += 1) {
    const char = text[at];
    if (char === separator || char === "\n" || char === "\r") return at;
  }
  return text.length;
}

function breakLength(text: string, at: number): number {
  return text[at] === "\r" && text[at + 1] === "\n" ? 2 : 1;
}
