/**
 * Parses strict JSON with the place of every value. The tokens come from jsonc-parser's scanner. The grammar is implemented here without
 * recursion, so deep nesting cannot overflow the stack. Findings name comments, trailing commas and similar mistakes.
 *
 * J1  Total: every text gives either one value or one finding.
 * J2  Linear in the text. Values and depth are bounded.
 */
import type { Json } from "@markmill/engine";
import { createScanner, type JSONScanner } from "jsonc-parser";

export type JsonValue =
  | { readonly is: "object"; readonly at: number; readonly members: readonly JsonMember[] }
  | { readonly is: "array"; readonly at: number; readonly items: readonly JsonValue[] }
  | { readonly is: "string"; readonly at: number; readonly text: string }
  /** The original spelling, so that no digit is lost. */
  | { readonly is: "number"; readonly at: number; readonly written: string }
  | { readonly is: "boolean"; readonly at: number; readonly value: boolean }
  | { readonly is: "null"; readonly at: number };

interface JsonMember {
  readonly key: string;
  readonly keyAt: number;
  readonly value: JsonValue;
}

export type ParsedJson =
  | { readonly ok: true; readonly value: JsonValue }
  | {
      readonly ok: false;
      readonly code: "JSON_SYNTAX" | "JSON_TOO_DEEP" | "JSON_TOO_MANY";
      readonly at: number;
      readonly message: string;
      readonly fix: string;
    };

export const mostDepth = 100;
const mostValues = 1_000_000;

/** jsonc-parser's SyntaxKind is a const enum, which a transpiler of single files cannot read. */
const token = {
  openBrace: 1,
  closeBrace: 2,
  openBracket: 3,
  closeBracket: 4,
  comma: 5,
  colon: 6,
  null: 7,
  true: 8,
  false: 9,
  string: 10,
  number: 11,
  lineComment: 12,
  blockComment: 13,
  lineBreak: 14,
  trivia: 15,
  unknown: 16,
  end: 17,
} as const;

const scanErrors: Readonly<Record<number, string>> = {
  1: "A comment has no end.",
  2: "A text has no closing quote on its line.",
  3: "A number ends too early.",
  4: "\\u is followed by four hexadecimal digits.",
  5: "A backslash is followed by a character that JSON does not escape.",
  6: "A text contains a control character; it is written as an escape, such as \\n or \\u0001.",
};

type Open =
  | { readonly is: "object"; readonly at: number; readonly members: JsonMember[]; key: string; keyAt: number }
  | { readonly is: "array"; readonly at: number; readonly items: JsonValue[] };

class Wrong extends Error {
  readonly code: Extract<ParsedJson, { ok: false }>["code"];
  readonly at: number;
  readonly fix: string;

  constructor(at: number, message: string, fix: string, code: Wrong["code"] = "JSON_SYNTAX") {
    super(message);
    this.at = at;
    this.fix = fix;
    this.code = code;
  }
}

export function parseJson(text: string): ParsedJson {
  try {
    return { ok: true, value: parse(text) };
  } catch (error) {
    if (!(error instanceof Wrong)) throw error;
    return { ok: false, code: error.code, at: error.at, message: error.message, fix: error.fix };
  }
}

function parse(text: string): JsonValue {
  const scanner = createScanner(text, false);
  const open: Open[] = [];
  let values = 0;
  let kind = next(scanner, text);
  for (;;) {
    // A value, or the start of one.
    values += 1;
    if (values > mostValues) {
      const message = `The file contains more than ${mostValues} values.`;
      throw new Wrong(scanner.getTokenOffset(), message, "Pass long texts to the run.", "JSON_TOO_MANY");
    }
    let value: JsonValue | null = null;
    const at = scanner.getTokenOffset();
    if (kind === token.openBrace || kind === token.openBracket) {
      if (open.length === mostDepth) {
        const message = `Values are nested more than ${mostDepth} deep.`;
        throw new Wrong(at, message, "Write the inner value as text.", "JSON_TOO_DEEP");
      }
      const opened: Open =
        kind === token.openBrace
          ? { is: "object", at, members: [], key: "", keyAt: at }
          : { is: "array", at, items: [] };
      open.push(opened);
      kind = next(scanner, text);
      if (opened.is === "object" && kind !== token.closeBrace) {
        kind = readKey(scanner, text, kind, opened);
        continue;
      }
      if (opened.is === "array" && kind !== token.closeBracket) continue;
    } else {
      value = plainValue(scanner, text, kind);
      kind = next(scanner, text);
    }
    // The value may complete its container, and that may complete the next one.
    for (;;) {
      const inner = open.at(-1);
      if (value !== null) {
        if (inner === undefined) {
          if (kind === token.end) return value;
          const message = `Unexpected ${shown(scanner, text, kind)} after the value.`;
          throw new Wrong(scanner.getTokenOffset(), message, "Remove it. A file contains one JSON value.");
        }
        if (inner.is === "array") inner.items.push(value);
        else inner.members.push({ key: inner.key, keyAt: inner.keyAt, value });
        value = null;
      }
      if (inner === undefined)
        throw new Wrong(0, "The file is empty.", "Write a workflow as described in docs/tasks-json.md.");
      const closes = inner.is === "object" ? token.closeBrace : token.closeBracket;
      if (kind === closes) {
        open.pop();
        value =
          inner.is === "object"
            ? { is: "object", at: inner.at, members: inner.members }
            : { is: "array", at: inner.at, items: inner.items };
        kind = next(scanner, text);
        continue;
      }
      if (kind !== token.comma) {
        const mark = inner.is === "object" ? "}" : "]";
        const found = shown(scanner, text, kind);
        throw new Wrong(scanner.getTokenOffset(), `Expected a comma or '${mark}', but found ${found}.`, comma);
      }
      const commaAt = scanner.getTokenOffset();
      kind = next(scanner, text);
      if (kind === closes)
        throw new Wrong(commaAt, "A comma before the end of a list or object is not allowed.", "Remove it.");
      if (inner.is === "object") kind = readKey(scanner, text, kind, inner);
      break;
    }
  }
}

