/** Trims one end with a backward scan. A pattern that ends in `+$` would restart at each position of a long row. */
export function trimEnd(text: string, char: RegExp): string {
  let end = text.length;
  while (end > 0 && char.test(text[end - 1] ?? "")) end -= 1;
  return text.slice(0, end);
}

/** Removes blanks at the ends of lines. */
export function trimLineEnds(text: string): string {
  return text
    .split("\n")
    .map((line) => trimEnd(line, /[ \t]/))
    .join("\n");
}
