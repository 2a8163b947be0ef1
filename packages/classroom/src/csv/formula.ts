// Detects cells that a spreadsheet would run as a formula. Students write names and comments, so such cells are made harmless or refused
// before a table leaves the program.

/** Also detects formulas after blanks and quotes, which some programs skip, and in full-width forms, which some programs convert. */
export function looksLikeFormula(text: string): boolean {
  return /^[\s\p{Cf}"]*[=+\-@\u2212\uff1d\uff0b\uff0d\uff20]/u.test(text) || /^[\t\r]/.test(text);
}

/** Adds an apostrophe, so that a spreadsheet reads the cell as text. For cells that people read, never for keys. */
export function guardCell(text: string): string {
  return looksLikeFormula(text) ? `'${text}` : text;
}
