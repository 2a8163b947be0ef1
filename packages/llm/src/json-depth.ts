/**
 * Measures the depth of a JSON text and counts its values without parsing it. JSON.parse blocks the process for a second on two million
 * brackets. One pass, which stops at the first excess.
 */
export const mostDepth = 500;

const quote = 0x22;
const backslash = 0x5c;

/** Returns the number of values, or null if the text is nested too deep. For text that is not JSON the parser reports the error. */
export function countValues(text: string): number | null {
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
        if (depth > mostDepth) return null;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth -= 1;
        break;
      case 0x2c: // ,
        values += 1;
        break;
    }
  }
  return values;
}

/** Why a server's text must not be parsed; null: it may be. */
export function parsingRefused(text: string, mostValues: number): string | null {
  const values = countValues(text);
  if (values === null) return `It is nested more than ${mostDepth} deep.`;
  return values > mostValues ? `It has more than ${mostValues} values.` : null;
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
