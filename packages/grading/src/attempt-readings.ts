/**
 * Lists the ways in which a reader can understand a text: as written, with look-alike letters replaced, with variable names split into
 * words, and with encoded parts decoded. Each reading is one line of lower-case words, and it records where each line of the original text
 * begins. A reading is at most twice as long as the text.
 */
import { trimEnd } from "./trim-end.ts";

export interface Reading {
  readonly text: string;
  /** How the reading was produced. Empty: the text as written. */
  readonly how: string;
  /** Variable names are split into words in this reading. */
  readonly folded?: true;
  /** Returns the line number, from 1, for an index into the reading. */
  readonly lineAt: (index: number) => number;
}

const LONGEST_LINE = 20_000;
const MOST_DECODED = 200;

export function readingsOf(text: string): Reading[] {
  const lines = text.split(/\r\n|\n|\r/).map((line) => line.slice(0, LONGEST_LINE));
  const plain = joined(
    lines.map((line) => readable(line)),
    "",
  );
  const folded = joined(
    lines.map((line) => readable(words(folding(line)))),
    "",
  );
  return [
    plain,
    ...(folded.text === plain.text ? [] : [{ ...folded, folded: true as const }]),
    joined(
      lines.map((line) => readable(rot13(line))),
      ", in ROT13",
    ),
    ...decoded(lines),
  ];
}

function joined(lines: readonly string[], how: string): Reading {
  const starts: number[] = [];
  const parts: string[] = [];
  let at = 0;
  for (const line of lines) {
    starts.push(at);
    if (line === "") continue;
    parts.push(line);
    at += line.length + 1;
  }
  return { text: parts.join(" "), how, lineAt: (index) => lastAtOrBefore(starts, index) + 1 };
}

function lastAtOrBefore(starts: readonly number[], index: number): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= index) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Removes comment marks and invisible letters, lower-cases the text and joins white space. */
export function readable(text: string): string {
  const visible = text.normalize("NFKC").replaceAll(/[\p{Cf}\p{Variation_Selector}]/gu, "");
  return trimEnd(visible, /[\s*/]/)
    .replace(/^[\s/*#;%>|-]+(?=[^|])/, (marks) => (marks.includes("|") ? marks : ""))
    .replaceAll(/\\n/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim()
    .toLowerCase();
}

const likeLatin: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ..."аa еe оo рp сc хx уy іi јj ѕs ԁd һh ӏl қk тt мm нn вb кk".split(" "),
    ..."αa εe οo ρp υu νv ιi κk τt χx ηn ωw".split(" "),
    ..."ɑa ɡg ıi ǀl ⅼl ｏo".split(" "),
  ].map((pair) => [[...pair][0] ?? "", [...pair][1] ?? ""]),
);
const likeLetter: Readonly<Record<string, string>> = {
  "0": "o",
  "1": "i",
  "3": "e",
  "4": "a",
  "5": "s",
  "7": "t",
  "@": "a",
  $: "s",
};

/** Replaces digits and letters of other alphabets that look like Latin letters. Only words that mix both are changed. */
function folding(line: string): string {
  return line
    .replaceAll(/(?:(?<!\p{L})\p{L} ){4,}\p{L}(?!\p{L})/gu, (letters) => letters.replaceAll(" ", ""))
    .replaceAll(/[\p{L}\p{N}@$]+/gu, (part) => {
      const mixed = /[a-z]/i.test(part) && /[а-џԁһӏқα-ωɑɡı]/iu.test(part);
      const plain = mixed ? [...part].map((char) => likeLatin[char.toLowerCase()] ?? char).join("") : part;
      return /\p{L}/u.test(plain) && /[013457@$]/.test(plain) && !/\d{3}/.test(plain)
        ? [...plain].map((char) => likeLetter[char] ?? char).join("")
        : plain;
    });
}

/** Splits variable names into their words. */
function words(line: string): string {
  return line.replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2").replaceAll(/(\p{L})[_-]+(?=\p{L})/gu, "$1 ");
}

function rot13(line: string): string {
  return line.replaceAll(/[a-z]/gi, (char) => {
    const base = char <= "Z" ? 65 : 97;
    return String.fromCharCode(((char.charCodeAt(0) - base + 13) % 26) + base);
  });
}

/** Decodes base64, hexadecimal and escaped letters. */
function decoded(lines: readonly string[]): Reading[] {
  const found: Reading[] = [];
  const add = (text: string, how: string, index: number) => {
    const spoken = [...text].filter((char) => /[\p{L}\p{N}\p{P}\p{Zs}\n]/u.test(char)).length;
    if (found.length >= MOST_DECODED || spoken < 0.95 * [...text].length || !/\p{L} \p{L}/u.test(text)) return;
    found.push({ text: readable(text.replaceAll("\n", " ")), how, lineAt: () => index + 1 });
  };
  for (const [index, line] of lines.entries()) {
    for (const [run] of line.matchAll(/[A-Za-z0-9+/_-]{20,}={0,2}/g)) {
      if (/^(?:[0-9a-f]{2}){16,}$/i.test(run)) add(Buffer.from(run, "hex").toString("utf8"), ", in hexadecimal", index);
      else add(Buffer.from(run, "base64").toString("utf8"), ", in base64", index);
    }
    if (/(?:\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|&#x?[0-9a-f]{2,5};|%[0-9a-f]{2}){1}/i.test(line)) {
      const text = line
        .replaceAll(
          /\\u([0-9a-f]{4})|\\x([0-9a-f]{2})|&#x([0-9a-f]{2,5});|%([0-9a-f]{2})/gi,
          (_, ...codes: (string | undefined)[]) =>
            String.fromCharCode(Number.parseInt(codes.slice(0, 4).find((code) => code !== undefined) ?? "20", 16)),
        )
        .replaceAll(/&#(\d{2,5});/g, (_, code: string) => String.fromCharCode(Number(code)));
      add(text, ", in escaped letters", index);
    }
  }
  return found;
}
