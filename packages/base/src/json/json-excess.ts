/**
 * Checks a JSON text before it is parsed. JSON.parse blocks a process for a second on two million brackets, and a deeply nested value
 * overflows the stack of recursive code. The check reads the text once and stops at the first excess. Strings are skipped. A text that is
 * not JSON is left to the parser.
 */
export interface JsonBounds {
  /** Brackets that are open at once. */
  readonly depth: number;
  readonly values?: number;
}

const quote = 0x22;
const backslash = 0x5c;

/** The bound that the text exceeds. null: it may be parsed. */
export function jsonExcess(
  text: string,
  { depth: mostDepth, values: mostValues }: JsonBounds,
): keyof JsonBounds | null {
  const most = mostValues ?? Number.POSITIVE_INFINITY;
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
        if (depth > mostDepth) return "depth";
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth -= 1;
        break;
      case 0x2c: // ,
        values += 1;
        break;
    }
    if (values > most) return "values";
  }
  return null;
}

/** The position of the closing quote. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}
