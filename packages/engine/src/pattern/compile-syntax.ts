import { type CharacterSet, onlyMember } from "./character-set.ts";
import { assertion, type Op, op, type Pattern, patternBounds, Refusal } from "./pattern.ts";
import type { Syntax, SyntaxTree } from "./syntax-tree.ts";

/** Compiles a syntax tree. Throws a Refusal if the expanded counted repeats exceed the bound. */
export function compileSyntax(source: string, { root, groupNames }: SyntaxTree): Pattern {
  const ops: Op[] = [];
  const xs: number[] = [];
  const ys: number[] = [];
  const sets: CharacterSet[] = [];
  const setIndex = new Map<CharacterSet | string, number>();
  /** The offset of the outermost repeat that is being compiled. */
  let repeatOffset: number | undefined;

  write(root);
  emit(op.match);
  return { source, ops, xs, ys, sets, groupNames, ...beginning(ops, xs, sets) };

  function write(syntax: Syntax): void {
    switch (syntax.kind) {
      case "set":
        emit(op.take, indexOf(syntax.set));
        return;
      case "assertion":
        emit(op.assert, syntax.assertion);
        return;
      case "sequence":
        for (const item of syntax.items) write(item);
        return;
      case "choice":
        writeChoice(syntax.options);
        return;
      case "group":
        emit(op.save, 2 * syntax.index);
        write(syntax.item);
        emit(op.save, 2 * syntax.index + 1);
        return;
      case "repeat":
        writeRepeat(syntax);
    }
  }

  function writeChoice(options: readonly Syntax[]): void {
    const jumps: number[] = [];
    options.forEach((option, index) => {
      if (index === options.length - 1) {
        write(option);
        return;
      }
      const fork = emit(op.fork, ops.length + 1);
      write(option);
      jumps.push(emit(op.jump));
      ys[fork] = ops.length;
    });
    for (const jump of jumps) xs[jump] = ops.length;
  }

  /**
   * x{2,4} becomes x x (x (x)?)?, x{2,} becomes x x+, and x* becomes (x+)?. The loop is entered again only after x, so an x that can match
   * the empty text gets the same priorities as in Python.
   */
  function writeRepeat({ item, min, max, lazy, offset }: Extract<Syntax, { kind: "repeat" }>): void {
    const outerOffset = repeatOffset;
    repeatOffset ??= offset;
    const endless = max === Number.POSITIVE_INFINITY;
    const forks: number[] = [];
    const once = endless ? Math.max(min - 1, 0) : min;
    for (let count = 0; count < once; count++) {
      const before = ops.length;
      write(item);
      // An item without instructions matches the empty text, however often it is repeated.
      if (ops.length === before) break;
    }
    const optional = endless ? (min === 0 ? 1 : 0) : max - min;
    for (let count = 0; count < optional; count++) {
      forks.push(emit(op.fork));
      if (!endless) write(item);
    }
    if (endless) {
      const loop = ops.length;
      write(item);
      aim(emit(op.fork), loop, ops.length, lazy);
    }
    for (const fork of forks) aim(fork, fork + 1, ops.length, lazy);
    repeatOffset = outerOffset;
  }

  function aim(fork: number, again: number, end: number, lazy: boolean): void {
    xs[fork] = lazy ? end : again;
    ys[fork] = lazy ? again : end;
  }

  function emit(operation: Op, x = 0): number {
    if (ops.length >= patternBounds.instructions) {
      throw new Refusal(
        `Counted repeats, written out, exceed ${patternBounds.instructions} steps. Count less, or use * or +.`,
        repeatOffset ?? 0,
      );
    }
    ops.push(operation);
    xs.push(x);
    ys.push(0);
    return ops.length - 1;
  }

  function indexOf(set: CharacterSet): number {
    let index = setIndex.get(set);
    if (index === undefined) {
      const key = JSON.stringify(set);
      index = setIndex.get(key);
      if (index === undefined) {
        index = sets.push(set) - 1;
        setIndex.set(key, index);
      }
      setIndex.set(set, index);
    }
    return index;
  }
}

/** Longer texts take `indexOf` more than linear work. */
const longestPrefix = 32;

/** What the instructions say before the first fork. */
function beginning(
  ops: readonly Op[],
  xs: readonly number[],
  sets: readonly CharacterSet[],
): Pick<Pattern, "prefix" | "anchored"> {
  let prefix = "";
  for (let at = 0; ; at++) {
    const x = xs[at] ?? 0;
    if (ops[at] === op.save) continue;
    if (ops[at] === op.assert && x === assertion.textStart && prefix === "") return { prefix, anchored: true };
    const set = ops[at] === op.take ? sets[x] : undefined;
    const codePoint = set === undefined || prefix.length >= longestPrefix ? undefined : onlyMember(set);
    // Half a surrogate pair could be found inside a whole one.
    if (codePoint === undefined || (codePoint >= 0xd800 && codePoint <= 0xdfff)) return { prefix, anchored: false };
    prefix += String.fromCodePoint(codePoint);
  }
}
