/**
 * Fonts for reports on paper. DejaVu has the letters of most names; Noto Sans SC has Chinese and kana, in a hundred small files of
 * which only those that are needed are opened. What neither has is written as its number, so that nothing vanishes silently.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { create, type Font } from "fontkit";
import { visible } from "./markup.ts";

export type Face = "plain" | "bold" | "mono";

/** A piece of text that one font has all letters of. */
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
const wide = "@fontsource-variable/noto-sans-sc";
const opened = new Map<string, Font>();

/** Fonts by the names that runs give them; read once for all reports. */
const bytes = new Map<string, Buffer>();

export function fontBytes(name: string): Buffer {
  const known = bytes.get(name) ?? readFileSync(require.resolve(name));
  bytes.set(name, known);
  return known;
}

export function fontRuns(text: string, face: Face): FontRun[] {
  const runs: { font: string; text: string }[] = [];
  const add = (font: string, piece: string) => {
    const last = runs.at(-1);
    if (last?.font === font) last.text += piece;
    else runs.push({ font, text: piece });
  };
  for (const letter of visible(text)) {
    const font = fontFor(letter, face);
    if (font !== null) add(font, letter);
    else add(faces[face], `\u27e8${(letter.codePointAt(0) ?? 0).toString(16)}\u27e9`);
  }
  return runs;
}

function fontFor(letter: string, face: Face): string | null {
  const point = letter.codePointAt(0) ?? 0;
  if (letter === "\n" || letter === "\t" || has(faces[face], point)) return faces[face];
  // Bold and mono have fewer letters than plain.
  if (has(faces.plain, point)) return faces.plain;
  const file = wideFile(point);
  return file !== null && has(file, point) ? file : null;
}

function has(name: string, point: number): boolean {
  let font = opened.get(name);
  if (font === undefined) {
    const made = create(fontBytes(name));
    if (!("hasGlyphForCodePoint" in made)) return false;
    font = made;
    opened.set(name, font);
  }
  return font.hasGlyphForCodePoint(point);
}

let ranges: readonly { readonly from: number; readonly to: number; readonly file: string }[] | null = null;

/** The package says in unicode.json which of its files has which letters. */
function wideFile(point: number): string | null {
  ranges ??= Object.entries(
    JSON.parse(readFileSync(require.resolve(`${wide}/unicode.json`), "utf8")) as Readonly<Record<string, string>>,
  ).flatMap(([subset, list]) =>
    list.split(",").map((range) => {
      const [from = "", to = from] = range.replace("U+", "").split("-");
      const file = `${wide}/files/noto-sans-sc-${subset.replaceAll(/[[\]]/g, "")}-wght-normal.woff2`;
      return { from: Number.parseInt(from, 16), to: Number.parseInt(to, 16), file };
    }),
  );
  return ranges.find(({ from, to }) => point >= from && point <= to)?.file ?? null;
}
