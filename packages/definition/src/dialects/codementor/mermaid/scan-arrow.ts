/**
 * Scans the lines between vertices as mermaid's own lexer does. `A--oB` is a circle to B. Two dashes without a head begin a label. Three
 * dashes are a complete line.
 */
import { dash, dot, equals, greater, less, tilde } from "./character-codes.ts";
import type { TextCursor } from "./text-cursor.ts";

export type Stroke = "normal" | "thick" | "dotted" | "invisible";

export type Arrow =
  | { readonly kind: "whole"; readonly end: number; readonly head: boolean; readonly backwards: boolean }
  /** `-- `, `== `, `-. `: a label follows, then the rest of the arrow. */
  | { readonly kind: "opening"; readonly end: number; readonly stroke: Stroke; readonly backwards: boolean };

const x = 0x78;
const o = 0x6f;

export function scanArrow(cursor: TextCursor, start: number): Arrow | null {
  const first = cursor.code(start);
  const backwards = first === less;
  const body = backwards || first === x || first === o ? start + 1 : start;
  const code = cursor.code(body);
  if ((code === dash || code === equals) && cursor.code(body + 1) === code) {
    const whole = scanSolid(cursor, body, code);
    if (whole !== null) return { kind: "whole", ...whole, backwards };
    return { kind: "opening", end: body + 2, stroke: code === dash ? "normal" : "thick", backwards };
  }
  if (code === dot || (code === dash && cursor.code(body + 1) === dot)) {
    const whole = scanDotted(cursor, code === dash ? body + 1 : body);
    if (whole !== null) return { kind: "whole", ...whole, backwards };
    return code === dash ? { kind: "opening", end: body + 2, stroke: "dotted", backwards } : null;
  }
  if (body === start && code === tilde) {
    const end = endOfRun(cursor, start, tilde);
    return end - start >= 3 ? { kind: "whole", end, head: false, backwards: false } : null;
  }
  return null;
}

export interface Closing {
  /** The end of the label. */
  readonly start: number;
  readonly end: number;
  readonly head: boolean;
}

/** Finds the rest of an arrow that has begun: the first one in [from, limit). */
export function findClosing(cursor: TextCursor, stroke: Stroke, from: number, limit: number): Closing | null {
  for (let at = from; at < limit; ) {
    const closing = closingAt(cursor, stroke, at);
    if (closing !== null) return closing;
    const code = cursor.code(at);
    at = code === dash || code === equals || code === dot ? endOfSkippableRun(cursor, at, stroke) : at + 1;
  }
  return null;
}

export function closingAt(cursor: TextCursor, stroke: Stroke, at: number): Closing | null {
  const code = cursor.code(at);
  if (stroke === "dotted") {
    const dots = code === dash ? at + 1 : at;
    const whole = cursor.code(dots) === dot ? scanDotted(cursor, dots) : null;
    return whole === null ? null : { start: at, ...whole };
  }
  if (code !== (stroke === "thick" ? equals : dash) || cursor.code(at + 1) !== code) return null;
  const whole = scanSolid(cursor, at, code);
  return whole === null ? null : { start: at, ...whole };
}

/**
 * Skips a row of equal characters. If no closing begins at its start, none begins in its middle. Its last dash may still begin a dotted
 * closing.
 */
function endOfSkippableRun(cursor: TextCursor, at: number, stroke: Stroke): number {
  const end = endOfRun(cursor, at, cursor.code(at));
  return stroke === "dotted" && cursor.code(at) === dash && end - at > 1 ? end - 1 : end;
}

function scanSolid(cursor: TextCursor, start: number, code: number): { end: number; head: boolean } | null {
  const end = endOfRun(cursor, start, code);
  if (isHead(cursor.code(end))) return { end: end + 1, head: true };
  return end - start >= 3 ? { end, head: false } : null;
}

function scanDotted(cursor: TextCursor, start: number): { end: number; head: boolean } | null {
  const end = endOfRun(cursor, start, dot);
  if (cursor.code(end) !== dash) return null;
  return isHead(cursor.code(end + 1)) ? { end: end + 2, head: true } : { end: end + 1, head: false };
}

function endOfRun(cursor: TextCursor, start: number, code: number): number {
  let end = start;
  while (cursor.code(end) === code) end++;
  return end;
}

function isHead(code: number): boolean {
  return code === greater || code === x || code === o;
}
