/**
 * JSON.parse for texts of models and students inside a step. A text that is nested too deep is refused before it is parsed. Two million
 * brackets would occupy a worker for a second, and JSON.stringify of such a value throws.
 */
const mostDepth = 500;

/** Throws a SyntaxError, as JSON.parse does. */
export function parseShallow(text: string): unknown {
  if (isDeep(text)) throw new SyntaxError(`It is nested more than ${mostDepth} deep.`);
  return JSON.parse(text);
}

/** Reads the text once and stops where it is too deep. The parser refuses text that is not JSON. */
function isDeep(text: string): boolean {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (quoted) {
      if (unit === 0x5c) at += 1;
      else if (unit === 0x22) quoted = false;
    } else if (unit === 0x22) quoted = true;
    else if (unit === 0x5b || unit === 0x7b) {
      depth += 1;
      if (depth > mostDepth) return true;
    } else if (unit === 0x5d || unit === 0x7d) depth -= 1;
  }
  return false;
}
