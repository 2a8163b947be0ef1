/** Keeps a paid reply until it is recorded (I3): it retries temporary failures as long as the call may last. */
import { mayPass, patiently } from "@markmill/base";

export interface Recording {
  readonly signal?: AbortSignal | undefined;
  /** Called once, with the first error. */
  readonly tell?: ((error: unknown) => void) | undefined;
  /** The last pause repeats. */
  readonly pausesMs?: readonly number[];
}

/** 30 s in total. After that only temporary failures are retried. */
const shippedMs = [100, 400, 1_500, 3_000, 5_000, 5_000, 5_000, 5_000, 5_000];

/** An abort ends the wait, but does not drop the reply: there is one more attempt. */
export function recordPatiently<Recorded>(record: () => Promise<Recorded>, recording: Recording): Promise<Recorded> {
  const { signal, tell, pausesMs = shippedMs } = recording;
  return patiently(
    record,
    (error, { tries }) => {
      if (tries === 1) tell?.(error);
      if (tries > pausesMs.length && !mayPass(error)) return null;
      return pausesMs[tries - 1] ?? pausesMs.at(-1) ?? 0;
    },
    signal,
  );
}
