/**
 * Reads the number in a text, for checks that compare numbers.
 *
 * N1  A text that consists of a number with a decimal point is that number.
 * N2  Otherwise the first line decides, and only if it has one possible reading: one number, with at most one decimal point. `1,500`,
 *     `2,7`, `−3` with a minus sign (U+2212), `17/20` and `Aufgabe 3: 17 Punkte` have two. The reader does not guess: its answer is
 *     "unclear".
 * N3  A workflow can define which number counts (`which`) or which sign separates decimals (`decimal`). Then that question is settled. No
 *     setting settles a bound (`<17`, `>=17`, `±2`), a minus in words (`minus 3`), two signs (`--3`), or a number that is too large.
 * N4  Time is linear in the length of the line, and memory is bounded.
 */
export interface NumberReading {
  /** The position, counted from 1. If absent, there must be only one number. */
  readonly which?: "first" | "last" | number;
  /** The sign before the decimals: point or comma. The other sign then groups thousands. Default: point; a comma is then unclear. */
  readonly decimal?: "point" | "comma";
}

export type NumberFound =
  | { readonly is: "number"; readonly value: number; readonly written: string; readonly alone: boolean }
  | { readonly is: "none" }
  | { readonly is: "unclear"; readonly why: string };

const alone = /^\s*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*$/;

export function isPlainNumber(text: string): boolean {
  return alone.test(text);
}

export function readNumber(text: string, how: NumberReading = {}): NumberFound {
  if (how.decimal !== "comma" && isPlainNumber(text)) {
    const value = Number(text);
    if (!Number.isFinite(value)) return { is: "unclear", why: `'${text.trim().slice(0, 40)}' is too large` };
    return { is: "number", value, written: text.trim(), alone: true };
  }
  const end = text.indexOf("\n");
  return readLine((end < 0 ? text : text.slice(0, end)).trim(), how);
}

