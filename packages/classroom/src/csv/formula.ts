// A spreadsheet runs a cell that begins like a formula. Names and comments are written by students, so such cells are defused or
// refused before a table is handed over.

/** Also behind blanks and quotes, which some programs skip, and in the full-width forms that some turn into plain ones. */
export function looksLikeFormula(text: string): boolean {
  return /^[\s\p{Cf}"]*[=+\-@\u2212\uff1d\uff0b\uff0d\uff20]/u.test(text) || /^[\t\r]/.test(text);
}

/** An apostrophe makes a spreadsheet take the cell for text. For cells people read, never for keys. */
export function guardCell(text: string): string {
  return looksLikeFormula(text) ? `'${text}` : text;
}
