/** All JSON texts travel in one text (C5). */
export const separator = "\u001e";
export const listed = (p: number) => `string_to_table($${p}, E'\\x1e')`;
