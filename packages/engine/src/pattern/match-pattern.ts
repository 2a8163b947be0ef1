import { after, leftSideAt, symbolAt } from "./alphabet.ts";
import { type Automaton, automatonOf, buildAutomaton, failed, matched } from "./automaton.ts";
import { firstMatch } from "./first-match.ts";
import type { Pattern } from "./pattern.ts";

/** Once a search has outgrown what is kept this often, learning costs it more than it saves. */
const lessons = 2;

/** Does the pattern match anywhere in the text? */
export function searchPattern(pattern: Pattern, text: string): boolean {
  return search(automatonOf(pattern), pattern, text, Number.POSITIVE_INFINITY) === true;
}

/** Up to this many instructions times characters, a search is charged for the product and not counted. */
const small = 500_000;

/**
 * The same, for at most `effort.left` of work, which is reduced by what was spent. null: it was not enough. Whether it is depends on
 * pattern, text and effort alone, not on what earlier searches have learned.
 */
export function searchWithin(pattern: Pattern, text: string, effort: { left: number }): boolean | null {
  // Reading the pattern was work, too.
  const reading = pattern.ops.length + pattern.source.length;
  const most = reading + pattern.ops.length * (text.length + 1);
  if (most <= small && most <= effort.left) {
    effort.left -= most;
    return searchPattern(pattern, text);
  }
  effort.left -= reading + text.length;
  if (effort.left < 0) return null;
  const automaton = buildAutomaton(pattern);
  const found = search(automaton, pattern, text, effort.left);
  effort.left -= automaton.work;
  return found;
}

/** null: it would take more work than `most`, characters looked at apart. */
function search(automaton: Automaton, pattern: Pattern, text: string, most: number): boolean | null {
  const start = text.indexOf(pattern.prefix);
  if (start < 0) return false;
  let { symbols } = automaton;
  let state = automaton.stateAt(leftSideAt(symbols, text, start));
  let forgotten = 0;
  for (let at = start; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    let symbol = symbols.known[unit >> 8]?.[unit & 255] ?? 0;
    if (symbol === 0) {
      symbol = symbolAt(symbols, text, at);
      at = after(text, at) - 1;
      if (automaton.work > most) return null;
    }
    let next = state.next[symbol];
    if (next === undefined) {
      next = automaton.advance(state, symbol, forgotten < lessons);
      if (automaton.symbols !== symbols) {
        symbols = automaton.symbols;
        forgotten++;
      }
      if (automaton.work > most) return null;
    }
    if (next === matched) return true;
    if (next === failed) return false;
    state = next;
  }
  const end = symbolAt(symbols, text, text.length);
  return (state.next[end] ?? automaton.advance(state, end, forgotten < lessons)) === matched;
}

export interface PatternMatch {
  /** UTF-16 units, as for `slice`. */
  readonly start: number;
  readonly end: number;
  /** The whole match, then each group; null for a group that took no part. */
  readonly groups: readonly (string | null)[];
}

/** The leftmost match, and of those the one that a backtracking search, trying choices in Python's order, finds first. */
export function findPattern(pattern: Pattern, text: string): PatternMatch | null {
  const slots = searchPattern(pattern, text) ? firstMatch(pattern, text) : null;
  if (slots === null) return null;
  const groups: (string | null)[] = [];
  for (let slot = 0; slot < slots.length; slot += 2) {
    const start = slots[slot] ?? -1;
    const end = slots[slot + 1] ?? -1;
    groups.push(start < 0 || end < 0 ? null : text.slice(start, end));
  }
  return { start: slots[0] ?? 0, end: slots[1] ?? 0, groups };
}
