/**
 * Runs searches and stops them when a fixed amount of work, the effort, is used up.
 *
 * W1  The unit is an instruction that is visited: 3 to 4 ns, measured on 2 cores of a server. The rest is charged in proportion to the time
 *     that it takes at the worst.
 * W2  What is charged depends on the searches that were charged to the same effort before, and on nothing else. Repeating the same
 *     searches gives the same charge, whatever else the process searched in between.
 * W3  An effort keeps the patterns that its searches have read and the transitions they have learned. Each is charged once.
 */
import { type Automaton, buildAutomaton } from "./automaton.ts";
import { searchFrom, searchPattern } from "./match-pattern.ts";
import { type ParsedPattern, parsePattern } from "./parse-pattern.ts";

export interface Effort {
  left: number;
  /** W3. By source. */
  readonly known: Map<string, Known>;
}

interface Known {
  readonly parsed: ParsedPattern;
  /** null: it was searched for once at most, in a short text. */
  automaton: Automaton | null;
  used: boolean;
}

export function effortOf(left: number): Effort {
  return { left, known: new Map() };
}

const charge = {
  /** Reading one character of a pattern, and one instruction that it became. */
  source: 200,
  instruction: 20,
  /** Beginning, and looking at one character. */
  search: 50,
  character: 2,
  /** An instruction and a character of a short text, where all may have to be learned. */
  shortSearch: 30,
} as const;

/** Up to this charge a first search uses what all searches of the process have learned. */
const short = 100_000;

/** Does the pattern match anywhere in the text? null: what is left of the effort is not enough to say. */
export function searchWithin(
  source: string,
  text: string,
  effort: Effort,
): { readonly found: boolean } | { readonly refused: string } | null {
  const known = effort.known.get(source) ?? read(source, effort);
  if (known === null) return null;
  if (!known.parsed.ok) return { refused: known.parsed.message };
  const { pattern } = known.parsed;
  const most = charge.shortSearch * pattern.ops.length * (text.length + 1);
  if (!known.used && most <= short && most <= effort.left) {
    known.used = true;
    effort.left -= most;
    return { found: searchPattern(pattern, text) };
  }
  known.used = true;
  const start = text.indexOf(pattern.prefix);
  // Looking for the prefix costs less than an eighth of looking at characters.
  effort.left -= charge.search + Math.ceil((charge.character * (start < 0 ? text.length : start)) / 8);
  const characters = start < 0 ? 0 : charge.character * (text.length - start);
  if (effort.left < characters) return exhausted(effort);
  if (start < 0) return { found: false };
  known.automaton ??= buildAutomaton(pattern);
  const { automaton } = known;
  const before = automaton.work;
  const { found, end } = searchFrom(automaton, text, start, before + effort.left - characters);
  if (found === null) return exhausted(effort);
  effort.left -= automaton.work - before + charge.character * (end - start);
  return { found };
}

function read(source: string, effort: Effort): Known | null {
  effort.left -= charge.source * source.length;
  if (effort.left < 0) return null;
  const parsed = parsePattern(source);
  if (parsed.ok) effort.left -= charge.instruction * parsed.pattern.ops.length;
  const known: Known = { parsed, automaton: null, used: false };
  effort.known.set(source, known);
  return known;
}

/** Nothing is searched on what would be left. */
function exhausted(effort: Effort): null {
  effort.left = -1;
  return null;
}
