/**
 * Checks that a quotation occurs in the submission. White space does not count, and the line is the one where the quotation begins. If the
 * quotation occurs elsewhere in the file, its line is corrected: models count lines badly but copy text well.
 */
import { placesOf } from "@markmill/base/text";
import { neutralise } from "./show-work.ts";
import type { WorkFiles } from "./work-files.ts";

export interface Evidence {
  readonly file: string;
  readonly line: number;
  readonly quote: string;
}

export type CheckedEvidence =
  | { readonly ok: true; readonly evidence: Evidence; readonly moved: boolean }
  | { readonly ok: false; readonly problem: string };

/** A brace or a single word proves nothing unless it is the whole line. */
const SHORTEST = 4;
const LONGEST = 2_000;

/** `from` lists the files that a quotation may come from. `code`: text in comments proves nothing. */
export function checkEvidence(
  { file, line, quote }: Evidence,
  files: WorkFiles,
  from: "anywhere" | "code" = "anywhere",
): CheckedEvidence {
  const path = file.replace(/^\.\//, "");
  const lines = files.linesOf(path);
  if (lines === null) return { ok: false, problem: `there is no file ${shown(file)}` };
  if (quote.length > LONGEST) return { ok: false, problem: `a quotation is longer than ${LONGEST} characters` };
  const wanted = squeeze(quote);
  if (wanted === "") return { ok: false, problem: `the quotation from ${shown(path)} is empty` };
  const found = findQuote(lines, from === "code" ? files.codeOf(path) : null, wanted);
  if (found.length === 0) return { ok: false, problem: `${shown(path)} does not contain "${shown(quote)}"` };
  const whole = squeezed(lines).lines.has(wanted);
  if (wanted.length < SHORTEST && !whole) {
    return { ok: false, problem: `"${shown(quote)}" is too short to prove anything` };
  }
  const places = found.filter(({ code }) => code >= Math.min(SHORTEST, wanted.length));
  const [first] = places;
  if (first === undefined) {
    return { ok: false, problem: `"${shown(quote)}" appears only in a comment of ${shown(path)}` };
  }
  const nearest = places.reduce((best, place) =>
    Math.abs(place.line - line) < Math.abs(best.line - line) ? place : best,
  );
  return {
    ok: true,
    evidence: { file: path, line: nearest.line, quote: neutralise(quote) },
    moved: nearest.line !== line,
  };
}

interface QuotePlace {
  /** The line where the quotation begins, from 1. */
  readonly line: number;
  /** How many characters of the quotation are code. */
  readonly code: number;
}

/** The text of a file without white space. */
interface Squeezed {
  /** The index where each line begins. */
  readonly starts: readonly number[];
  readonly joined: string;
  readonly lines: ReadonlySet<string>;
}

const squeezedFiles = new WeakMap<readonly string[], Squeezed>();
const codeCounts = new WeakMap<readonly string[], readonly number[]>();

/** A model can send hundreds of quotations from one file, so the prepared file is cached. */
function squeezed(lines: readonly string[]): Squeezed {
  const known = squeezedFiles.get(lines);
  if (known !== undefined) return known;
  const starts: number[] = [];
  const texts = lines.map(squeeze);
  let length = 0;
  for (const { length: more } of texts) {
    starts.push(length);
    length += more;
  }
  const made = { starts, joined: texts.join(""), lines: new Set(texts) };
  squeezedFiles.set(lines, made);
  return made;
}

/** Returns, for each character that is not white space, how many characters of code come before it. */
function codeBefore(lines: readonly string[], code: readonly string[]): readonly number[] {
  const known = codeCounts.get(code);
  if (known !== undefined) return known;
  const before: number[] = [0];
  for (const [index, line] of lines.entries()) {
    const kept = code[index] ?? "";
    for (let at = 0; at < line.length; at += 1) {
      if (isBlank(line[at])) continue;
      before.push((before.at(-1) ?? 0) + (isBlank(kept[at]) ? 0 : 1));
    }
  }
  codeCounts.set(code, before);
  return before;
}

/** Finds every occurrence of the text, also across lines. `code` holds the lines with comments blanked; null: all text is code. */
function findQuote(lines: readonly string[], code: readonly string[] | null, wanted: string): QuotePlace[] {
  const { starts, joined } = squeezed(lines);
  const before = code === null ? [] : codeBefore(lines, code);
  const found: QuotePlace[] = [];
  let at = 0;
  for (const index of placesOf(wanted, joined)) {
    // The last non-empty line that begins at or before this index.
    while (at + 1 < starts.length && (starts[at + 1] ?? 0) <= index) at += 1;
    const end = index + wanted.length;
    const kept = code === null ? wanted.length : (before[end] ?? 0) - (before[index] ?? 0);
    const last = found.at(-1);
    if (last?.line !== at + 1) found.push({ line: at + 1, code: kept });
    else if (kept > last.code) found[found.length - 1] = { line: at + 1, code: kept };
    if (found.length === 1000) break;
  }
  return found;
}

function isBlank(char: string | undefined): boolean {
  return char === undefined || /\s/.test(char);
}

function squeeze(text: string): string {
  return text.replaceAll(/\s+/g, "");
}

function shown(text: string): string {
  const plain = text
    .slice(0, 1_000)
    .replaceAll(/\s+/g, " ")
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, "?");
  return plain.length <= 60 ? plain : `${plain.slice(0, 57)}…`;
}