const comma = "Put a comma between two entries, and a closing bracket after the last.";

/** Reads the key and its colon. Returns the first token of the value. */
function readKey(scanner: JSONScanner, text: string, kind: number, into: Extract<Open, { is: "object" }>): number {
  if (kind !== token.string) {
    const found = shown(scanner, text, kind);
    const fix = "Write the name of a field in double quotes.";
    throw new Wrong(scanner.getTokenOffset(), `Expected the name of a field, but found ${found}.`, fix);
  }
  into.key = scanner.getTokenValue();
  into.keyAt = scanner.getTokenOffset();
  const colon = next(scanner, text);
  if (colon !== token.colon) {
    const found = shown(scanner, text, colon);
    throw new Wrong(scanner.getTokenOffset(), `Expected a colon, but found ${found}.`, 'Write "name": value.');
  }
  return next(scanner, text);
}

/** JSON's own form of a number. The scanner accepts slightly more. */
const number = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

function plainValue(scanner: JSONScanner, text: string, kind: number): JsonValue {
  const at = scanner.getTokenOffset();
  switch (kind) {
    case token.string:
      return { is: "string", at, text: scanner.getTokenValue() };
    case token.number: {
      const written = text.slice(at, at + scanner.getTokenLength());
      if (number.test(written)) return { is: "number", at, written };
      throw new Wrong(
        at,
        `'${written.slice(0, 40)}' is not a number of JSON.`,
        "Write a number such as 20, -1.5 or 2e3.",
      );
    }
    case token.true:
    case token.false:
      return { is: "boolean", at, value: kind === token.true };
    case token.null:
      return { is: "null", at };
    default: {
      if (kind === token.end && text.trim() === "")
        throw new Wrong(0, "The file is empty.", "Write a workflow as described in docs/tasks-json.md.");
      const found = shown(scanner, text, kind);
      throw new Wrong(at, `Expected a value, but found ${found}.`, "Put texts in double quotes.");
    }
  }
}

/** The next token that is not white space. */
function next(scanner: JSONScanner, text: string): number {
  for (;;) {
    const kind: number = scanner.scan();
    if (kind === token.trivia || kind === token.lineBreak) continue;
    const at = scanner.getTokenOffset();
    if (kind === token.lineComment || kind === token.blockComment) {
      throw new Wrong(at, "JSON has no comments.", "Remove it, or write it into a field description.");
    }
    const problem = scanErrors[scanner.getTokenError()];
    if (problem !== undefined && kind !== token.unknown) {
      const end = at + scanner.getTokenLength();
      const fix = text[at] === '"' ? 'Write line breaks as \\n, quotes as \\" and backslashes as \\\\.' : "Correct it.";
      throw new Wrong(kind === token.string ? at : Math.max(at, end - 1), problem, fix);
    }
    return kind;
  }
}

function shown(scanner: JSONScanner, text: string, kind: number): string {
  if (kind === token.end) return "the end of the file";
  const at = scanner.getTokenOffset();
  return `'${text.slice(at, at + Math.min(scanner.getTokenLength(), 30))}'`;
}

/** Writes the value as text without white space. Strings and numbers keep their content. Nesting is bounded (mostDepth). */
export function compactJson(value: JsonValue): string {
  switch (value.is) {
    case "object":
      return `{${value.members.map((member) => `${JSON.stringify(member.key)}:${compactJson(member.value)}`).join(",")}}`;
    case "array":
      return `[${value.items.map(compactJson).join(",")}]`;
    case "string":
      return JSON.stringify(value.text);
    case "number":
      return value.written;
    case "boolean":
      return String(value.value);
    case "null":
      return "null";
  }
}

/** Converts to plain data, with numbers as JavaScript numbers. */
export function plainJson(value: JsonValue): Json {
  return JSON.parse(compactJson(value)) as Json;
}
