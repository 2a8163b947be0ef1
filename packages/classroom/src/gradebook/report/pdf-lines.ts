/**
 * Breaks text into lines of a given width. Pure: the caller measures the pieces.
 *
 * L1  Every letter of the text is in some line; only spaces at a break are dropped. Line ends of the text stay.
 * L2  A word wider than the line is broken between visible letters. Chinese and Japanese break anywhere.
 * L3  Words of Arabic and Hebrew run from right to left within a line; the font draws each word in the right direction.
 */
import type { FontRun } from "./pdf-fonts.ts";

interface Piece extends FontRun {
  readonly width: number;
}

export type Line = readonly FontRun[];

export function breakLines(
  runs: readonly FontRun[],
  width: number,
  measure: (run: FontRun) => number,
): readonly Line[] {
  const lines: Line[] = [];
  let line: Piece[] = [];
  let used = 0;
  const end = () => {
    lines.push(merge(inReadingOrder(line)));
    line = [];
    used = 0;
  };
  const place = (piece: Piece): void => {
    if (used + piece.width <= width + 0.01) {
      line.push(piece);
      used += piece.width;
      return;
    }
    const blank = piece.text.trim() === "";
    if (line.length > 0) end();
    if (blank) return;
    if (piece.width <= width) {
      line.push(piece);
      used = piece.width;
      return;
    }
    for (const letter of lettersOf(piece.text)) {
      const one = { font: piece.font, text: letter, width: measure({ font: piece.font, text: letter }) };
      if (used + one.width > width && line.length > 0) end();
      line.push(one);
      used += one.width;
    }
  };
  for (const { font, text } of runs) {
    for (const [index, part] of text.split("\n").entries()) {
      if (index > 0) end();
      for (const word of wordsOf(part)) place({ font, text: word, width: measure({ font, text: word }) });
    }
  }
  end();
  return lines;
}

const letters = new Intl.Segmenter("en", { granularity: "grapheme" });

function lettersOf(text: string): readonly string[] {
  return [...letters.segment(text)].map(({ segment }) => segment);
}

function wordsOf(text: string): readonly string[] {
  return (
    text.match(
      / +|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[^ \p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+/gu,
    ) ?? []
  );
}

/** See L3 in the file header. */
function inReadingOrder(line: readonly Piece[]): readonly Piece[] {
  if (!line.some(isRightToLeft)) return line;
  const out: Piece[] = [];
  let at = 0;
  while (at < line.length) {
    const piece = line[at] as Piece;
    if (!isRightToLeft(piece)) {
      out.push(piece);
      at += 1;
      continue;
    }
    let to = at;
    for (let next = at + 1; next < line.length; next += 1) {
      const one = line[next] as Piece;
      if (isRightToLeft(one)) to = next;
      else if (one.text.trim() !== "") break;
    }
    out.push(...line.slice(at, to + 1).reverse());
    at = to + 1;
  }
  return out;
}

function isRightToLeft({ text }: FontRun): boolean {
  return /[\p{Script=Arabic}\p{Script=Hebrew}]/u.test(text);
}

/** Pieces of one font are drawn together, unless their order was reversed. */
function merge(line: readonly Piece[]): Line {
  const out: { font: string; text: string }[] = [];
  for (const { font, text } of line) {
    const last = out.at(-1);
    if (last?.font === font && !isRightToLeft(last) && !isRightToLeft({ font, text })) last.text += text;
    else out.push({ font, text });
  }
  return out;
}
