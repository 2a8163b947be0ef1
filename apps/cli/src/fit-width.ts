import { visibleText } from "@markmill/engine";

/** Makes one line for a screen. Wide characters count as two columns. Characters that can move the cursor are removed. */
export function oneLine(text: string): string {
  // Invisible characters outside the class Cf (fillers, selectors) are shown as escapes, and counted with that width.
  return visibleText(
    text
      .replaceAll(/[\s\u0085\u2028\u2029]+/g, " ")
      .replaceAll(/(?!\u200d)[\p{Cc}\p{Cf}]/gu, "")
      .trim(),
  );
}

export function fitWidth(text: string, columns: number): string {
  let width = 0;
  let end = 0;
  for (const character of text) {
    const wide = widthOf(character);
    // Leaves room for the ellipsis.
    if (width + wide > columns - 1)
      return textWidth(text.slice(end)) <= columns - width ? text : `${text.slice(0, end)}…`;
    width += wide;
    end += character.length;
  }
  return text;
}

export function textWidth(text: string): number {
  let width = 0;
  for (const character of text) width += widthOf(character);
  return width;
}

/**
 * An estimate that is too wide is harmless; one that is too narrow breaks the line. So all characters except letters, punctuation, arrows
 * and lines count as two columns, and combining marks as none.
 */
function widthOf(character: string): number {
  if (/\p{M}/u.test(character)) return 0;
  const point = character.codePointAt(0) ?? 0;
  if (character === "✓" || character === "✗") return 1;
  const narrow = point < 0x1100 || (point >= 0x2000 && point < 0x2600) || (point >= 0x2800 && point < 0x2900);
  return narrow ? 1 : 2;
}
