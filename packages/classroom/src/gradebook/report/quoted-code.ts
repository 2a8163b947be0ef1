/**
 * Shows the student's files that a report quotes, with the quoted lines marked. Pure.
 *
 * Q1  Only quoted files are shown. At most 5 files, 300 lines of each and 240 characters of a line are shown; the rest is counted.
 * Q2  A line is marked if a quotation covers it. A long file is shown around its marks.
 * Q3  A quotation that is not at its line marks nothing: the model saw another form of the file, such as the cells of a notebook. A file
 *     without marks is not shown.
 */
import { containsText } from "@markmill/base/text";
import { visible } from "./markup.ts";

export interface QuotedFile {
  readonly path: string;
  /** The number of lines in the whole file. */
  readonly count: number;
  readonly lines: readonly CodeLine[];
}

type CodeLine =
  | { readonly is: "line"; readonly number: number; readonly text: string; readonly marked: boolean }
  | { readonly is: "left out"; readonly count: number };

interface Quotation {
  readonly file: string;
  readonly line: number;
  readonly quote: string;
}

const mostFiles = 5;
const mostLines = 300;
const mostCharacters = 240;
const around = 8;

export function quotedCode(
  quotations: readonly Quotation[],
  sources: ReadonlyMap<string, string>,
): readonly QuotedFile[] {
  const paths = [...new Set(quotations.map(({ file }) => file))].filter((path) => sources.has(path));
  const files = paths.map((path) => {
    const all = (sources.get(path) ?? "").replace(/\r?\n$/, "").split(/\r\n|\n|\r/);
    const marked = new Set<number>();
    for (const { line, quote } of quotations.filter(({ file }) => file === path))
      for (let number = line; number < line + linesOf(quote, line, all); number += 1) marked.add(number);
    return { path, marked, all };
  });
  return files
    .filter(({ marked }) => marked.size > 0)
    .slice(0, mostFiles)
    .map(({ path, marked, all }) => ({ path, count: all.length, lines: shownLines(all, marked) }));
}

/** The number of lines that the quotation covers, from its line on. 0: it does not occur there. White space does not count. */
function linesOf(quote: string, line: number, all: readonly string[]): number {
  const wanted = squeeze(visible(quote));
  if (wanted === "") return 0;
  let end = "";
  for (let count = 1; count <= mostLines && line + count - 1 <= all.length; count += 1) {
    // What is found first now ends in the new line.
    end = end.slice(-wanted.length) + squeeze(visible(all[line + count - 2] ?? ""));
    if (containsText(end, wanted)) return count;
  }
  return 0;
}

function squeeze(text: string): string {
  return text.replaceAll(/\s+/g, "");
}

function shownLines(all: readonly string[], marked: ReadonlySet<number>): readonly CodeLine[] {
  const near = new Set<number>();
  for (const mark of marked) for (let number = mark - around; number <= mark + around; number += 1) near.add(number);
  const wanted = all.flatMap((_, index) => (all.length <= mostLines || near.has(index + 1) ? [index + 1] : []));
  const shown = new Set(wanted.slice(0, mostLines));
  const lines: CodeLine[] = [];
  let leftOut = 0;
  for (const [index, text] of all.entries()) {
    const number = index + 1;
    if (!shown.has(number)) {
      leftOut += 1;
      continue;
    }
    if (leftOut > 0) lines.push({ is: "left out", count: leftOut });
    leftOut = 0;
    const cut = text.length > mostCharacters ? `${text.slice(0, mostCharacters)}…` : text;
    lines.push({ is: "line", number, text: cut, marked: marked.has(number) });
  }
  if (leftOut > 0) lines.push({ is: "left out", count: leftOut });
  return lines;
}