/** Returns whether the whole text is written as one number in any notation: only digits, signs and separators. */
export function looksNumeric(text: string): boolean {
  const trimmed = text.trim();
  return trimmed.length <= 100 && /[0-9]/.test(trimmed) && /^[\p{N}+\-\u2212\u2013.,'\u2019_\s%]*$/u.test(trimmed);
}

interface Token {
  readonly start: number;
  readonly written: string;
}

function readLine(line: string, how: NumberReading): NumberFound {
  let found: Token | null = null;
  let count = 0;
  for (const token of tokensOf(line)) {
    count += 1;
    if (how.which === undefined && found !== null) {
      const why = `it contains several numbers, ${found.written.slice(0, 40)} and ${token.written.slice(0, 40)} among them`;
      return { is: "unclear", why };
    }
    if (
      how.which === undefined ||
      how.which === "last" ||
      how.which === count ||
      (how.which === "first" && count === 1)
    )
      found = token;
    if (how.which === count || how.which === "first") break;
  }
  return found === null ? { is: "none" } : readToken(line, found, how);
}

const digit = /\p{N}/u;
const letter = /[\p{L}\p{N}]/u;
/** Signs that may separate the digits of one number. */
const separators = ".,'\u2019\u00a0\u202f_";

/** Yields groups of digits with their separators. */
function* tokensOf(line: string): Generator<Token> {
  for (let at = 0; at < line.length; ) {
    if (!isDigit(line, at)) {
      at += 1;
      continue;
    }
    const start = at;
    for (;;) {
      if (isDigit(line, at)) at += 1;
      else if (separators.includes(line.charAt(at)) && at < line.length && isDigit(line, at + 1)) at += 2;
      else break;
    }
    // Readers disagree whether `1e3` is a number. The exponent becomes part of the token, so the number is unclear.
    const exponent = /^[eE][+-]?[0-9]+/.exec(line.slice(at, at + 12));
    if (exponent !== null) at += exponent[0].length;
    yield { start, written: line.slice(start, at) };
  }
}

function isDigit(line: string, at: number): boolean {
  const code = line.charCodeAt(at);
  return (code >= 0x30 && code <= 0x39) || (code > 0x7f && digit.test(line.charAt(at)));
}

function readToken(line: string, token: Token, how: NumberReading): NumberFound {
  const sign = signBefore(line, token.start, how);
  if (sign === null) {
    const near = line.slice(Math.max(0, token.start - 10), token.start + 20);
    return { is: "unclear", why: `the sign before the number in '${near}' can be read in two ways` };
  }
  const size = sizeOf(token.written, how);
  if (size === null) return { is: "unclear", why: `'${token.written.slice(0, 40)}' can be read in two ways` };
  if (!Number.isFinite(size)) return { is: "unclear", why: `'${token.written.slice(0, 40)}' is too large` };
  return { is: "number", value: sign * size, written: `${sign < 0 ? "-" : ""}${token.written}`, alone: false };
}

const signs = "+-\u2212\u2012\u2013\u2014\u2015";
const saysMinus = /(?:^|[^\p{L}])(?:minus|negative?|moins|menos) {1,2}$/iu;

/**
 * Detects bounds. `<17`, `< 17`, `>=17`, `\u2265 17` and `\u00b1 2` mean less, more or about, so they are not numbers. After an Arabic
 * separator, the whole part is missing. The end of a tag, `<b>17`, and an arrow, `->17` or `=>17`, are not bounds.
 */
function isBound(before: string): boolean {
  if (/(?:[<\u2264\u2265\u00b1\u2248\u066b\u066c]|[<>]=) ?$/u.test(before)) return true;
  return /(?:^|[^\p{L}\p{N}"'/=-])>$/u.test(before);
}

/** Returns null if the sign is unclear. */
function signBefore(line: string, start: number, how: NumberReading): 1 | -1 | null {
  const settled = how.which !== undefined || how.decimal !== undefined;
  const before = line.charAt(start - 1);
  const further = start < 2 ? "" : line.charAt(start - 2);
  const joined = letter.test(further);
  if (before === "." || before === ",") return joined ? 1 : null;
  const earlier = line.slice(Math.max(0, start - 12), start);
  if (isBound(earlier) || saysMinus.test(earlier)) return null;
  if (before === "-" || before === "+") {
    if (signs.includes(further) && further !== "") return null;
    if (!joined) return before === "-" ? -1 : 1;
    return settled ? 1 : null;
  }
  if (before === "\u2212") return settled ? (joined ? 1 : -1) : null;
  if (/[\u2012-\u2015\ufe63\uff0d]/.test(before)) return settled && joined ? 1 : null;
  // A minus sign is not a bullet point, even with a space after it.
  return before === " " && further === "\u2212" ? (settled ? -1 : null) : 1;
}

/** Returns null if the number is unclear. */
function sizeOf(written: string, { decimal }: NumberReading): number | null {
  if (decimal === undefined) return /^[0-9]+(?:\.[0-9]+)?$/.test(written) ? Number(written) : null;
  const [point, other] = decimal === "comma" ? [",", "."] : [".", ","];
  const [whole = "", fraction, ...more] = written.split(point);
  if (more.length > 0 || (fraction !== undefined && !/^[0-9]+$/.test(fraction))) return null;
  const digits = /^[0-9]+$/.test(whole)
    ? whole
    : ungrouped(whole, [other ?? "", "'", "\u2019", "\u00a0", "\u202f", "_"]);
  return digits === null ? null : Number(`${digits}.${fraction ?? "0"}`);
}

/** Returns `1.500.000` without its points if they separate groups of three digits. */
function ungrouped(whole: string, marks: readonly string[]): string | null {
  const mark = marks.find((one) => whole.includes(one));
  if (mark === undefined) return null;
  const [first = "", ...groups] = whole.split(mark);
  const grouped = /^[0-9]{1,3}$/.test(first) && groups.every((group) => /^[0-9]{3}$/.test(group));
  return grouped ? first + groups.join("") : null;
}
