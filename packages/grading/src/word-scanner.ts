/** Reads a program once and records where comments and texts in quotes are (strip-words.ts). */
import { FindAhead } from "./find-ahead.ts";
import { lineAt } from "./line-at.ts";
import { beginsJsx, type JsxHole, scanJsx } from "./scan-jsx.ts";
import { beginsRegex, regexEnd, unsure } from "./slash-in-script.ts";
import { trimEnd } from "./trim-end.ts";
import type { Grammar, Quote } from "./word-grammars.ts";

/** The limit for one line. */
const MOST_HEREDOCS = 8;

interface Span {
  readonly from: number;
  readonly to: number;
  readonly is: "comment" | "quote";
}

type Hole = { readonly quote: Quote; depth: number } | JsxHole;

export class WordScanner {
  readonly #text: string;
  readonly ahead: FindAhead;
  /** The spans are in order and do not overlap. */
  readonly #spans: Span[] = [];
  /** The starts of lines that can close a text, by the closing name. Later lines come first in each list. Built on first use. */
  #closings: Map<string, number[]> | null = null;

  constructor(text: string) {
    this.#text = text;
    this.ahead = new FindAhead(text);
  }

  add(is: Span["is"], from: number, to: number): void {
    if (to > from) this.#spans.push({ from, to, is });
  }

