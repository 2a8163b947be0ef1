// Bytes of a foreign program to text that is safe to store, to show and to put into a prompt. Invariants:
// 1. The result holds no control character but tab and newline, no bidi control, no invisible tag, no lone surrogate.
// 2. Nothing visible is hidden: what is not a terminal sequence is replaced by something to see, not dropped.

// A terminal string (title, hyperlink) longer than this is not taken for one, so a stray introducer cannot swallow output.
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
const controls = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: as above
const lineEnds = /\r\n?|[\u2028\u2029]/g;
const deceptive =
  /[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

export function neutraliseOutput(bytes: Uint8Array): string {
  return neutraliseText(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
}

export function neutraliseText(text: string): string {
  return text
    .toWellFormed()
    .replace(terminalSequences, "")
    .replace(lineEnds, "\n")
    .replace(controls, (char) => pictureOf(char.charCodeAt(0)))
    .replace(deceptive, (char) => `<U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`);
}

/** Unicode has a picture for each C0 control and for DEL; C1 controls have none. */
function pictureOf(code: number): string {
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : "\ufffd";
}
