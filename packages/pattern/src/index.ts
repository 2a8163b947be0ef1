export { searchWithin } from "./match-pattern.ts";
export { parsePattern } from "./parse-pattern.ts";
