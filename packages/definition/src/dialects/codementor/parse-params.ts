/**
 * Parses the text of a PARAMS node: `NAME` (required) or `NAME=default` (optional), separated by commas or line breaks. A default in quotes
 * may contain both. One matching pair of quotes is removed.
 */
export interface ParamItem {
  readonly name: string;
  readonly default: string | null;
  /** The position of the item in the text. */
  readonly offset: number;
}

export function parseParams(text: string): ParamItem[] {
  const items: ParamItem[] = [];
  const quotes = new ClosingQuotes(text);
  let at = 0;
  while (at <= text.length) {
    const start = at;
    const name = untilSeparator(text, at, "=");
    at = name;
    let value: string | null = null;
    if (text.charAt(at) === "=") {
      const quoted = readQuotedDefault(text, at + 1, quotes);
      const end = quoted?.end ?? untilSeparator(text, at + 1);
      value = quoted?.text ?? text.slice(at + 1, end).trim();
      at = end;
    }
    const written = text.slice(start, name);
    if (written.trim() !== "" || value !== null)
      items.push({ name: written.trim(), default: value, offset: start + written.length - written.trimStart().length });
    at += text.startsWith("\\n", at) ? 2 : 1;
  }
  return items;
}

/** Returns the position of the next comma, line break, literal `\n` or `stop`, or the end of the text. */
function untilSeparator(text: string, from: number, stop?: string): number {
  for (let at = from; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === "," || character === "\n" || character === stop) return at;
    if (character === "\\" && text.charAt(at + 1) === "n") return at;
  }
  return text.length;
}

/** Finds quotes that can close a default value, because only a separator follows them. Callers must ask with increasing positions. */
class ClosingQuotes {
  readonly #text: string;
  readonly #next: Record<"'" | '"', number> = { "'": 0, '"': 0 };

  constructor(text: string) {
    this.#text = text;
  }

  after(quote: "'" | '"', from: number): number {
    let at = Math.max(this.#next[quote], from);
    while (at < this.#text.length && !(this.#text.charAt(at) === quote && this.#ends(at + 1))) at++;
    this.#next[quote] = at;
    return at;
  }

  #ends(from: number): boolean {
    let at = from;
    while (this.#text.charAt(at) === " " || this.#text.charAt(at) === "\t") at++;
    return at >= this.#text.length || /^[,\n]|^\\n/.test(this.#text.slice(at, at + 2));
  }
}

function readQuotedDefault(text: string, from: number, quotes: ClosingQuotes): { text: string; end: number } | null {
  let open = from;
  while (text.charAt(open) === " " || text.charAt(open) === "\t") open++;
  const quote = text.charAt(open);
  if (quote !== "'" && quote !== '"') return null;
  const close = quotes.after(quote, open + 1);
  return close >= text.length ? null : { text: text.slice(open + 1, close), end: untilSeparator(text, close + 1) };
}

export function isParamName(name: string): boolean {
  return name.length <= 100 && /^[\p{L}_][\p{L}\p{M}\p{N}_.-]*$/u.test(name);
}

/** Writes parameters as text that parseParams reads back, or returns null if there is no such text. */
export function formatParams(
  params: readonly { readonly name: string; readonly default: string | null }[],
): string | null {
  const text = params
    .map(({ name, default: value }) => (value === null ? name : `${name}=${formatDefault(value)}`))
    .join(", ");
  const read = parseParams(text);
  const same =
    read.length === params.length &&
    params.every((param, index) => {
      const item = read[index];
      return item?.name === param.name && item.default === param.default;
    });
  return same ? text : null;
}

function formatDefault(value: string): string {
  if (value === value.trim() && !/[,\n'"]|\\n/.test(value)) return value;
  return value.includes("'") && !value.includes('"') ? `"${value}"` : `'${value}'`;
}
