/**
 * A quotation stands in the work, or it is none. White space is no difference; the line is where it begins. A quotation that
 * stands elsewhere in the file is moved to where it stands, since models count lines badly and copy well.
 */
import type { WorkFiles } from "./work-files.ts";

export interface Evidence {
  readonly file: string;
  readonly line: number;
  readonly quote: string;
}

export type CheckedEvidence =
  | { readonly ok: true; readonly evidence: Evidence; readonly moved: boolean }
  | { readonly ok: false; readonly problem: string };

/** A brace or a word proves nothing unless it is the whole line. */
const SHORTEST = 4;
const LONGEST = 2_000;

export function checkEvidence({ file, line, quote }: Evidence, files: WorkFiles): CheckedEvidence {
  const path = file.replace(/^\.\//, "");
  const lines = files.linesOf(path);
  if (lines === null) return { ok: false, problem: `there is no file ${shown(file)}` };
  const wanted = squeeze(quote);
  if (wanted === "") return { ok: false, problem: `the quotation from ${shown(path)} is empty` };
  if (quote.length > LONGEST) return { ok: false, problem: `a quotation is longer than ${LONGEST} characters` };
  const places = findQuote(lines, wanted);
  if (places.length === 0) return { ok: false, problem: `${shown(path)} does not contain "${shown(quote)}"` };
  if (wanted.length < SHORTEST && !lines.some((one) => squeeze(one) === wanted)) {
    return { ok: false, problem: `"${shown(quote)}" is too short to prove anything` };
  }
  const nearest = places.reduce((best, place) => (Math.abs(place - line) < Math.abs(best - line) ? place : best));
  return { ok: true, evidence: { file: path, line: nearest, quote }, moved: nearest !== line };
}

/** Lines, from 1, on which the text begins; it may run over several. One pass over the file. */
function findQuote(lines: readonly string[], wanted: string): number[] {
  const starts: number[] = [];
  let joined = "";
  for (const line of lines) {
    starts.push(joined.length);
    joined += squeeze(line);
  }
  const found: number[] = [];
  let at = 0;
  for (let index = joined.indexOf(wanted); index >= 0; index = joined.indexOf(wanted, index + 1)) {
    // The last line that begins at or before the place and is not empty.
    while (at + 1 < starts.length && (starts[at + 1] ?? 0) <= index) at += 1;
    if (found.at(-1) !== at + 1) found.push(at + 1);
    if (found.length === 1000) break;
  }
  return found;
}

function squeeze(text: string): string {
  return text.replaceAll(/\s+/g, "");
}

function shown(text: string): string {
  const plain = text.replaceAll(/\s+/g, " ").replaceAll(/[\p{Cc}\p{Cf}]/gu, "?");
  return plain.length <= 60 ? plain : `${plain.slice(0, 57)}…`;
}
