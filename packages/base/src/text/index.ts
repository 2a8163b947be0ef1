export { containsText, placesOf } from "./find-text.ts";
