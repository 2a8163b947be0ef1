import { after, holds, leftSideAt, symbolAt } from "./alphabet.ts";
import { automatonOf } from "./automaton.ts";
import { op, type Pattern } from "./pattern.ts";

/** The instructions at which the search may continue, best choice first, each with its saved text positions. */
interface Threads {
  count: number;
  readonly at: Int32Array;
  /** One row for each thread. */
  readonly slots: Int32Array;
}

/**
 * Returns the saved positions of the leftmost match: start and end of the whole match, then of each group. -1 means that the group is not
 * part of the match.
 *
 * This is Pike's simulation: all choices advance together, character by character, in the order of their priority. Only the best choice
 * that reaches an instruction visits it. When a choice matches, all lesser choices are dropped.
 */
export function firstMatch(pattern: Pattern, text: string): Int32Array | null {
  const { ops, xs, ys, prefix, anchored } = pattern;
  const automaton = automatonOf(pattern);
  const { symbols } = automaton;
  const width = 2 * pattern.groupNames.length + 2;
  let current = noThreads(pattern, width);
  let following = noThreads(pattern, width);
  /** The round in which each instruction was last visited. */
  const seen = new Int32Array(ops.length);
  let round = 0;
  const slots = new Int32Array(width);
  /** The instructions to visit. An entry that restores a slot consists of the old position and then ~slot. */
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

  /** Visits every instruction that is reachable without another character. Returns true if one matches; then lesser choices are dropped. */
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
