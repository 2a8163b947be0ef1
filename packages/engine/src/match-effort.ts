import { type Effort, effortOf } from "./pattern/search-within.ts";

/**
 * Limits what one step may spend on reading patterns and searching with MATCHES. A pattern can be built so that every character visits all of
 * its instructions, and the worker does nothing else while it decides a step. The count starts with the step, so a replay gets the same count.
 *
 * Measured: the whole allowance takes 45 to 68 ms at the worst, on a busy machine with 2 cores.
 *
 * A plain pattern costs two for each character that it reads. This allows three searches of the longest possible value, or a thousand of an
 * ordinary reply.
 */
const mostEffort = 13_000_000;

export function newEffort(): Effort {
  return effortOf(mostEffort);
}
