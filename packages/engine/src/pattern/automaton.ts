import { holds, isEnd, type Symbols, symbolsOf } from "./alphabet.ts";
import { op, type Pattern } from "./pattern.ts";

/**
 * The deterministic automaton of a pattern, built as texts ask for it.
 *
 * A1 A state is made of where the search may stand before the next character, and of what lies to its left. Which symbol comes
 *    next is known when a state is left, so assertions are decided then.
 * A2 The search may also begin at every position: the first instruction belongs to every state and is not listed.
 * A3 Making one transition visits each instruction at most once. When what is learned exceeds its bound all is forgotten, which
 *    costs time but never more than O(instructions) for a character.
 */
export interface State {
  /** Instructions to go on with. */
  readonly threads: readonly number[];
  readonly left: number;
  /** Indexed by symbol. */
  readonly next: (State | undefined)[];
}

/** Nothing that follows changes the answer. */
export const matched: State = { threads: [], left: 0, next: [] };
export const failed: State = { threads: [], left: 0, next: [] };

/** Instructions, transitions and set memberships kept for one pattern: some MB at the worst, a few KB as a rule. */
const weightBound = 200_000;

export interface Automaton {
  /** Replaced when all is forgotten; symbols and states from before mean nothing then. */
  symbols: Symbols;
  /** Instructions visited so far: the work done, for tests. */
  visits: number;
  /** Visits, and what learning symbols and states took beside them: what a search is charged for. */
  work: number;
  readonly stateAt: (left: number) => State;
  /** `learn`: keep the way, so that it is found in `state.next` the next time. The state returned is never out of date. */
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

/** One that has learned nothing yet. */
export function buildAutomaton(pattern: Pattern): Automaton {
  const { ops, xs, ys, sets, anchored } = pattern;
  const states = new Map<string, State>();
  let weight = 0;
  /** Round in which an instruction was last visited. */
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

  /** The one state of this make. */
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
