import type { Comparison } from "@markmill/engine";

export type Token =
  | { readonly is: "word"; readonly text: string; readonly start: number; readonly end: number }
  | {
      readonly is: "quoted";
      readonly text: string;
      readonly start: number;
      readonly end: number;
      readonly closed: boolean;
    }
  /** `==`, `>=` … */
  | { readonly is: "symbol"; readonly text: string; readonly start: number; readonly end: number }
  | { readonly is: "(" | ")" | ","; readonly start: number; readonly end: number };

const symbols: Readonly<Record<string, Comparison | undefined>> = {
  "==": "equals",
  "!=": "differs",
  "<>": "differs",
  "<=": "lessEqual",
  ">=": "greaterEqual",
  "<": "less",
  ">": "greater",
};

const names: Readonly<Record<string, Comparison | undefined>> = {
  eq: "equals",
  equals: "equals",
  ne: "differs",
  differs: "differs",
  contains: "contains",
  matches: "matches",
  gt: "greater",
  greater: "greater",
  ge: "greaterEqual",
  greater_equal: "greaterEqual",
  lt: "less",
  less: "less",
  le: "lessEqual",
  less_equal: "lessEqual",
};

/** Returns the comparison that a token means, or null. */
export function comparisonOf(token: Token | undefined): Comparison | null {
  if (token?.is === "symbol") return own(symbols, token.text);
  if (token?.is === "word") return own(names, token.text.toLowerCase());
  return null;
}

export function isWord(token: Token | undefined, word: string): boolean {
  return token?.is === "word" && token.text.toLowerCase() === word;
}

/**
 * Splits the text at white space, brackets, commas and signs of comparison. A quote begins a quoted text only at the start of a token.
 * Inside it, a doubled quote means one quote.
 */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const start = at;
    const character = text.charAt(at);
    if (isSpace(character)) {
      at++;
    } else if (character === "'" || character === '"') {
      const quoted = readQuoted(text, at);
      tokens.push({ is: "quoted", text: quoted.text, start, end: quoted.end, closed: quoted.closed });
      at = quoted.end;
    } else if (character === "(" || character === ")" || character === ",") {
      at++;
      tokens.push({ is: character, start, end: at });
    } else if (isSign(text, at)) {
      while (isSign(text, at)) at++;
      tokens.push({ is: "symbol", text: text.slice(start, at), start, end: at });
    } else {
      while (at < text.length && !endsWord(text.charAt(at)) && !isSign(text, at)) at++;
      tokens.push({ is: "word", text: text.slice(start, at), start, end: at });
    }
  }
  return tokens;
}

function isSpace(character: string): boolean {
  return character === " " || (character < " " ? /\s/.test(character) : character > "\u007f" && /\s/.test(character));
}

function endsWord(character: string): boolean {
  return character === "(" || character === ")" || character === "," || isSpace(character);
}

function isSign(text: string, at: number): boolean {
  const character = text.charAt(at);
  return (
    character === "=" || character === "<" || character === ">" || (character === "!" && text.charAt(at + 1) === "=")
  );
}

function readQuoted(text: string, open: number): { text: string; end: number; closed: boolean } {
  const quote = text.charAt(open);
  const parts: string[] = [];
  let from = open + 1;
  for (;;) {
    const next = text.indexOf(quote, from);
    if (next < 0) return { text: parts.join("") + text.slice(from), end: text.length, closed: false };
    parts.push(text.slice(from, next));
    if (text.charAt(next + 1) !== quote) return { text: parts.join(""), end: next + 1, closed: true };
    parts.push(quote);
    from = next + 2;
  }
}

/** Quotes that word processors write instead of ' and ". */
export function isTypographicQuote(character: string): boolean {
  return (
    character !== "" &&
    "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a\u301d\u301e\u301f\uff02\uff07".includes(
      character,
    )
  );
}

function own<Value>(record: Readonly<Record<string, Value | undefined>>, key: string): Value | null {
  return Object.hasOwn(record, key) ? (record[key] ?? null) : null;
}
