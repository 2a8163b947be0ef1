import { type Effort, effortOf } from "./pattern/search-within.ts";

/**
 * What one step may spend on reading patterns and searching with MATCHES. A pattern can be made so that every character visits all of its
 * instructions, and while a step is decided the worker does nothing else. Counted from the begin of the step, so that replaying a run comes
 * to the same.
 *
 * Measured: the whole of it takes 45 to 68 ms at the worst, on a busy machine of 2 cores.
 *
 * A plain pattern takes two for each character that it looks at: three searches through the longest value there is, or a thousand through
 * a reply.
 */
const mostEffort = 13_000_000;

export function newEffort(): Effort {
  return effortOf(mostEffort);
}
