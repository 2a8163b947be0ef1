import { holds, isEnd, type Symbols, symbolsOf } from "./alphabet.ts";
import { op, type Pattern } from "./pattern.ts";

/**
 * The deterministic automaton of a pattern. It is built step by step while texts are searched.
 *
 * A1  A state contains the possible instructions before the next character, and the side bits of the character to the left. When the search
 *     leaves a state, it knows the next symbol, so assertions are decided then.
 * A2  The search may also begin at every position. The first instruction therefore belongs to every state and is not listed.
 * A3  One transition visits each instruction at most once. When the cache exceeds its bound, all of it is dropped. That costs time, but
 *     never more than O(instructions) for one character.
 */
export interface State {
  /** The instructions at which the search continues. */
  readonly threads: readonly number[];
  readonly left: number;
  /** Indexed by symbol. */
  readonly next: (State | undefined)[];
}

/** Final states: no later character changes the result. */
export const matched: State = { threads: [], left: 0, next: [] };
export const failed: State = { threads: [], left: 0, next: [] };

/**
 * The highest number of instructions, transitions and set memberships in the cache of one pattern. That is some MB in the worst case and
 * usually a few KB.
 */
const weightBound = 200_000;

export interface Automaton {
  /** Replaced when the cache is dropped. Older symbols and states are then invalid. */
  symbols: Symbols;
  /** The number of visited instructions, for tests. */
  visits: number;
  /** The cost of a search: visits, and the work to learn symbols and states. */
  work: number;
  readonly stateAt: (left: number) => State;
  /** `learn`: cache the transition in `state.next`. The returned state is always valid. */
  readonly advance: (state: State, symbol: number, learn: boolean) => State;
}

const automata = new WeakMap<Pattern, Automaton>();

export function automatonOf(pattern: Pattern): Automaton {
  let automaton = automata.get(pattern);
  if (automaton === undefined) {
    automaton = buildAutomaton(pattern);
    automata.set(pattern, automaton);
  }
  return automaton;
}

/** Builds an automaton with an empty cache. */
export function buildAutomaton(pattern: Pattern): Automaton {
  const { ops, xs, ys, sets, anchored } = pattern;
  const states = new Map<string, State>();
  let weight = 0;
  /** The round in which each instruction was last visited. */
  const seen = new Int32Array(ops.length);
  let round = 0;
  const stack: number[] = [];

  const automaton: Automaton = {
    symbols: symbolsOf(pattern, charge),
    visits: 0,
    work: 0,
    stateAt: (left) => learned({ threads: [], left: left & automaton.symbols.asked, next: [] }),
    advance,
  };
  return automaton;

  function charge(work: number): void {
    automaton.work += work;
  }

  function advance(state: State, symbol: number, learn: boolean): State {
    const target = targetOf(state, symbol);
    const next = learn ? learned(target) : target;
    if (learn) {
      state.next[symbol] = next;
      weight += 1;
    }
    if (weight + automaton.symbols.inSet.length * sets.length <= weightBound) return next;
    states.clear();
    weight = 0;
    automaton.symbols = symbolsOf(pattern, charge);
    return next === matched || next === failed ? next : { ...next, next: [] };
  }

  /** Returns the one cached state that equals this one. */
  function learned(state: State): State {
    if (state === matched || state === failed) return state;
    const threads = state.threads.toSorted((a, b) => a - b);
    automaton.work += 200 + 12 * threads.length;
    const key = `${state.left}:${threads.join()}`;
    const known = states.get(key);
    if (known !== undefined) return known;
    states.set(key, state);
    weight += threads.length + 1;
    return state;
  }

  function targetOf({ threads, left }: State, symbol: number): State {
    const { inSet, sides, asked } = automaton.symbols;
    const right = sides[symbol] ?? 0;
    const members = inSet[symbol];
    const taken: number[] = [];
    if (round === 0x7fff_ffff) {
      seen.fill(0);
      round = 0;
    }
    round++;
    stack.push(0);
    for (const thread of threads) stack.push(thread);
    while (stack.length > 0) {
      const at = stack.pop() ?? 0;
      if (seen[at] === round) continue;
      seen[at] = round;
      automaton.visits++;
      automaton.work++;
      const x = xs[at] ?? 0;
      switch (ops[at]) {
        case op.take:
          if (members?.[x] === 1) taken.push(at + 1);
          break;
        case op.fork:
          stack.push(ys[at] ?? 0, x);
          break;
        case op.jump:
          stack.push(x);
          break;
        case op.save:
          stack.push(at + 1);
          break;
        case op.assert:
          if (holds(x, left, right)) stack.push(at + 1);
          break;
        case op.match:
          stack.length = 0;
          return matched;
      }
    }
    if (isEnd(symbol) || (anchored && taken.length === 0)) return failed;
    return { threads: taken, left: right & asked, next: [] };
  }
}
