/**
 * A position in a text, with places for findings and linear look-ahead.
 *
 * Invariant 1: all forward searches of a parse together cost O(text). The last result for each needle is cached. An opener that is never
 * closed, repeated on every line, therefore does not scan to the end on every line.
 */
import type { Place } from "../../../finding.ts";
import { isBlank, newline } from "./character-codes.ts";

export interface Origin {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export class TextCursor {
  readonly text: string;
  position = 0;
  readonly #origin: Origin;
  readonly #lineStarts: number[] = [0];
  readonly #ahead = new Map<string, { from: number; found: number }>();

  constructor(text: string, origin: Origin) {
    this.text = text;
    this.#origin = origin;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) this.#lineStarts.push(at + 1);
  }

  get atEnd(): boolean {
    return this.position >= this.text.length;
  }

  /** The UTF-16 unit at an offset; -1 outside the text. */
  code(offset = this.position): number {
    return offset >= 0 && offset < this.text.length ? this.text.charCodeAt(offset) : -1;
  }

  has(token: string, offset = this.position): boolean {
    return this.text.startsWith(token, offset);
  }

  slice(from: number, to: number): string {
    return this.text.slice(from, to);
  }

  /** The offset of the next occurrence at or after `from`; -1 if there is none. */
  find(needle: string, from: number): number {
    const known = this.#ahead.get(needle);
    if (known !== undefined && from >= known.from && (known.found < 0 || known.found >= from)) return known.found;
    const found = this.text.indexOf(needle, from);
    if (known === undefined) this.#ahead.set(needle, { from, found });
    else {
      known.from = from;
      known.found = found;
    }
    return found;
  }

  lineEnd(from = this.position): number {
    const found = this.find("\n", from);
    return found < 0 ? this.text.length : found;
  }

  skipBlanks(): void {
    while (isBlank(this.code())) this.position++;
  }

  skipBlanksAndLines(): void {
    while (isBlank(this.code()) || this.code() === newline) this.position++;
  }

  place(offset: number): Place {
    let low = 0;
    let high = this.#lineStarts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#lineStarts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return {
      file: this.#origin.file,
      line: this.#origin.line + low,
      column: this.#origin.column + offset - (this.#lineStarts[low] ?? 0),
    };
  }
}
