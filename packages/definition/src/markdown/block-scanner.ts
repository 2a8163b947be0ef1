/**
 * Block structure of Markdown, line by line: which lines are headings of the document, which belong to a fenced block. The rules
 * are CommonMark's for lists, quotes, fences, ATX headings, HTML blocks and lazy paragraph lines; `block-scanner.test.ts` holds
 * it against a full CommonMark parser. That parser itself is not used here: on a list of 50,000 items it takes 4.5 s for 200 kB
 * and 14 times as long for ten times the text, where this takes a few milliseconds and stays linear.
 *
 * B1  Work per line is bounded by the line's length and MAX_DEPTH.
 * B2  Underlined (setext) headings are text: a section starts with `#`, a prompt with `##`.
 */
export type Line =
  /** A heading that stands in no list and no quote. */
  | { readonly is: "heading"; readonly level: number; readonly text: string; readonly column: number }
  /** The opening line of a fenced block, and the columns it is indented by. */
  | { readonly is: "fence"; readonly info: string; readonly indent: number }
  /** A line inside the block, or the one that closes it. */
  | { readonly is: "fenced"; readonly closes: boolean }
  | { readonly is: "text" };

/** Lists and quotes inside each other; deeper ones are taken for text. */
const MAX_DEPTH = 64;

type Container =
  | { readonly is: "quote" }
  /** Lines indented by `width` columns belong to the item. `empty`: nothing but its marker so far. */
  | { readonly is: "item"; readonly width: number; empty: boolean };

type Leaf =
  | { readonly is: "none" | "paragraph" }
  | { readonly is: "fence"; readonly marker: string; readonly length: number; readonly indent: number }
  /** null: the block ends at a blank line. */
  | { readonly is: "html"; readonly end: RegExp | null };

const none: Leaf = { is: "none" };
const paragraph: Leaf = { is: "paragraph" };
const text: Line = { is: "text" };
const fenced: Line = { is: "fenced", closes: false };

export class BlockScanner {
  #containers: Container[] = [];
  #leaf: Leaf = none;

  get inFence(): boolean {
    return this.#leaf.is === "fence";
  }

  /** Ends all open blocks, as the end of a document does. */
  reset(): void {
    this.#containers = [];
    this.#leaf = none;
  }

