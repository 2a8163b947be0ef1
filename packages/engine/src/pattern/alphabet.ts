import { contains, isWordCharacter } from "./character-set.ts";
import { type Assertion, assertion, op, type Pattern } from "./pattern.ts";

/** The properties that an assertion can check on either side of a position. */
const side = {
  /** The text begins or ends here. */
  edge: 1,
  lineBreak: 2,
  word: 4,
  /** A line break that ends the text. */
  lastLineBreak: 8,
} as const;

/**
 * Indexed by assertion. The assertion holds if the left side has one of the bits in `leftOf`, or the right side one of the bits in
 * `rightOf`.
 */
const leftOf: readonly number[] = [side.edge, 0, side.edge | side.lineBreak, 0, 0];
const rightOf: readonly number[] = [0, side.edge, 0, side.edge | side.lineBreak, side.edge | side.lastLineBreak];

export function holds(what: number, left: number, right: number): boolean {
  if (what === assertion.wordBoundary) return ((left ^ right) & side.word) !== 0;
  if (what === assertion.noWordBoundary) return ((left ^ right) & side.word) === 0;
  return ((leftOf[what] ?? 0) & left) !== 0 || ((rightOf[what] ?? 0) & right) !== 0;
}

/** Characters that the pattern cannot distinguish share one symbol. */
export interface Symbols {
  readonly symbolOf: (codePoint: number) => number;
  /**
   * The known symbols by code point, in pages of 256; 0 if unknown. It leaves out line breaks and surrogates, because their symbols depend
   * on the surrounding text.
   */
  readonly known: readonly (Uint32Array | undefined)[];
  /** Indexed by symbol, then by the pattern's sets: 1 if the set contains the symbol's characters. */
  readonly inSet: readonly Uint8Array[];
  /** Indexed by symbol: its `side` bits, seen from the left. */
  readonly sides: readonly number[];
  /** The `side` bits that the pattern checks on the left of a position. */
  readonly asked: number;
}

const endSymbol = 1;
const lastLineBreakSymbol = 2;
const lineBreak = 0x0a;

export function isEnd(symbol: number): boolean {
  return symbol === endSymbol;
}

/** Returns the symbol of the character that begins at this position. */
export function symbolAt(symbols: Symbols, text: string, at: number): number {
  const codePoint = text.codePointAt(at);
  if (codePoint === undefined) return endSymbol;
  return codePoint === lineBreak && at === text.length - 1 ? lastLineBreakSymbol : symbols.symbolOf(codePoint);
}

/** Returns the `side` bits of the character before this position. */
export function leftSideAt(symbols: Symbols, text: string, at: number): number {
  if (at === 0) return side.edge;
  const pair = at > 1 ? (text.codePointAt(at - 2) ?? 0) : 0;
  return symbols.sides[symbols.symbolOf(pair > 0xffff ? pair : text.charCodeAt(at - 1))] ?? 0;
}

/** Returns the position after the character that begins at this position. */
export function after(text: string, at: number): number {
  return at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
}

/** `charge` is called with the work for each new character, because every set of the pattern is checked for it. */
export function symbolsOf(pattern: Pattern, charge: (work: number) => void = () => undefined): Symbols {
  const asserted = new Set<number>(pattern.xs.filter((_, at) => pattern.ops[at] === op.assert));
  const asks = (...some: readonly Assertion[]) => some.some((one) => asserted.has(one));
  const asksWord = asks(assertion.wordBoundary, assertion.noWordBoundary);
  const asksLine = asks(assertion.lineStart, assertion.lineEnd);
  const asked =
    (asks(assertion.textStart, assertion.lineStart) ? side.edge : 0) |
    (asks(assertion.lineStart) ? side.lineBreak : 0) |
    (asksWord ? side.word : 0);

  const questions = pattern.sets.map(({ properties, ignoreCase }) => 1 + properties.length + (ignoreCase ? 1 : 0));
  const learning = 100 + 10 * questions.reduce((sum, count) => sum + count, 0);
  const none = new Uint8Array(pattern.sets.length);
  const inSet: Uint8Array[] = [none, none, membership(lineBreak)];
  const sides: number[] = [0, side.edge, side.lineBreak | side.lastLineBreak];
  const bySignature = new Map<string, number>();
  const known: (Uint32Array | undefined)[] = [];
  /** Symbols of unpaired surrogates. They are not in `known`, because `known` is indexed by the first unit of a pair, too. */
  const lone = new Map<number, number>();
  return { symbolOf, known, inSet, sides, asked };

  function symbolOf(codePoint: number): number {
    if (codePoint >= 0xd800 && codePoint <= 0xdfff) return loneSymbol(codePoint);
    let page = known[codePoint >> 8];
    if (page === undefined) {
      page = new Uint32Array(256);
      known[codePoint >> 8] = page;
    }
    const symbol = page[codePoint & 255] || learn(codePoint);
    page[codePoint & 255] = symbol;
    return symbol;
  }

  function loneSymbol(codePoint: number): number {
    let symbol = lone.get(codePoint);
    if (symbol === undefined) {
      symbol = learn(codePoint);
      lone.set(codePoint, symbol);
    }
    return symbol;
  }

  function learn(codePoint: number): number {
    charge(learning);
    const members = membership(codePoint);
    const bits =
      (asksWord && isWordCharacter(codePoint) ? side.word : 0) |
      (asksLine && codePoint === lineBreak ? side.lineBreak : 0);
    const signature = String.fromCharCode(bits) + packed(members);
    let symbol = bySignature.get(signature);
    if (symbol === undefined) {
      symbol = inSet.push(members) - 1;
      sides.push(bits);
      bySignature.set(signature, symbol);
    }
    return symbol;
  }

  function membership(codePoint: number): Uint8Array {
    const members = new Uint8Array(pattern.sets.length);
    pattern.sets.forEach((set, index) => {
      if (contains(set, codePoint)) members[index] = 1;
    });
    return members;
  }
}

/** Packs 16 bits into each character. */
function packed(members: Uint8Array): string {
  let text = "";
  for (let from = 0; from < members.length; from += 16) {
    let bits = 0;
    for (let index = from; index < from + 16; index++) bits = (bits << 1) | (members[index] ?? 0);
    text += String.fromCharCode(bits);
  }
  return text;
}
