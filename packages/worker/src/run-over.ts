/** The activity is given up because its run is over: its result is never needed. */
export class RunOver extends Error {
  override readonly name = "RunOver";
}

/** Aborts with the given signal, but only if the run is over. */
export function whenRunIsOver(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const hear = () => {
    if (signal.reason instanceof RunOver) controller.abort(signal.reason);
  };
  if (signal.aborted) hear();
  else signal.addEventListener("abort", hear, { once: true });
  return controller.signal;
}
