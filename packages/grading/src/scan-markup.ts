/** Finds words in HTML, XML and similar markup, and around PHP programs (strip-words.ts). */
import { type Grammar, script, styles } from "./word-grammars.ts";
import type { WordScanner } from "./word-scanner.ts";

/** Keeps tags and the names in them. Removes text between tags. Scripts and styles are read with their own grammar. */
export function scanMarkup(scanner: WordScanner, text: string, from = 0, end = text.length): void {
  let at = from;
  while (at < end) {
    const next = scanner.ahead.from("<", at);
    const tag = next < 0 ? end : Math.min(end, next);
    addText(scanner, text, at, tag);
    at = tag;
    if (at >= end) return;
    if (text.startsWith("<!--", at)) {
      const to = behind(scanner, "-->", at + 4, end);
      scanner.add("comment", at, to);
      at = to;
    } else if (/[!?]/.test(text[at + 1] ?? "")) {
      // This is a declaration, a processing instruction or a CDATA section.
      const to = behind(scanner, text.startsWith("<![CDATA[", at) ? "]]>" : ">", at + 2, end);
      scanner.add("quote", at + 1, to);
      at = to;
    } else if (/[A-Za-z/]/.test(text[at + 1] ?? "")) {
      const to = scanTag(scanner, text, at, end);
      const embedded = /^<(script|style)\b/i.exec(text.slice(at, at + 8))?.[1]?.toLowerCase();
      at = to;
      if (embedded !== undefined) {
        const close = closingTag(text, embedded, to, end);
        scanner.scan(embedded === "style" ? styles : script, to, close);
        at = close;
      }
    } else {
      scanner.add("quote", at, at + 1);
      at += 1;
    }
  }
}

/** Reads programs with the grammar, and all text around them as markup. */
export function scanPhp(scanner: WordScanner, grammar: Grammar, text: string): void {
  // Scans one piece of a program, without its delimiters.
  if (!text.includes("<?")) return scanner.scan(grammar, 0, text.length);
  let at = 0;
  if (text.startsWith("#!")) {
    at = text.indexOf("<?");
    scanner.add("comment", 0, at);
  }
  while (at < text.length) {
    const found = text.indexOf("<?", at);
    const open = found < 0 ? text.length : found;
    scanMarkup(scanner, text, at, open);
    if (open >= text.length) return;
    const begin = open + (/^<\?(?:php\b|=)?/i.exec(text.slice(open, open + 6))?.[0].length ?? 2);
    const close = text.indexOf("?>", begin);
    const end = close < 0 ? text.length : close;
    scanner.scan(grammar, begin, end);
    at = Math.min(text.length, end + 2);
  }
}

function addText(scanner: WordScanner, text: string, from: number, to: number): void {
  if (to > from && text.slice(from, to).trim() !== "") scanner.add("quote", from, to);
}

function behind({ ahead }: WordScanner, mark: string, from: number, end: number): number {
  const found = ahead.from(mark, from);
  return found < 0 ? end : Math.min(end, found + mark.length);
}

/** Closing tags match in upper and lower case. */
function closingTag(text: string, name: string, from: number, end: number): number {
  const pattern = new RegExp(`</${name}`, "gi");
  pattern.lastIndex = from;
  const found = pattern.exec(text)?.index ?? end;
  return Math.min(found, end);
}

/** Keeps names of elements and of attributes with a value. Returns where the tag ends. */
function scanTag(scanner: WordScanner, text: string, from: number, end: number): number {
  let at = from + 1;
  while (at < end && /[\w:/.-]/.test(text[at] ?? "")) at += 1;
  while (at < end && text[at] !== ">") {
    const mark = text[at];
    if (mark === '"' || mark === "'") {
      const close = scanner.ahead.from(mark, at + 1);
      const to = close < 0 ? end : Math.min(end, close);
      scanner.add("quote", at + 1, to);
      at = to + 1;
    } else if (/[\s/=]/.test(mark ?? "")) at += 1;
    else {
      const begin = at;
      while (at < end && !/[\s"'>/=]/.test(text[at] ?? "")) at += 1;
      const named = text[at] === "=" && text[begin - 1] !== "=";
      if (!named && !known.test(text.slice(begin, at))) scanner.add("quote", begin, at);
      if (at === begin) at += 1;
    }
  }
  return Math.min(end, at + 1);
}

/** Attributes without a value, and short values without quotes. */
const known =
  /^(?:checked|disabled|selected|required|readonly|multiple|hidden|async|defer|autofocus|autoplay|controls|loop|muted|open|reversed|scoped|setup|lang|novalidate|\d+(?:px|em|%)?)$/i;
