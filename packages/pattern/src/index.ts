export { searchWithin } from "./match-pattern.ts";
export { type ParsedPattern, parsePattern } from "./parse-pattern.ts";
export type { Pattern } from "./pattern.ts";
