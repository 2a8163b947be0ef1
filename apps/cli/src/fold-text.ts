import { textWidth } from "./fit-width.ts";

/** Breaks text between words into lines of this width. A longer word stays whole, so that it can be copied. */
export function foldText(text: string, columns: number): string[] {
  return text.split("\n").flatMap((line) => {
    const folded: string[] = [];
    let current: string | null = null;
    for (const word of line.split(" ")) {
      const longer: string = current === null ? word : `${current} ${word}`;
      if (current !== null && textWidth(longer) > columns) {
        folded.push(current);
        current = word;
      } else current = longer;
    }
    return [...folded, current ?? ""];
  });
}
