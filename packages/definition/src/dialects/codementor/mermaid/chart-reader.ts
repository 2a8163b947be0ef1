/** Functions that all parts of the grammar share: findings, the end of a statement, ids and captions. */
import type { Finding } from "../../../finding.ts";
import type { WorkflowCode } from "../workflow-codes.ts";
import {
  backtick,
  closeBrace,
  closeBracket,
  closeParenthesis,
  dash,
  dot,
  greater,
  isBlank,
  isIdCode,
  isIdStart,
  newline,
  openBrace,
  openBracket,
  openParenthesis,
  percent,
  quote,
  semicolon,
} from "./character-codes.ts";
import { decodeCaption } from "./decode-caption.ts";
import type { TextCursor } from "./text-cursor.ts";

/** The highest number of findings, so that a megabyte of invalid text does not create an endless list. No person reads more at once. */
const mostFindings = 1_000;

/** A decoded text and its position. */
export interface CaptionText {
  readonly text: string;
  readonly offset: number;
  /** Offset of the first literal `\n` that became a line break. */
  readonly escapedBreak: number | null;
}

export class ChartReader {
  readonly cursor: TextCursor;
  readonly findings: Finding[] = [];
  #unlisted: { count: number; readonly offset: number } | null = null;

  constructor(cursor: TextCursor) {
    this.cursor = cursor;
  }

  report(code: WorkflowCode, offset: number, message: string, fix: string): void {
    if (this.findings.length < mostFindings) {
      this.findings.push({ severity: "error", code, message, fix, at: this.cursor.place(offset) });
      return;
    }
    this.#unlisted ??= { count: 0, offset };
    this.#unlisted.count++;
  }

  /** Must be called once, at the end. */
  reportUnlisted(): void {
    if (this.#unlisted === null) return;
    this.findings.push({
      severity: "error",
      code: "MERMAID_TOO_MANY_FINDINGS",
      message: `${this.#unlisted.count} more findings from here on are not listed`,
      fix: "correct the earlier ones, then validate again",
      at: this.cursor.place(this.#unlisted.offset),
    });
  }

  /** The beginning of the text at the cursor, up to the end of the line. */
  excerpt(): string {
    const { position } = this.cursor;
    return shorten(this.cursor.slice(position, Math.min(this.cursor.lineEnd(), position + 40)).trimEnd());
  }

  /** Skips to the end of the line, to a comment, or to a `;` outside quotes and brackets. */
  skipStatement(): void {
    const cursor = this.cursor;
    let depth = 0;
    let isQuoted = false;
    for (; !cursor.atEnd; cursor.position++) {
      const code = cursor.code();
      if (code === newline) return;
      if (code === quote) isQuoted = !isQuoted;
      else if (isQuoted) continue;
      else if (code === percent && cursor.has("%%")) return;
      else if (code === openBracket || code === openParenthesis || code === openBrace) depth++;
      else if (code === closeBracket || code === closeParenthesis || code === closeBrace)
        depth = Math.max(0, depth - 1);
      else if (code === semicolon && depth === 0) return;
    }
  }

  endsStatement(offset: number): boolean {
    const code = this.cursor.code(offset);
    return code === -1 || code === newline || code === semicolon || this.cursor.has("%%", offset);
  }

  atStatementEnd(): boolean {
    return this.endsStatement(this.cursor.position);
  }

  expectStatementEnd(what: string): void {
    this.cursor.skipBlanks();
    if (!this.atStatementEnd()) this.reportTextAfter(what);
  }

  reportTextAfter(what: string): void {
    this.report(
      "MERMAID_TEXT_AFTER_STATEMENT",
      this.cursor.position,
      `unexpected \`${this.excerpt()}\` after ${what}`,
      'put each statement on a line of its own, and quote a caption that contains its own closing bracket: ["…"]',
    );
    this.skipStatement();
  }

  afterBlanks(offset: number): number {
    let after = offset;
    while (isBlank(this.cursor.code(after))) after++;
    return after;
  }

  /**
   * Returns the offset after the id that starts here, or the same offset if there is no id. A dash is part of the id unless an arrow begins
   * with it.
   */
  endOfId(offset: number): number {
    const cursor = this.cursor;
    if (!isIdStart(cursor.code(offset))) return offset;
    let end = offset + 1;
    for (;;) {
      const code = cursor.code(end);
      if (!isIdCode(code)) {
        const next = cursor.code(end + 1);
        if (code !== dash || next === dash || next === dot || next === greater || next === -1) return end;
      }
      end++;
    }
  }

  /** Returns the decoded text of [from, to) without outer white space, and its position. */
  caption(from: number, to: number, escapes = false): CaptionText {
    const cursor = this.cursor;
    let start = from;
    let end = to;
    while (start < end && isBlankOrLine(cursor.code(start))) start++;
    while (end > start && isBlankOrLine(cursor.code(end - 1))) end--;
    const { text, escapedBreak } = decodeCaption(cursor.slice(start, end), escapes);
    return {
      text,
      offset: start === end ? from : start,
      escapedBreak: escapedBreak === null ? null : start + escapedBreak,
    };
  }

  /**
   * Reads a text in double quotes at `start`; it may have several lines. After its end and optional blanks, `isEnd` must accept the
   * position `after`. Returns null if the text is not quoted as a whole.
   */
  readQuoted(start: number, isEnd: (after: number) => boolean): { caption: CaptionText; after: number } | null {
    const cursor = this.cursor;
    if (cursor.code(start) !== quote) return null;
    const end = cursor.find('"', start + 1);
    if (end < 0) return null;
    const after = this.afterBlanks(end + 1);
    if (!isEnd(after)) return null;
    const isMarkdown = end - start > 2 && cursor.code(start + 1) === backtick && cursor.code(end - 1) === backtick;
    return { caption: isMarkdown ? this.caption(start + 2, end - 1) : this.caption(start + 1, end), after };
  }
}

export function shorten(text: string): string {
  return text.length > 30 ? `${text.slice(0, 29)}…` : text;
}

function isBlankOrLine(code: number): boolean {
  return isBlank(code) || code === newline;
}