  next(line: string): Line {
    if (this.#containers.length === 0 && this.#leaf.is !== "html") {
      // Most lines of most files: inside a fence and no closing of it, blank, or beginning with a letter.
      if (this.#leaf.is === "fence") {
        if (!line.trimStart().startsWith(this.#leaf.marker)) return fenced;
      } else if (line === "") {
        this.#leaf = none;
        return text;
      } else if (isLetter(line.charCodeAt(0))) {
        this.#leaf = paragraph;
        return text;
      }
    }
    const cursor = new Cursor(line);
    const matched = this.#matchContainers(cursor);
    const all = matched === this.#containers.length;

    if (all && this.#leaf.is === "fence") {
      const closes = closesFence(cursor.rest(), this.#leaf, cursor.indent);
      if (!closes) return fenced;
      this.#leaf = none;
      return { is: "fenced", closes };
    }
    if (all && this.#leaf.is === "html") {
      const { end } = this.#leaf;
      if (end === null ? cursor.blank : end.test(cursor.rest())) this.#leaf = none;
      return text;
    }
    if (cursor.blank) {
      this.#containers.length = matched;
      this.#leaf = none;
      return text;
    }

    const lazy = this.#leaf.is === "paragraph";
    const kept = this.#containers.splice(matched);
    const before = this.#leaf;
    if (!all) this.#leaf = none;
    this.#openContainers(cursor, all && before.is === "paragraph");
    const opened = this.#containers.length > matched;
    const result = this.#openLeaf(cursor, lazy && all && !opened, lazy && !opened);
    if (result === text && lazy && !all && !opened && this.#leaf.is === "paragraph") {
      // A lazy line: it goes on with the paragraph of the containers it does not repeat.
      this.#containers.push(...kept);
    }
    return result;
  }

  /** The text of a line that `next` has just found inside a fence: without its lists, quotes and the fence's own indentation. */
  contentOf(line: string): string {
    if (this.#leaf.is !== "fence") return line;
    if (this.#containers.length === 0 && this.#leaf.indent === 0) return line;
    const cursor = new Cursor(line);
    for (const container of this.#containers) {
      if (container.is === "quote") cursor.takeQuoteMarker();
      else cursor.takeUpTo(container.width);
    }
    cursor.takeUpTo(this.#leaf.indent);
    return cursor.remainder();
  }

  #matchContainers(cursor: Cursor): number {
    let matched = 0;
    for (const container of this.#containers) {
      if (container.is === "quote") {
        if (!cursor.takeQuoteMarker()) break;
      } else if (cursor.blank) {
        if (container.empty) break;
      } else if (cursor.takeIndent(container.width)) {
        container.empty = false;
      } else break;
      matched++;
    }
    return matched;
  }

  #openContainers(cursor: Cursor, inParagraph: boolean): void {
    let interrupts = inParagraph;
    while (this.#containers.length < MAX_DEPTH && !cursor.blank && cursor.indent < 4) {
      if (cursor.takeQuoteMarker()) {
        this.#containers.push({ is: "quote" });
      } else {
        if (isThematicBreak(cursor.rest())) return;
        const width = cursor.takeItemMarker(interrupts);
        if (width === null) return;
        this.#containers.push({ is: "item", width, empty: cursor.blank });
      }
      this.#leaf = none;
      interrupts = false;
    }
  }

  /** `inParagraph`: the line may go on with an open paragraph. `mayBeLazy`: it goes on with one unless a block starts here. */
  #openLeaf(cursor: Cursor, inParagraph: boolean, mayBeLazy: boolean): Line {
    if (cursor.blank) {
      this.#leaf = none;
      return text;
    }
    if (cursor.indent >= 4) {
      // Indented code, unless a paragraph is open.
      this.#leaf = mayBeLazy ? paragraph : none;
      return text;
    }
    const rest = cursor.rest();
    const heading = /^(#{1,6})(?:[ \t](.*))?$/.exec(rest);
    if (heading !== null) {
      this.#leaf = none;
      if (this.#containers.length > 0) return text;
      const level = heading[1]?.length ?? 1;
      return { is: "heading", level, text: headingText(heading[2] ?? ""), column: cursor.at + 1 };
    }
    const fence = opensFence(rest);
    if (fence !== null) {
      this.#leaf = { is: "fence", marker: fence.marker, length: fence.length, indent: cursor.indent };
      return { is: "fence", info: fence.info, indent: cursor.indent };
    }
    const html = opensHtml(rest, mayBeLazy);
    if (html !== null) {
      this.#leaf = html.end?.test(rest) ? none : html;
      return text;
    }
    if (isThematicBreak(rest) || (inParagraph && /^(?:=+|-+)[ \t]*$/.test(rest))) {
      this.#leaf = none;
      return text;
    }
    this.#leaf = paragraph;
    return text;
  }
}

/** A place in a line, in characters and in columns: a tab reaches to the next multiple of four. */
class Cursor {
  readonly #line: string;
  at = 0;
  #column = 0;
  /** Columns of a tab of which only a part was taken. */
  #pending = 0;
  #indent = 0;
  #first = 0;

  constructor(line: string) {
    this.#line = line;
    this.#measure();
  }

  /** Columns of white space from here. */
  get indent(): number {
    return this.#indent;
  }

  get blank(): boolean {
    return this.#first >= this.#line.length;
  }

  /** From the first character that is no white space; the cursor moves there. */
  rest(): string {
    this.at = this.#first;
    return this.#line.slice(this.#first);
  }

  takeIndent(columns: number): boolean {
    if (this.#indent < columns) return false;
    this.#advance(columns);
    return true;
  }

  /** White space of at most so many columns. */
  takeUpTo(columns: number): void {
    this.#advance(Math.min(columns, this.#indent));
  }

  /** From here on, the rest of a tab of which a part was taken as spaces. */
  remainder(): string {
    return " ".repeat(this.#pending) + this.#line.slice(this.at);
  }

  takeQuoteMarker(): boolean {
    if (this.#indent > 3 || this.#line[this.#first] !== ">") return false;
    this.#skip(1);
    if (this.#indent > 0) this.#advance(1);
    return true;
  }

  /** Columns that lines of the item are indented by; null when no item starts here. */
  takeItemMarker(interruptsParagraph: boolean): number | null {
    const marker = /^(?:[-+*]|(\d{1,9})[.)])(?=[ \t]|$)/.exec(this.#line.slice(this.#first, this.#first + 11));
    if (marker === null) return null;
    const bare = /^[ \t]*$/.test(this.#line.slice(this.#first + marker[0].length, this.#first + marker[0].length + 64));
    if (interruptsParagraph && (bare || (marker[1] !== undefined && Number(marker[1]) !== 1))) return null;
    const before = this.#indent;
    this.#skip(marker[0].length);
    if (this.blank) return before + marker[0].length + 1;
    const padding = this.#indent > 4 ? 1 : this.#indent;
    this.#advance(padding);
    return before + marker[0].length + padding;
  }

  #skip(characters: number): void {
    this.#column += this.#indent + characters;
    this.#pending = 0;
    this.at = this.#first + characters;
    this.#measure();
  }

  #advance(columns: number): void {
    let left = columns;
    while (left > 0) {
      if (this.#pending === 0) {
        this.#pending = this.#line[this.at] === "\t" ? 4 - (this.#column % 4) : 1;
        this.at++;
      }
      const taken = Math.min(left, this.#pending);
      this.#pending -= taken;
      this.#column += taken;
      left -= taken;
    }
    this.#measure();
  }

  #measure(): void {
    let first = this.at;
    let column = this.#column + this.#pending;
    for (; first < this.#line.length; first++) {
      const character = this.#line[first];
      if (character === " ") column += 1;
      else if (character === "\t") column += 4 - (column % 4);
      else break;
    }
    this.#first = first;
    this.#indent = column - this.#column;
  }
}

function isLetter(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a);
}

/** Without the closing hashes. */
function headingText(raw: string): string {
  const trimmed = raw.trim();
  const closing = /(?:^|[ \t])#+$/.exec(trimmed.slice(-200));
  return closing === null ? trimmed : trimmed.slice(0, trimmed.length - closing[0].length).trimEnd();
}

function opensFence(rest: string): { marker: string; length: number; info: string } | null {
  const marker = rest[0];
  if (marker !== "`" && marker !== "~") return null;
  let length = 1;
  while (rest[length] === marker) length++;
  if (length < 3) return null;
  const info = rest.slice(length).trim();
  if (marker === "`" && info.includes("`")) return null;
  return { marker, length, info };
}

function closesFence(rest: string, fence: { marker: string; length: number }, indent: number): boolean {
  if (indent > 3) return false;
  const bare = rest.trimEnd();
  if (bare.length < fence.length) return false;
  for (const character of bare) if (character !== fence.marker) return false;
  return true;
}

function isThematicBreak(rest: string): boolean {
  const marker = rest[0];
  if (marker !== "-" && marker !== "*" && marker !== "_") return false;
  let count = 0;
  for (const character of rest) {
    if (character === marker) count++;
    else if (character !== " " && character !== "\t") return false;
  }
  return count >= 3;
}

const htmlBlocks: readonly { readonly start: RegExp; readonly end: RegExp | null }[] = [
  { start: /^<(?:script|pre|style|textarea)(?:[\s>]|$)/i, end: /<\/(?:script|pre|style|textarea)>/i },
  { start: /^<!--/, end: /-->/ },
  { start: /^<\?/, end: /\?>/ },
  { start: /^<![A-Za-z]/, end: />/ },
  { start: /^<!\[CDATA\[/, end: /\]\]>/ },
  {
    start:
      /^<\/?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?:[\s>]|\/>|$)/i,
    end: null,
  },
];
const loneTag =
  /^(?!<\/?(?:script|pre|style|textarea)\b)(?:<[A-Za-z][A-Za-z0-9-]*(?:\s+[A-Za-z_:][\w.:-]*(?:\s*=\s*(?:[^\s"'=<>`]+|'[^']*'|"[^"]*"))?)*\s*\/?>|<\/[A-Za-z][A-Za-z0-9-]*\s*>)\s*$/i;

function opensHtml(rest: string, inParagraph: boolean): Extract<Leaf, { is: "html" }> | null {
  if (rest[0] !== "<") return null;
  for (const { start, end } of htmlBlocks) if (start.test(rest.slice(0, 64))) return { is: "html", end };
  if (!inParagraph && rest.length <= 1000 && loneTag.test(rest)) return { is: "html", end: null };
  return null;
}
