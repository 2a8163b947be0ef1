/** How long the sandbox waits for a Docker engine. All bounds of calls, streams and pings stand here; tests give shorter ones. */

export interface EngineBounds {
  /** One call, until its answer is here. The engine may be at work all that time: it answers pings. */
  readonly callMs: number;
  /** Between two pings while something is awaited from the engine. */
  readonly pingMs: number;
  /** One ping. An engine beside others that does not answer it in time is left out until it answers again. */
  readonly answerMs: number;
  /** An engine that has answered no ping for so long is given up: its calls and streams end with SANDBOX_ENGINE_UNREACHABLE. */
  readonly silentMs: number;
  /** All stalls during one command together, or as long as the command may take, if that is longer. Beyond that its time would never be over. */
  readonly stallsMs: number;
  /** A command that has not begun by then, or within its own wall clock if that is longer, was not started. */
  readonly startMs: number;
  /** Ending the processes of a session takes milliseconds. Beyond this one of them has stopped what ends them, and the session itself ends. */
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
