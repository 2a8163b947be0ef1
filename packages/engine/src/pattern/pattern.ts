import type { CharacterSet } from "./character-set.ts";

/**
 * Regular expressions in time linear in the text, in the flavour of Python's `re` on str.
 *
 * Own code, because MATCHES runs authors' patterns over student and model text inside the pure `step`: RegExp can backtrack
 * exponentially there and stall a worker, and engine may not depend on a package. Guarded here:
 *
 * P1 A search costs at most O(instructions × text), whatever the pattern; `findPattern` at most that times its groups.
 * P2 Reading, compiling and searching never throw and never recurse deeper than `patternBounds.nesting`.
 * P3 A `Pattern` is plain data. What a search learns about it is kept beside it, bounded, and never changes an answer.
 *
 * Where this parts from Python 3.11: no lookaround, backreferences, possessive or atomic parts, conditionals or `\N{…}`, which
 * are refused; the flags `a` and `L` are refused; `\p{…}`, `(?<name>…)` and `\z` are understood; `\B` matches in the empty text.
 *
 * Measured with `tests/bench`-style loops of one process (median of 15, Node 24, one core of a 2-core virtual machine, 4 MB of
 * English-like lines without a match): see `match-pattern.ts`.
 */
export interface Pattern {
  readonly source: string;
  /** Instruction i is `ops[i]` with the operands `xs[i]` and `ys[i]`. Execution starts at 0. */
  readonly ops: readonly Op[];
  readonly xs: readonly number[];
  readonly ys: readonly number[];
  readonly sets: readonly CharacterSet[];
  /** One for each capturing group, null for a group without a name: the name of group 1 stands first. */
  readonly groupNames: readonly (string | null)[];
  /** Text every match begins with. */
  readonly prefix: string;
  /** Every match begins at the start of the text. */
  readonly anchored: boolean;
}

export const op = {
  /** Consume one character that is in set x, go on with the next instruction. */
  take: 0,
  /** Go on at x, or, second choice, at y. */
  fork: 1,
  jump: 2,
  /** Note the position in slot x. */
  save: 3,
  /** Go on if assertion x holds here. */
  assert: 4,
  match: 5,
} as const;
export type Op = (typeof op)[keyof typeof op];

export const assertion = {
  textStart: 0,
  textEnd: 1,
  lineStart: 2,
  lineEnd: 3,
  /** At the end, or before a line break that ends the text. */
  lastLineEnd: 4,
  wordBoundary: 5,
  noWordBoundary: 6,
} as const;
export type Assertion = (typeof assertion)[keyof typeof assertion];

/**
 * No pattern without counted repeats can reach the bound on instructions: one character of source makes at most two.
 */
export const patternBounds = {
  /** UTF-16 units of source. */
  source: 8_000,
  /** Instructions once counted repeats are written out: `(?:ab){100}` takes 200. */
  instructions: 20_000,
  /** Groups within groups. */
  nesting: 200,
  groups: 100,
} as const;

/** Why a pattern is not accepted. Thrown by the reader and the compiler, caught by `parsePattern` alone. */
export class Refusal extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}
