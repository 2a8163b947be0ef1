/** Why an activity is given up: its run is over, and nobody will ever ask what came of it. */
export class RunOver extends Error {
  override readonly name = "RunOver";
}

/** Aborts with the other one, but only where the run is over. */
export function whenRunIsOver(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const hear = () => {
    if (signal.reason instanceof RunOver) controller.abort(signal.reason);
  };
  if (signal.aborted) hear();
  else signal.addEventListener("abort", hear, { once: true });
  return controller.signal;
}
