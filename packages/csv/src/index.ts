export { decodeText } from "./decode-text.ts";
export { guardCell, looksLikeFormula } from "./formula.ts";
export { type Cell, type Row, readTable } from "./read-table.ts";
export { writeTable } from "./write-table.ts";
