export { type DecodedText, decodeText, type TextEncoding } from "./decode-text.ts";
export { guardCell, looksLikeFormula } from "./formula.ts";
export { type Cell, guessSeparator, type Row, readTable, type Separator, type Table } from "./read-table.ts";
export { type WriteOptions, writeTable } from "./write-table.ts";
