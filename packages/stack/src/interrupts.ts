/** Handles Ctrl-C and SIGTERM: the first signal requests an orderly end, the second ends the process at once. */
export interface Interrupts {
  readonly signal: AbortSignal;
  /** Stops listening for the signals. */
  release(): void;
}

export function catchInterrupts(atSecond: () => void = () => undefined): Interrupts {
  const controller = new AbortController();
  const caught = () => {
    if (controller.signal.aborted) {
      atSecond();
      process.exit(130);
    }
    controller.abort(new Error("interrupted"));
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, caught);
  return {
    signal: controller.signal,
    release() {
      for (const signal of signals) process.off(signal, caught);
    },
  };
}

export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
