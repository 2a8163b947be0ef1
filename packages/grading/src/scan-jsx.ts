/**
 * Finds words in JSX: the text between tags, and texts in quotes inside a tag. Code in braces is read as code again (word-scanner.ts): the
 * scan stops there and continues after the closing brace. An element that is never closed extends to the end of the file.
 */
import type { WordScanner } from "./word-scanner.ts";

/** The state with which the scan continues after code in braces. */
export interface JsxHole {
  readonly inTag: boolean;
  /** Elements that are not closed yet. */
  readonly open: number;
  depth: number;
}

/** Whether `<` begins an element, and not a comparison or type parameters. */
export function beginsJsx(text: string, at: number, before: string): boolean {
  if (!/[A-Za-z_$>]/.test(text[at + 1] ?? "")) return false;
  if (/^<[\w$]{1,60}(?:[ \t]*,|[ \t]+extends\b)/.test(text.slice(at, at + 80))) return false;
  return before === "" || /[(,=:[!&|?{};>]$/.test(before) || /^(?:return|default|yield|case|do|else)$/.test(before);
}

/** Returns where code continues: after the element, or inside the next braces. */
export function scanJsx(
  scanner: WordScanner,
  text: string,
  from: number,
  end: number,
  state: { readonly inTag: boolean; readonly open: number },
  holes: (JsxHole | object)[],
): number {
  let { inTag, open } = state;
  let at = from;
  const hole = () => {
    holes.push({ inTag, open, depth: 1 } satisfies JsxHole);
    return at + 1;
  };
  while (at < end) {
    if (inTag) {
      const char = text[at];
      if (char === "{") return hole();
      if (char === '"' || char === "'") {
        const close = scanner.ahead.from(char, at + 1);
        const to = close < 0 ? end : Math.min(end, close);
        scanner.add("quote", at + 1, to);
        at = to + 1;
      } else if (char === ">") {
        inTag = false;
        at += 1;
        if (text[at - 2] !== "/") open += 1;
        else if (open === 0) return at;
      } else at += 1;
      continue;
    }
    const next = nextMark(text, at, end);
    scanner.add("quote", at, next);
    at = next;
    if (at >= end) return end;
    if (text[at] === "{") return hole();
    if (text[at + 1] === "/") {
      const close = scanner.ahead.from(">", at);
      at = close < 0 ? end : Math.min(end, close + 1);
      open -= 1;
      if (open <= 0) return at;
    } else {
      inTag = true;
      at += 1;
    }
  }
  return end;
}

function nextMark(text: string, from: number, end: number): number {
  for (let at = from; at < end; at += 1) if (text[at] === "<" || text[at] === "{") return at;
  return end;
}
