export { containsText, placesOf } from "./find-text.ts";
export { parsePattern } from "./parse-pattern.ts";
export { type Effort, effortOf, searchWithin } from "./search-within.ts";
