/**
 * What one step may spend on searching with MATCHES: characters looked at and instructions of the pattern visited for them. A pattern
 * can be made so that every character visits all of its instructions, and while a step is decided the worker does nothing else.
 * Counted from a fresh automaton, so that the count depends on pattern and text alone: replaying a run comes to the same.
 *
 * Measured: the whole of it takes 0.25 s at the worst, on a busy machine of 2 cores.
 */
export interface Effort {
  left: number;
}

/** A plain pattern takes little more than the length of its text: this is some searches of the longest value there is. */
const mostEffort = 8_000_000;

export function newEffort(): Effort {
  return { left: mostEffort };
}
