/** Words in HTML, XML and their like (strip-words.ts). */
import { script } from "./word-grammars.ts";
import type { WordScanner } from "./word-scanner.ts";

/** Tags and what stands between them; scripts and styles by their own grammar; texts in quotes inside a tag. */
export function scanMarkup(scanner: WordScanner, text: string): void {
  let at = text.indexOf("<");
  while (at >= 0) {
    if (text.startsWith("<!--", at)) {
      const close = text.indexOf("-->", at + 4);
      const end = close < 0 ? text.length : close + 3;
      scanner.add("comment", at, end);
      at = end;
    } else if (/[A-Za-z/]/.test(text[at + 1] ?? "")) {
      const end = scanTag(scanner, text, at);
      const embedded = /^<(script|style)\b/i.exec(text.slice(at, at + 8))?.[1]?.toLowerCase();
      if (embedded === undefined) at = end;
      else {
        const close = text.indexOf(`</${embedded}`, end);
        at = close < 0 ? text.length : close;
        scanner.scan(script, end, at);
      }
    } else at += 1;
    at = text.indexOf("<", at);
  }
}

/** Where the tag ends. */
function scanTag(scanner: WordScanner, text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== ">") {
    const mark = text[at];
    if (mark === '"' || mark === "'") {
      const close = text.indexOf(mark, at + 1);
      const end = close < 0 ? text.length : close;
      scanner.add("quote", at + 1, end);
      at = end;
    }
    at += 1;
  }
  return Math.min(text.length, at + 1);
}
