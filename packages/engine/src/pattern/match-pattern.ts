import { after, leftSideAt, symbolAt } from "./alphabet.ts";
import { type Automaton, automatonOf, failed, matched } from "./automaton.ts";
import { firstMatch } from "./first-match.ts";
import type { Pattern } from "./pattern.ts";

/**
 * After the cache has overflowed this number of times in one search, new transitions are no longer cached, because that would cost more
 * than it saves.
 */
const lessons = 2;

/** Returns whether the pattern matches anywhere in the text. */
export function searchPattern(pattern: Pattern, text: string): boolean {
  const start = text.indexOf(pattern.prefix);
  return start >= 0 && searchFrom(automatonOf(pattern), text, start, Number.POSITIVE_INFINITY).found === true;
}

/** Work of a character that has to be looked at more closely, in visits of instructions. */
const slowCharacter = 3;

export interface Searched {
  /** null: it would take more work than `most`, characters looked at apart. */
  readonly found: boolean | null;
  /** Up to here the text was looked at. */
  readonly end: number;
}

export function searchFrom(automaton: Automaton, text: string, start: number, most: number): Searched {
  let { symbols } = automaton;
  let state = automaton.stateAt(leftSideAt(symbols, text, start));
  let forgotten = 0;
  const last = text.length - 1;
  for (let at = start; at <= last; at++) {
    const unit = text.charCodeAt(at);
    let symbol = symbols.known[unit >> 8]?.[unit & 255] ?? 0;
    // Only the last character may be a line break that ends the text.
    if (symbol === 0 || at === last) {
      symbol = symbolAt(symbols, text, at);
      at = after(text, at) - 1;
      automaton.work += slowCharacter;
      if (automaton.work > most) return { found: null, end: at };
    }
    let next = state.next[symbol];
    if (next === undefined) {
      next = automaton.advance(state, symbol, forgotten < lessons);
      if (automaton.symbols !== symbols) {
        symbols = automaton.symbols;
        forgotten++;
      }
      if (automaton.work > most) return { found: null, end: at };
    }
    if (next === matched || next === failed) return { found: next === matched, end: at + 1 };
    state = next;
  }
  const end = symbolAt(symbols, text, text.length);
  const final = state.next[end] ?? automaton.advance(state, end, forgotten < lessons);
  return { found: final === matched, end: text.length };
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