  without(...kinds: readonly Span["is"][]): string {
    const parts: string[] = [];
    let at = 0;
    for (const { from, to, is } of this.#spans) {
      if (!kinds.includes(is)) continue;
      parts.push(this.#text.slice(at, from), this.#text.slice(from, to).replaceAll(/[^\n]/g, " "));
      at = to;
    }
    return [...parts, this.#text.slice(at)].join("");
  }

  scan(grammar: Grammar, from: number, end: number): void {
    const text = this.#text;
    /** Number of open braces since each template hole, or JSX hole, began. */
    const holes: Hole[] = [];
    let lineStart = true;
    let before = "";
    /** The text before the last word. */
    let earlier = "";
    let at = from;
    if (from === 0 && text.startsWith("#!")) {
      at = Math.min(end, lineEnd(text, 0));
      this.add("comment", 0, at);
    }
    /** For each open bracket: whether it holds a condition. null: a bracket was lost, so the answer is unknown. */
    let brackets: boolean[] | null = [];
    let closed: boolean | null = false;
    const awaited: string[] = [];
    const skip = (to: number) => {
      at = Math.min(Math.max(to, at + 1), end);
    };
    while (at < end) {
      const char = text[at] ?? "";
      if (char === "\n") {
        lineStart = true;
        at += 1;
        for (const name of awaited.splice(0)) at = this.#heredoc(name, at, end);
        continue;
      }
      if (char === " " || char === "\t") {
        at += 1;
        continue;
      }
      if (lineStart && char === "_" && grammar.ends?.test(lineAt(text, at)) === true) {
        this.add("comment", at, end);
        return;
      }
      const hole = holes.at(-1);
      if (hole !== undefined && (char === "{" || char === "}")) {
        hole.depth += char === "{" ? 1 : -1;
        if (hole.depth === 0) {
          holes.pop();
          skip(
            "quote" in hole
              ? this.#quote(hole.quote, at + 1, at + 1, end, holes)
              : scanJsx(this, text, at + 1, end, hole, holes),
          );
          [before, lineStart] = ["`", false];
          continue;
        }
      }
      const comment = this.#named(grammar, at, end, true)?.end ?? this.#comment(grammar, at, end, lineStart);
      if (comment !== null) {
        this.add("comment", at, comment);
        skip(comment);
        continue;
      }
      const word = this.#wordsAt(grammar, at, end);
      if (word > at) {
        this.add("quote", at, word);
        skip(word);
        [before, lineStart] = ['"', false];
        continue;
      }
      if (grammar.jsx === true && char === "<" && beginsJsx(text, at, before)) {
        skip(scanJsx(this, text, at, end, { inTag: false, open: 0 }, holes));
        [before, lineStart] = ["`", false];
        continue;
      }
      const name = grammar.heredoc === undefined || char !== "<" ? undefined : idAt(grammar.heredoc, text, at);
      if (name !== undefined && awaited.length < MOST_HEREDOCS) awaited.push(name);
      const named = this.#named(grammar, at, end, false);
      if (named !== null) {
        this.add("quote", named.from, named.to);
        skip(named.end);
        [before, lineStart] = ['"', false];
        continue;
      }
      const quote = grammar.quotes?.find((one) => this.#opens(one, at));
      if (quote !== undefined) {
        const first = at;
        const inner = at + quote.open.length;
        const count = this.#spans.length;
        skip(this.#quote(quote, inner, inner, end, holes));
        if (grammar.docstrings === true && lineStart && this.#standsAlone(at, end)) {
          this.#spans.length = count;
          this.add("comment", first, at);
        }
        [before, lineStart] = [quote.close, false];
        continue;
      }
      if (grammar.regex === true && char === "/") {
        const begins = beginsRegex(before, earlier, closed);
        if (begins === true) {
          const close = regexEnd(text, at, end);
          this.add("quote", at + 1, close);
          skip(text[close] === "/" ? close + 1 : close);
          [before, lineStart, closed] = [")", false, false];
          continue;
        }
        if (begins === null) {
          const { from, to } = unsure(text, at, end);
          this.add("comment", from, to);
          skip(Math.max(from, to));
          if (to > from) brackets = null;
          [before, lineStart] = ["a", false];
          continue;
        }
      }
      if (grammar.regex === true && char === "(") brackets?.push(/^(?:if|while|for|with|await)$/.test(before));
      if (grammar.regex === true && char === ")") closed = brackets === null ? null : (brackets.pop() ?? null);
      if (!/[\w$]/.test(text[at - 1] ?? "")) earlier = before;
      before =
        /[\w$]/.test(char) && /[\w$]$/.test(before) && /[\w$]/.test(text[at - 1] ?? "")
          ? (before + char).slice(-12)
          : char;
      lineStart = false;
      at += 1;
    }
  }

  /** Returns where a comment that begins here ends. null: no comment begins here. */
  #comment(grammar: Grammar, at: number, end: number, lineStart: boolean): number | null {
    const text = this.#text;
    for (const [open, close] of grammar.block ?? []) {
      if (!text.startsWith(open, at)) continue;
      if (open.startsWith("=") && text[at - 1] !== "\n" && at > 0) continue;
      if (grammar.nested === true) return nestedEnd(text, at, end, open, close);
      const found = this.ahead.from(close, at + open.length);
      return found < 0 ? end : Math.min(end, found + close.length);
    }
    const begins = (mark: string) =>
      text.startsWith(mark, at) && (grammar.lineBeginsWord !== true || /^\s?$/.test(text[at - 1] ?? ""));
    const firsts = (mark: string) => lineStart && text.slice(at, at + mark.length).toLowerCase() === mark;
    if (grammar.preprocessor === true && lineStart && text[at] === "#" && never.test(lineAt(text, at)))
      return Math.min(end, neverEnd(text, at));
    if (grammar.preprocessor === true && text[at] === "/") {
      // A line end can split the mark of a comment.
      const second = /^\/(?:(?:\\|\?\?\/)[ \t\r]*\n){1,8}([/*])/.exec(text.slice(at, at + 60));
      if (second?.[1] === "/") return Math.min(end, splicedEnd(text, at + second[0].length));
      if (second?.[1] === "*") {
        const close = text.indexOf("*/", at + second[0].length);
        return close < 0 ? end : Math.min(end, close + 2);
      }
    }
    if (!grammar.line?.some(begins) && !grammar.first?.some(firsts)) return null;
    return Math.min(end, grammar.preprocessor === true ? splicedEnd(text, at) : lineEnd(text, at));
  }

  /** Returns where words that begin here end, or `at` if none begin here. */
  #wordsAt({ directive, words = [], preprocessor }: Grammar, at: number, end: number): number {
    if (directive !== undefined && /[#%?]/.test(this.#text[at] ?? "")) {
      directive.lastIndex = at;
      const found = directive.exec(this.#text)?.[0].length ?? 0;
      if (found > 0) {
        const to = preprocessor === true ? splicedEnd(this.#text, at + found) : lineEnd(this.#text, at + found);
        return Math.min(end, to);
      }
    }
    for (const pattern of words) {
      pattern.lastIndex = at;
      const found = pattern.exec(this.#text)?.[0].length ?? 0;
      if (found > 0) return Math.min(end, at + found);
    }
    return at;
  }

  /** Reads a text or a comment whose opening mark names its closing mark. Brackets in that name count. */
  #named(
    grammar: Grammar,
    at: number,
    end: number,
    comments: boolean,
  ): { readonly from: number; readonly to: number; readonly end: number } | null {
    for (const { open, close, comment, closed } of grammar.named ?? []) {
      if ((comment === true) !== comments) continue;
      open.lastIndex = at;
      const match = open.exec(this.#text);
      if (match === null) continue;
      const from = at + match[0].length;
      const id = match.groups?.["id"] ?? "";
      const mark = close(id);
      const found = bracketed(id, mark) ? closingOf(this.#text, from, end, id, mark) : this.ahead.from(mark, from);
      if (found < 0 && closed === true) continue;
      const to = found < 0 ? end : Math.min(end, found);
      return { from, to, end: Math.min(end, to + mark.length) };
    }
    return null;
  }

  /** Returns the start of the line after the closing name. If no line has that name, returns `from`. */
  #heredoc(name: string, from: number, end: number): number {
    this.#closings ??= closingsOf(this.#text);
    // Positions are requested in ascending order, so earlier entries are no longer needed.
    const places = this.#closings.get(name) ?? [];
    while ((places.at(-1) ?? Number.POSITIVE_INFINITY) < from) places.pop();
    const at = places.at(-1);
    if (at === undefined || at >= end) return from;
    this.add("quote", from, at);
    return Math.min(end, at + lineAt(this.#text, at).length);
  }

  #opens(quote: Quote, at: number): boolean {
    if (!this.#text.startsWith(quote.open, at)) return false;
    return quote.char !== true || /^'(?:\\[^\n']{1,10}|\\'|[^'\\\n]{1,2})'/.test(this.#text.slice(at, at + 14));
  }

  /** Returns where the text that begins at `from` ends, including its closing mark. */
  #quote(
    { open, close, escape: escapes, long, doubled, holes: hasHoles }: Quote,
    from: number,
    start: number,
    end: number,
    holes: Hole[],
  ): number {
    const text = this.#text;
    let at = start;
    while (at < end) {
      const char = text[at];
      if (escapes === true && char === "\\") at += 2;
      else if (char === "\n" && long !== true) break;
      else if (hasHoles === true && text.startsWith("${", at)) {
        this.add("quote", from, at);
        holes.push({ quote: { open, close, escape: true, long: true, holes: true }, depth: 1 });
        return at + 2;
      } else if (text.startsWith(close, at)) {
        if (doubled === true && text.startsWith(close, at + close.length)) at += 2 * close.length;
        else {
          this.add("quote", from, Math.min(at, end));
          return Math.min(end, at + close.length);
        }
      } else at += 1;
    }
    this.add("quote", from, Math.min(at, end));
    return Math.min(at, end);
  }

  #standsAlone(at: number, end: number): boolean {
    for (let index = at; index < end; index += 1) {
      const char = this.#text[index];
      if (char === "\n" || char === ";" || char === "#") return true;
      if (char !== " " && char !== "\t") return false;
    }
    return true;
  }
}

function nestedEnd(text: string, from: number, end: number, open: string, close: string): number {
  let depth = 1;
  let at = from + open.length;
  while (at < end && depth > 0) {
    if (text.startsWith(close, at)) {
      depth -= 1;
      at += close.length;
    } else if (text.startsWith(open, at)) {
      depth += 1;
      at += open.length;
    } else at += 1;
  }
  return Math.min(at, end);
}

function bracketed(open: string, close: string): boolean {
  return open.length === 1 && close.length === 1 && open !== close;
}

/** Returns where the bracket that was opened before `from` closes. Below 0: nowhere. */
function closingOf(text: string, from: number, end: number, open: string, close: string): number {
  let depth = 1;
  for (let at = from; at < end; at += 1) {
    const char = text[at];
    if (char === "\\") at += 1;
    else if (char === open) depth += 1;
    else if (char === close) depth -= 1;
    if (depth === 0) return at;
  }
  return -1;
}

function lineEnd(text: string, at: number): number {
  const found = text.indexOf("\n", at);
  return found < 0 ? text.length : found;
}

/** The end of a line, including lines that a backslash or its trigraph continues. */
function splicedEnd(text: string, at: number): number {
  let found = lineEnd(text, at);
  while (found < text.length && /(?:\\|\?\?\/)[ \t\r]*$/.test(text.slice(Math.max(at, found - 10), found)))
    found = lineEnd(text, found + 1);
  return found;
}

function closingsOf(text: string): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (let at = 0; at < text.length; ) {
    const line = lineAt(text, at);
    const name = trimEnd(line.trim(), /[;,)]/);
    const places = found.get(name);
    if (places !== undefined) places.push(at);
    else if (/^[A-Za-z_]\w*$/.test(name)) found.set(name, [at]);
    at += line.length + 1;
  }
  for (const places of found.values()) places.reverse();
  return found;
}

function idAt(sticky: RegExp, text: string, at: number): string | undefined {
  sticky.lastIndex = at;
  return sticky.exec(text)?.groups?.["id"];
}

const never = /^#[ \t]*if(?=[ \t(])[ \t]*(?:\([ \t]*)?(?:0|false)\b/;

/** Returns where a part that is never compiled ends. */
function neverEnd(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; ) {
    const line = lineAt(text, at);
    const word = /^[ \t]*#[ \t]*(if|else|elif|endif)/.exec(line)?.[1];
    if (word === "if") depth += 1;
    if (word === "endif") depth -= 1;
    if (depth === 0 || (depth === 1 && (word === "else" || word === "elif"))) return at + line.length;
    at += line.length + 1;
  }
  return text.length;
}
