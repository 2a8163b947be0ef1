// Converts bytes of a foreign program to text that is safe to store, to show and to put into a prompt. Invariants:
// 1. The result contains no control character except tab and newline, no bidi control, no invisible tag, and no lone surrogate. The
//    engine's visible-text.ts decides for all packages what replaces them, and which parts of emoji stay.

// 2. Visible text is never hidden: only terminal sequences are dropped; everything else is replaced by visible characters.

import { visibleText } from "@markmill/engine";

// A terminal string (title, hyperlink) longer than this does not count as one, so a stray introducer cannot swallow output.
const MAX_TERMINAL_STRING = 512;

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: control characters are what this file is about
const terminalSequences = new RegExp(
  [
    "\\x1b\\[[0-?]{0,64}[ -/]{0,8}[@-~]",
    `\\x1b[\\]PX^_][^\\x07\\x1b\\n]{0,${MAX_TERMINAL_STRING}}(?:\\x07|\\x1b\\\\)`,
    "\\x1b[ -/]{0,8}[0-~]",
  ].join("|"),
  "g",
);
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: as above
const lineEnds = /\r\n?|[\u2028\u2029]/g;

export function neutraliseOutput(bytes: Uint8Array): string {
  return neutraliseText(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
}

export function neutraliseText(text: string): string {
  return visibleText(text.toWellFormed().replace(terminalSequences, "").replace(lineEnds, "\n"));
}
