/** No valid answer, notebook or results file is nested this deeply. */
const mostDepth = 200;

/**
 * Reports whether a JSON text is nested so deeply that parsing it would block the process. It reads the text once and stops at the limit.
 */
export function isDeepJson(text: string): boolean {
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
