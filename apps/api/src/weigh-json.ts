/**
 * Checks a JSON text before it is parsed. Parsing 32 MiB of brackets blocks a process for many seconds and takes hundreds of megabytes, and
 * deep nesting later crashes code that recurses into it. The text is read once, and the check stops at the first excess; strings are
 * skipped.
 */
import { Refusal } from "./refusal.ts";

export const mostDepth = 100;
/** The number of values in the largest part of a large class. */
export const mostValues = 500_000;

const quote = 0x22;
const backslash = 0x5c;

/** Throws a Refusal. Invalid JSON is left to the parser. */
export function weighJson(text: string): void {
  let depth = 0;
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = endOfString(text, at);
        break;
      case 0x5b: // [
      case 0x7b: // {
        depth += 1;
        values += 1;
        if (depth > mostDepth) {
          throw new Refusal("BAD_REQUEST", { detail: `The body is nested more than ${mostDepth} deep.` });
        }
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth -= 1;
        break;
      case 0x2c: // ,
        values += 1;
        break;
    }
    if (values > mostValues) {
      throw new Refusal("TOO_LARGE", { detail: `The body has more than ${mostValues} values: send it in pieces.` });
    }
  }
}

/** The index of the closing quote. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}
