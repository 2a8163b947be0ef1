export { decodeText } from "./decode-text.ts";
export { guardCell } from "./formula.ts";
export { readTable } from "./read-table.ts";
export { writeTable } from "./write-table.ts";
