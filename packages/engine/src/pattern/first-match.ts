import { after, holds, leftSideAt, symbolAt } from "./alphabet.ts";
import { automatonOf } from "./automaton.ts";
import { op, type Pattern } from "./pattern.ts";

/** Where the search may go on, best choice first, each with the positions it has noted. */
interface Threads {
  count: number;
  readonly at: Int32Array;
  /** One row for each thread. */
  readonly slots: Int32Array;
}

/**
 * The positions noted by the leftmost match: for each group, the whole match first, its start and end, -1 where it took no part.
 *
 * Pike's simulation: all choices advance together, character by character, in the order of their priority, and the best choice
 * that reaches an instruction is the only one to visit it there. Once one matches, lesser choices are dropped.
 */
export function firstMatch(pattern: Pattern, text: string): Int32Array | null {
  const { ops, xs, ys, prefix, anchored } = pattern;
  const automaton = automatonOf(pattern);
  const { symbols } = automaton;
  const width = 2 * pattern.groupNames.length + 2;
  let current = noThreads(pattern, width);
  let following = noThreads(pattern, width);
  /** Round in which an instruction was last visited. */
  const seen = new Int32Array(ops.length);
  let round = 0;
  const slots = new Int32Array(width);
  /** Instructions to visit. Below them, where a slot is to be set back: the position it had, then ~slot. */
  const stack: number[] = [];
  let best: Int32Array | null = null;

  for (let at = 0; at <= text.length; at = after(text, at)) {
    if (current.count === 0) {
      if (best !== null || (anchored && at > 0)) return best;
      const start = text.indexOf(prefix, at);
      if (start < 0) return null;
      at = start;
    }
    const left = leftSideAt(symbols, text, at);
    const symbol = symbolAt(symbols, text, at);
    const right = symbols.sides[symbol] ?? 0;
    const members = symbols.inSet[symbol];
    round++;
    following.count = 0;
    let cut = false;
    for (let index = 0; index < current.count && !cut; index++) {
      for (let slot = 0; slot < width; slot++) slots[slot] = current.slots[index * width + slot] ?? -1;
      cut = visit(current.at[index] ?? 0, at, left, right, members);
    }
    if (!cut && best === null) {
      slots.fill(-1);
      slots[0] = at;
      visit(0, at, left, right, members);
    }
    [current, following] = [following, current];
  }
  return best;

  /** Everything reached from one instruction without a character more. True: it matches, and lesser choices are void. */
  function visit(from: number, at: number, left: number, right: number, members: Uint8Array | undefined): boolean {
    stack.push(from);
    while (stack.length > 0) {
      const next = stack.pop() ?? 0;
      if (next < 0) {
        slots[~next] = stack.pop() ?? -1;
        continue;
      }
      if (seen[next] === round) continue;
      seen[next] = round;
      automaton.visits++;
      const x = xs[next] ?? 0;
      switch (ops[next]) {
        case op.take:
          if (members?.[x] === 1) {
            const row = following.count * width;
            for (let slot = 0; slot < width; slot++) following.slots[row + slot] = slots[slot] ?? -1;
            following.at[following.count++] = next + 1;
          }
          break;
        case op.fork:
          stack.push(ys[next] ?? 0, x);
          break;
        case op.jump:
          stack.push(x);
          break;
        case op.save:
          stack.push(slots[x] ?? -1, ~x, next + 1);
          slots[x] = at;
          break;
        case op.assert:
          if (holds(x, left, right)) stack.push(next + 1);
          break;
        case op.match:
          slots[1] = at;
          best = slots.slice();
          stack.length = 0;
          return true;
      }
    }
    return false;
  }
}

function noThreads({ ops }: Pattern, width: number): Threads {
  const most = ops.filter((operation) => operation === op.take).length;
  return { count: 0, at: new Int32Array(most), slots: new Int32Array(most * width) };
}
