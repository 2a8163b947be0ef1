/** A reply that is paid for is held until it is recorded (I3): what may pass is waited for as long as its call may last. */
import { mayPass, patiently } from "@markmill/base";

export interface Recording {
  readonly signal?: AbortSignal | undefined;
  /** Told once. */
  readonly tell?: ((error: unknown) => void) | undefined;
  /** The last one again and again. */
  readonly pausesMs?: readonly number[];
}

/** 30 s in all, after which only what may pass is tried again. */
const shippedMs = [100, 400, 1_500, 3_000, 5_000, 5_000, 5_000, 5_000, 5_000];

/** An abort ends the wait, not the reply: there is one more try. */
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
