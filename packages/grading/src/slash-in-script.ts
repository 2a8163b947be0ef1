/** Decides whether a slash in JavaScript divides or begins a pattern, without a parser (strip-words.ts). */
import { lineAt } from "./line-at.ts";

/**
 * After a value a slash divides; otherwise it begins a pattern. null: only a parser can decide. `closed`: the last bracket held a
 * condition.
 */
export function beginsRegex(before: string, earlier: string, closed: boolean | null): boolean | null {
  if (before === "" || /[(,=:[!&|?{;*%~^]$/.test(before)) return true;
  if (before === ")") return closed === false ? false : null;
  if (/[}<>+-]$/.test(before)) return null;
  if (/^(?:return|typeof|case|in|do|else|void|delete|throw|new|instanceof)$/.test(before))
    return /[.?#]/.test(earlier) ? null : true;
  return /^(?:of|await|yield|let|static|get|set|async)$/.test(before) ? null : false;
}

/**
 * The text to remove where it is unclear whether a slash divides or begins a pattern: the rest of the line after one plain word or number.
 * If either reading could leave a text or a comment open at the end of the line, it is all text that follows.
 */
export function unsure(text: string, at: number, end: number): { readonly from: number; readonly to: number } {
  const rest = lineAt(text, at + 1).slice(0, end - at - 1);
  const to = at + 1 + rest.length;
  // A pattern ends on its line.
  if (!rest.includes("/")) return { from: at + 1, to: at + 1 };
  const kept = /^=?[ \t]*[\w$.]{0,40}/.exec(rest)?.[0].length ?? 0;
  const opens = rest.lastIndexOf("/*");
  const open = opens >= 0 && rest.lastIndexOf("*/") < opens + 2;
  return { from: at + 1 + kept, to: open || rest.includes("`") || /\\\s*$/.test(rest) ? end : to };
}

/** The index of the closing slash, or the end of the line if there is none, which is an invalid program. */
export function regexEnd(text: string, from: number, end: number): number {
  let inClass = false;
  for (let at = from + 1; at < end; at += 1) {
    const char = text[at];
    if (char === "\n") return at;
    if (char === "\\" && text[at + 1] !== "\n") at += 1;
    else if (char === "[") inClass = true;
    else if (char === "]") inClass = false;
    else if (char === "/" && !inClass) return at;
  }
  return end;
}
