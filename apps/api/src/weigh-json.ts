/**
 * Looks at a JSON text before it is parsed. To parse 32 MiB of brackets holds a process for many seconds and takes hundreds of megabytes,
 * and what is nested deeply ends, later, whatever goes down into it. One pass, which stops at the first excess; strings are skipped.
 */
import { Refusal } from "./refusal.ts";

export const mostDepth = 100;
/** Values, as many as a piece of a large class has. */
export const mostValues = 500_000;

const quote = 0x22;
const backslash = 0x5c;

/** Throws a Refusal. What is no JSON at all is left to the parser. */
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
          throw new Refusal("BAD_REQUEST", { detail: `The body is nested more than ${mostDepth} levels deep.` });
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
      throw new Refusal("TOO_LARGE", {
        detail: `The body has more than ${mostValues} values. Send it in several requests.`,
      });
    }
  }
}

/** The place of the closing quote. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}
