// Bytes of a foreign program to text that is safe to store, to show and to put into a prompt. Invariants:
// 1. The result holds no control character but tab and newline, no bidi control, no lone surrogate, and nothing invisible
//    (fillers, selectors, joiners, tags) but where it is part of an emoji or of a script's spelling.
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
/** Bidi controls, fillers, joiners, selectors and tags: characters that change what is seen, or are not seen at all. */
const deceptive = [
  "\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f",
  "\\u202a-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff9-\\ufffb\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}",
].join("");
/** Where some of these belong: inside emoji (joined, styled, flags), and joiners after letters of scripts that write with them. */
const belonging = [
  "\\p{Emoji}\\ufe0f?\\u20e3",
  "\\u{1f3f4}[\\u{e0061}-\\u{e007a}]{1,6}\\u{e007f}",
  "PICTURE(?:\\u200dPICTURE){0,8}".replaceAll(
    "PICTURE",
    "\\p{Extended_Pictographic}(?:[\\ufe0e\\ufe0f]|\\p{Emoji_Modifier})?",
  ),
  `(?<=[${[
    "Arabic",
    "Devanagari",
    "Bengali",
    "Gurmukhi",
    "Gujarati",
    "Oriya",
    "Tamil",
    "Telugu",
    "Kannada",
    "Malayalam",
    "Sinhala",
  ]
    .map((script) => `\\p{Script=${script}}`)
    .join("")}])[\\u200c\\u200d]`,
].join("|");
const unseen = new RegExp(`(${belonging})|[${deceptive}]`, "gu");

export function neutraliseOutput(bytes: Uint8Array): string {
  return neutraliseText(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
}

export function neutraliseText(text: string): string {
  return text
    .toWellFormed()
    .replace(terminalSequences, "")
    .replace(lineEnds, "\n")
    .replace(controls, (char) => pictureOf(char.charCodeAt(0)))
    .replace(
      unseen,
      (char, belongs: string | undefined) =>
        belongs ?? `<U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`,
    );
}

/** Unicode has a picture for each C0 control and for DEL; C1 controls have none. */
function pictureOf(code: number): string {
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : "\ufffd";
}
