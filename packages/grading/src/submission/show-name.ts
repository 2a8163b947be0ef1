/** A name for people: invisible and control characters are escaped, and a long name is shortened. */
export function showName(name: string | Uint8Array): string {
  const text = typeof name === "string" ? name : new TextDecoder("utf-8").decode(name);
  const safe = text
    .toWellFormed()
    .replace(
      /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\\]/gu,
      (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
    );
  return safe.length <= 200 ? safe : `${safe.slice(0, 120)}…${safe.slice(-60)}`;
}
