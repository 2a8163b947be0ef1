/** A scan from behind: `/\n+$/` would try each newline of a long run anew. */
export function trimLastNewlines(text: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === "\n") end -= 1;
  return text.slice(0, end);
}

/** Without the blank lines at the beginning. The first line that says something keeps its indentation. */
export function trimFirstBlankLines(text: string): string {
  const spaces = text.length - text.trimStart().length;
  return text.slice(text.lastIndexOf("\n", spaces - 1) + 1);
}
