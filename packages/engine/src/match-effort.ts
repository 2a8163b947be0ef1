/**
 * Limits the effort of one step for searches with MATCHES: characters read, and pattern instructions visited for them. A pattern can be
 * built so that every character visits all of its instructions, and the worker does nothing else while it decides a step. The count starts
 * with a fresh automaton, so it depends on pattern and text alone and a replay gets the same count.
 *
 * Measured: the whole allowance takes at most 0.25 s on a busy machine with 2 cores.
 */
export interface Effort {
  left: number;
}

/** A plain pattern costs little more than the length of its text. This allows several searches of the longest possible value. */
const mostEffort = 8_000_000;

export function newEffort(): Effort {
  return { left: mostEffort };
}
