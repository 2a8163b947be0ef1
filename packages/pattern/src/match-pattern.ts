import { after, leftSideAt, symbolAt } from "./alphabet.ts";
import { type Automaton, automatonOf, buildAutomaton, failed, matched } from "./automaton.ts";
import { firstMatch } from "./first-match.ts";
import type { Pattern } from "./pattern.ts";

/**
 * After the cache has overflowed this number of times in one search, new transitions are no longer cached, because that would cost more
 * than it saves.
 */
const lessons = 2;

/** Returns whether the pattern matches anywhere in the text. */
export function searchPattern(pattern: Pattern, text: string): boolean {
  return search(automatonOf(pattern), pattern, text, Number.POSITIVE_INFINITY) === true;
}

/** Up to this product of instructions and characters, a search is charged the product, and its real work is not counted. */
const small = 500_000;

/**
 * Searches with at most `effort.left` of work and subtracts the used work. Returns null if the effort was not enough. That depends only on
 * pattern, text and effort, not on the cache of earlier searches.
 */
export function searchWithin(pattern: Pattern, text: string, effort: { left: number }): boolean | null {
  // Parsing the pattern was work, too.
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

/** Returns null if the search would need more work than `most`. Reading the characters does not count here. */
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
  /** In UTF-16 units, as for `slice`. */
  readonly start: number;
  readonly end: number;
  /** The whole match, then each group; null for a group that is not part of the match. */
  readonly groups: readonly (string | null)[];
}

/** Finds the leftmost match. Of several leftmost matches, it returns the one that a backtracking search in Python's order finds first. */
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
