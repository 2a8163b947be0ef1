import type { CharacterSet } from "./character-set.ts";

/**
 * Regular expressions in time linear in the text, with the syntax of Python's `re` on str.
 *
 * We wrote our own engine because MATCHES runs authors' patterns over student and model text inside the pure `step`. There RegExp can
 * backtrack exponentially and block a worker, and packages/engine may not depend on a package from outside. These invariants hold:
 *
 * P1  A search costs at most O(instructions × text) for every pattern; `findPattern` costs at most that times its groups.
 * P2  Parsing, compiling and searching never throw. They recurse only into groups, so at most `patternBounds.nesting` deep.
 * P3  A `Pattern` is plain data. The cache of its searches is stored beside it, is bounded, and never changes a result.
 *
 * Differences from Python 3.11:
 * - Refused: lookaround, backreferences, possessive and atomic parts, conditionals, `\N{…}`, the flags `a` and `L`.
 * - Accepted in addition: `\p{…}`, `(?<name>…)`, `\z`. `\B` holds in the empty text, as from Python 3.14 on.
 * - If the body of a loop can match the empty text, as in `(?:a?|b)*`, `findPattern` may match more, or return another value for a group.
 *   It never differs in whether there is a match.
 *
 * Measured: median of 25 searches without a match in 4 MB of short English lines, Node 24, on a busy machine of 2 cores. `SUCCESS` 1,500
 * MB/s, `(?m)^SUCCESS\b` 55, `(?m)^(PASS|FAIL): \d+/\d+$` 80, `(a+)+$` 60. Without the cached automaton the last three are 3 to 6 times
 * slower. `findPattern` with a match at the end of 1 MB: 4 MB/s.
 */
export interface Pattern {
  readonly source: string;
  /** Instruction i is `ops[i]` with the operands `xs[i]` and `ys[i]`. Execution starts at 0. */
  readonly ops: readonly Op[];
  readonly xs: readonly number[];
  readonly ys: readonly number[];
  readonly sets: readonly CharacterSet[];
  /** One entry for each capturing group, beginning with group 1; null for a group without a name. */
  readonly groupNames: readonly (string | null)[];
  /** The text with which every match begins. */
  readonly prefix: string;
  /** Every match begins at the start of the text. */
  readonly anchored: boolean;
}

export const op = {
  /** Consume one character of set x and continue with the next instruction. */
  take: 0,
  /** Continue at x, or as the second choice at y. */
  fork: 1,
  jump: 2,
  /** Save the position in slot x. */
  save: 3,
  /** Continue if assertion x holds here. */
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
 * Bounds of a pattern. Only counted repeats can reach the bound on instructions, because otherwise one character of source gives at most
 * two.
 */
export const patternBounds = {
  /** UTF-16 units of source. */
  source: 8_000,
  /** Instructions after counted repeats are expanded: `(?:ab){100}` becomes 200. */
  instructions: 20_000,
  /** The depth of nested groups. */
  nesting: 200,
  groups: 100,
} as const;

/** Why a pattern is refused. The reader and the compiler throw it, and only `parsePattern` catches it. */
export class Refusal extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}
