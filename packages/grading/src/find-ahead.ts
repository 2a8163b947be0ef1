/**
 * Finds the next occurrence of a mark in a text. If the requested positions never go back, each mark costs one pass over the text in total.
 */
export class FindAhead {
  readonly #text: string;
  readonly #found = new Map<string, number>();

  constructor(text: string) {
    this.#text = text;
  }

  /** Below 0: the mark does not occur again. */
  from(mark: string, at: number): number {
    const known = this.#found.get(mark);
    if (known !== undefined && (known < 0 || known >= at)) return known;
    const found = this.#text.indexOf(mark, at);
    this.#found.set(mark, found);
    return found;
  }
}
