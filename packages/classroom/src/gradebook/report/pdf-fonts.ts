/**
 * Provides the fonts for PDF reports.
 *
 * P1  DejaVu has most alphabets, including Arabic and Hebrew. Noto fonts have Chinese, Japanese, Korean, Devanagari, Tamil, Thai and emoji;
 *     only the files with the needed letters are opened.
 * P2  A Noto file is a variable WOFF2 font. The PDF library copies outlines from such a file by offsets that WOFF2 does not have, and its
 *     letters are blank. So each file is first converted to a plain TrueType font of one weight.
 * P3  A letter that no font has is written as its number: no letter disappears silently.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { create, type Font } from "fontkit";
import subsetFont from "subset-font";
import { visible } from "./markup.ts";

export type Face = "plain" | "bold" | "mono";

/** A piece of text whose letters are all in one font. */
export interface FontRun {
  readonly font: string;
  readonly text: string;
}

const require = createRequire(import.meta.url);
const faces: Readonly<Record<Face, string>> = {
  plain: "dejavu-fonts-ttf/ttf/DejaVuSans.ttf",
  bold: "dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf",
  mono: "dejavu-fonts-ttf/ttf/DejaVuSansMono.ttf",
};
const weights: Readonly<Record<Face, number>> = { plain: 400, bold: 700, mono: 400 };

/** Chinese characters are drawn in the form that the language of the text uses. */
function wideFonts(text: string): readonly string[] {
  const others = ["noto-sans-devanagari", "noto-sans-tamil", "noto-sans-thai", "noto-emoji"];
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text))
    return ["noto-sans-jp", "noto-sans-sc", "noto-sans-kr", ...others];
  if (/\p{Script=Hangul}/u.test(text)) return ["noto-sans-kr", "noto-sans-sc", "noto-sans-jp", ...others];
  return ["noto-sans-sc", "noto-sans-jp", "noto-sans-kr", ...others];
}

const bytes = new Map<string, Buffer>();
const opened = new Map<string, Font | null>();

/** Returns the font with the name that a run contains. Fonts stay in memory for all reports of this process. */
export function fontBytes(name: string): Buffer {
  const known = bytes.get(name) ?? readFileSync(require.resolve(name));
  bytes.set(name, known);
  return known;
}

/** Opens every font that these texts need. Otherwise `fontRuns` writes such letters as numbers. */
export async function loadFonts(texts: Iterable<string>): Promise<void> {
  for (const text of texts) {
    const fonts = wideFonts(text);
    for (const letter of new Set(readable(text))) {
      const point = letter.codePointAt(0) ?? 0;
      if (has(faces.plain, point)) continue;
      for (const font of fonts) {
        const part = partFor(font, point);
        if (part === null) continue;
        for (const weight of [400, 700]) await openPart(part, weight);
        if (has(nameOf(part, 400), point)) break;
      }
    }
  }
}

export function fontRuns(text: string, face: Face): FontRun[] {
  const runs: { font: string; text: string }[] = [];
  const fonts = wideFonts(text);
  for (const letter of readable(text)) {
    const last = runs.at(-1);
    const point = letter.codePointAt(0) ?? 0;
    // An accent is drawn in the font of its letter.
    const stays = last !== undefined && /\p{M}/u.test(letter) && has(last.font, point);
    const font = stays ? last.font : fontFor(point, face, fonts);
    const piece = font === null ? `\u27e8${point.toString(16)}\u27e9` : letter;
    const used = font ?? faces[face];
    if (last?.font === used) last.text += piece;
    else runs.push({ font: used, text: piece });
  }
  return runs;
}

/** Writes the text as code points, for a font whose rules the PDF library cannot follow. */
export function numbersOf(text: string, face: Face): FontRun {
  const points = [...text].map((letter) => `\u27e8${(letter.codePointAt(0) ?? 0).toString(16)}\u27e9`);
  return { font: faces[face], text: points.join("") };
}

/** Composes letters, because a file system may have decomposed a name. Removes selectors of the emoji style, which no font draws. */
function readable(text: string): string {
  return visible(text.normalize("NFC")).replaceAll(/[\ufe0e\ufe0f]/g, "");
}

function fontFor(point: number, face: Face, fonts: readonly string[]): string | null {
  if (point === 10 || point === 9 || has(faces[face], point)) return faces[face];
  // Bold and mono have fewer letters than plain.
  if (has(faces.plain, point)) return faces.plain;
  for (const font of fonts) {
    const part = partFor(font, point);
    const name = part === null ? null : nameOf(part, weights[face]);
    if (name !== null && opened.has(name) && has(name, point)) return name;
  }
  return null;
}

function has(name: string, point: number): boolean {
  let font = opened.get(name);
  if (font === undefined) {
    const made = create(fontBytes(name));
    font = "hasGlyphForCodePoint" in made ? made : null;
    opened.set(name, font);
  }
  return font?.hasGlyphForCodePoint(point) ?? false;
}

interface FontPart {
  readonly file: string;
  /** The code points of all letters in the file. */
  readonly ranges: readonly (readonly [from: number, to: number])[];
}

function nameOf({ file }: FontPart, weight: number): string {
  return `${file}@${weight}`;
}

/** See P2 in the file header. */
async function openPart(part: FontPart, weight: number): Promise<void> {
  const name = nameOf(part, weight);
  if (bytes.has(name)) return;
  let letters = "";
  for (const [from, to] of part.ranges)
    for (let point = from; point <= to; point += 1) letters += String.fromCodePoint(point);
  const file = readFileSync(require.resolve(part.file));
  const plain = await subsetFont(file, letters, { targetFormat: "truetype", variationAxes: { wght: weight } });
  bytes.set(name, plain);
  has(name, 32);
}

const parts = new Map<string, readonly FontPart[]>();
/** A cache by font and letter: a text has few different letters, and a font has hundreds of ranges. */
const partsFound = new Map<string, Map<number, FontPart | null>>();

/** The file unicode.json of each package lists which of its files has which letters. */
function partFor(font: string, point: number): FontPart | null {
  const ofFont = partsFound.get(font) ?? new Map<number, FontPart | null>();
  partsFound.set(font, ofFont);
  const found = ofFont.get(point);
  if (found !== undefined) return found;
  const known = parts.get(font) ?? readParts(font);
  parts.set(font, known);
  const part = known.find(({ ranges }) => ranges.some(([from, to]) => point >= from && point <= to)) ?? null;
  ofFont.set(point, part);
  return part;
}

function readParts(font: string): readonly FontPart[] {
  const place = `@fontsource-variable/${font}`;
  const subsets = JSON.parse(readFileSync(require.resolve(`${place}/unicode.json`), "utf8")) as Readonly<
    Record<string, string>
  >;
  return Object.entries(subsets)
    .filter(([subset]) => !subset.startsWith("latin"))
    .map(([subset, list]) => ({
      file: `${place}/files/${font}-${subset.replaceAll(/[[\]]/g, "")}-wght-normal.woff2`,
      ranges: list.split(",").map((range): readonly [number, number] => {
        const [from = "", to = from] = range.replace("U+", "").split("-");
        return [Number.parseInt(from, 16), Number.parseInt(to, 16)];
      }),
    }));
}
