/**
 * Characters in names that look like a plain space or are invisible. The author sees no difference in an editor, but the name does not
 * match.
 */
const invisible = /[\u00a0\u00ad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff]/;

/** Returns the first of them, as `U+00A0`, or null if there is none. */
export function invisibleCharacter(name: string): string | null {
  const found = invisible.exec(name)?.[0];
  return found === undefined ? null : `U+${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The end of a sentence about a refused name. */
export function invisibleIn(name: string): string {
  const code = invisibleCharacter(name);
  if (code === null) return "";
  return code === "U+00A0"
    ? ": it contains a no-break space (U+00A0)"
    : `: it contains an invisible character (${code})`;
}
