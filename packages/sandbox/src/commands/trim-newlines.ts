/** Scans from the end: `/\n+$/` would restart at each newline of a long run of newlines. */
export function trimLastNewlines(text: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === "\n") end -= 1;
  return text.slice(0, end);
}

/** Removes the blank lines at the start. The first line with text keeps its indentation. */
export function trimFirstBlankLines(text: string): string {
  const spaces = text.length - text.trimStart().length;
  return text.slice(text.lastIndexOf("\n", spaces - 1) + 1);
}
