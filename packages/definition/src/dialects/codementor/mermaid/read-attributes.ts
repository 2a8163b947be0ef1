import {
  apostrophe,
  closeBrace,
  colon,
  comma,
  newline,
  openBrace,
  openBracket,
  openParenthesis,
  quote,
} from "./character-codes.ts";
import { type CaptionText, type ChartReader, shorten } from "./chart-reader.ts";
import type { Mention } from "./flowchart-draft.ts";

/**
 * Reads `@{ key: value, … }`; commas or line ends separate the entries. Returns false after a finding; the text is then read as a
 * statement.
 */
export function readAttributes(reader: ChartReader, mention: Mention): boolean {
  const { cursor } = reader;
  const opening = cursor.position;
  const firstLineEnd = cursor.lineEnd();
  const keys = new Set<string>();
  cursor.position += 2;
  for (;;) {
    cursor.skipBlanksAndLines();
    if (cursor.code() === comma) {
      cursor.position++;
      continue;
    }
    if (cursor.code() === closeBrace) {
      cursor.position++;
      return true;
    }
    const start = cursor.position;
    const key = cursor.atEnd ? null : readKey(reader);
    if (key === null) {
      if (!cursor.atEnd && (start < firstLineEnd || !looksLikeStatement(reader, start))) {
        reader.report(
          "MERMAID_BAD_ATTRIBUTE",
          start,
          `\`${reader.excerpt()}\` is no \`key: value\``,
          'write ID@{ shape: stadium, label: "text" }',
        );
        skipEntry(reader);
        continue;
      }
      reader.report(
        "MERMAID_UNCLOSED_ATTRIBUTES",
        opening,
        `the attribute list of ${shorten(mention.id)} is never closed`,
        "close it with `}`",
      );
      return false;
    }
    if (keys.has(key)) {
      reader.report(
        "MERMAID_BAD_ATTRIBUTE",
        start,
        `the attribute \`${shorten(key)}\` is given twice`,
        "remove one of the two",
      );
    }
    keys.add(key);
    const value = readValue(reader);
    if (value === null) return false;
    if (key === "label") mention.caption = value;
    else if (key === "shape") mention.shape = value.text;
    else {
      mention.attributes ??= new Map();
      mention.attributes.set(key, value);
    }
  }
}

/** Returns the key with its colon. If there is none, returns null and leaves the cursor unchanged. */
function readKey(reader: ChartReader): string | null {
  const { cursor } = reader;
  const start = cursor.position;
  const mark = cursor.code();
  const isQuoted = mark === quote || mark === apostrophe;
  const nameStart = isQuoted ? start + 1 : start;
  const nameEnd = reader.endOfId(nameStart);
  const after = reader.afterBlanks(isQuoted ? nameEnd + 1 : nameEnd);
  if (
    nameEnd === nameStart ||
    (isQuoted && cursor.code(nameEnd) !== mark) ||
    cursor.code(after) !== colon ||
    cursor.has(":::", after)
  ) {
    return null;
  }
  cursor.position = after + 1;
  return cursor.slice(nameStart, nameEnd);
}

/** Returns null after a finding; the cursor is then at the end of the line. */
function readValue(reader: ChartReader): CaptionText | null {
  const { cursor } = reader;
  cursor.skipBlanks();
  const start = cursor.position;
  if (cursor.code() === quote) {
    const end = cursor.find('"', start + 1);
    if (end < 0) return reportUnclosedValue(reader, start);
    const isSpread = end > cursor.lineEnd();
    cursor.position = end + 1;
    cursor.skipBlanks();
    if (!endsEntry(reader)) {
      if (isSpread) return reportUnclosedValue(reader, start);
      reportTextAfterValue(reader);
    }
    return reader.caption(start + 1, end, true);
  }
  if (cursor.code() === apostrophe) return readSingleQuoted(reader, start);
  while (!endsEntry(reader)) cursor.position++;
  return reader.caption(start, cursor.position);
}

/** A doubled apostrophe means one. */
function readSingleQuoted(reader: ChartReader, start: number): CaptionText | null {
  const { cursor } = reader;
  const limit = cursor.lineEnd();
  let end = start + 1;
  while (end < limit && (cursor.code(end) !== apostrophe || cursor.code(end + 1) === apostrophe)) {
    end += cursor.code(end) === apostrophe ? 2 : 1;
  }
  if (end >= limit) return reportUnclosedValue(reader, start);
  cursor.position = end + 1;
  cursor.skipBlanks();
  if (!endsEntry(reader)) reportTextAfterValue(reader);
  const caption = reader.caption(start + 1, end);
  return { ...caption, text: caption.text.replaceAll("''", "'") };
}

function endsEntry(reader: ChartReader): boolean {
  const code = reader.cursor.code();
  return code === comma || code === closeBrace || code === newline || code === -1;
}

function skipEntry(reader: ChartReader): void {
  while (!endsEntry(reader)) reader.cursor.position++;
}

function reportTextAfterValue(reader: ChartReader): void {
  reader.report(
    "MERMAID_BAD_ATTRIBUTE",
    reader.cursor.position,
    `unexpected \`${reader.excerpt()}\` after the value of an attribute`,
    "part attributes by commas, and quote a value as a whole; write #quot; for a quote inside it",
  );
  skipEntry(reader);
}

function reportUnclosedValue(reader: ChartReader, start: number): null {
  reader.report(
    "MERMAID_UNCLOSED_QUOTE",
    start,
    "the quoted value of this attribute is never closed",
    "end the value with the same quote, before the comma or `}`",
  );
  reader.cursor.position = reader.cursor.lineEnd(start);
  return null;
}

/** Whether a later line inside a list looks like a statement. Then the list was not closed before it. */
function looksLikeStatement(reader: ChartReader, start: number): boolean {
  const { cursor } = reader;
  const limit = cursor.lineEnd(start);
  for (let offset = start; offset < limit; offset++) {
    const code = cursor.code(offset);
    if (code === openBracket || code === openParenthesis || code === openBrace) return true;
    if (cursor.has("--", offset) || cursor.has("==", offset) || cursor.has("-.", offset)) return true;
  }
  return false;
}
