/** How long the sandbox waits for a Docker engine. This file holds all bounds of calls, streams and pings; tests set shorter ones. */

export interface EngineBounds {
  /** The time for one call until its answer. The engine may work all that time, as long as it answers pings. */
  readonly callMs: number;
  /** The pause between two pings while a call or stream is open. */
  readonly pingMs: number;
  /** The time for one ping. If there are several engines, an engine that misses it is skipped until it answers again. */
  readonly answerMs: number;
  /** An engine that has answered no ping for this long is given up: its calls and streams end with SANDBOX_ENGINE_UNREACHABLE. */
  readonly silentMs: number;
  /**
   * The limit for all stalls during one command together (or the command's own time limit, if longer). Without it a command might never
   * time out.
   */
  readonly stallsMs: number;
  /** A command that has not begun by then (or within its own wall clock, if longer) counts as not started. */
  readonly startMs: number;
  /**
   * Ending the processes of a session takes milliseconds. If it takes longer than this, one of them has stopped the program that ends them,
   * and the session itself ends.
   */
  readonly killMs: number;
}

export const engineBounds: EngineBounds = {
  callMs: 60_000,
  pingMs: 1_000,
  answerMs: 5_000,
  silentMs: 30_000,
  stallsMs: 300_000,
  startMs: 15_000,
  killMs: 15_000,
};
