/** What stands at an end, taken off by a scan from behind: a pattern that ends in `+$` tries each place of a long run anew. */
export function trimEnd(text: string, char: RegExp): string {
  let end = text.length;
  while (end > 0 && char.test(text[end - 1] ?? "")) end -= 1;
  return text.slice(0, end);
}

/** Without blanks at the ends of lines. */
export function trimLineEnds(text: string): string {
  return text
    .split("\n")
    .map((line) => trimEnd(line, /[ \t]/))
    .join("\n");
}
