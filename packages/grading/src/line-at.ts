/** Returns the rest of the line. */
export function lineAt(text: string, at: number): string {
  const found = text.indexOf("\n", at);
  return text.slice(at, found < 0 ? text.length : found);
}
