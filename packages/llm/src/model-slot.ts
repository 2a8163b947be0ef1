/**
 * A slot limits how many requests to models run at the same time. A request is built before it waits for its slot, so that it leaves as
 * soon as the slot is free. (If models are slow, the slot is free long before; see the worker's model-slots.ts, M2.)
 */
export interface ModelSlot {
  /** Resolves when the request may leave; rejects when the signal is aborted before. */
  begin(signal?: AbortSignal): Promise<void>;
  /** The last byte of the reply has arrived: the slot is free for others. A second call changes nothing. */
  arrived(): void;
  /** The request has ended; the slot is free, if it was not before. `answered`: a model's reply arrived. A second call changes nothing. */
  over(answered: boolean): void;
}

export const noLimit: ModelSlot = { begin: async () => undefined, arrived: () => undefined, over: () => undefined };

/**
 * The same slot with callbacks: before its request leaves (if the callback throws, the request does not leave), and when its reply has
 * arrived.
 */
export function heardSlot(
  slot: ModelSlot,
  hear: { readonly begun: () => void; readonly arrived?: () => void },
): ModelSlot {
  return {
    async begin(signal) {
      await slot.begin(signal);
      hear.begun();
    },
    arrived() {
      hear.arrived?.();
      slot.arrived();
    },
    over: (answered) => slot.over(answered),
  };
}

/** Receives whether any part of a request may have reached the endpoint. */
export interface Departure {
  /** The request waits for a connection, including the handshake. Until `left`, nothing of it is written. */
  connecting(): void;
  left(): void;
}

/** Options of our own fetch in addition to those of fetch. */
export interface InSlot extends RequestInit {
  readonly slot?: ModelSlot;
  /**
   * Aborts the request until its reply has arrived. It replaces `signal`, which the library creates: that signal would also drop a complete
   * reply.
   */
  readonly until?: AbortSignal;
  readonly departure?: Departure;
}

/** A fetch for requests with a slot: none leaves before its slot has begun. The caller ends the slot. */
export function fetchInSlot(beneath: typeof fetch): typeof fetch {
  return async (input, init) => {
    const { slot, until, departure: _, ...rest }: InSlot = init ?? {};
    const signal = until ?? rest.signal ?? null;
    await slot?.begin(signal ?? undefined);
    return await beneath(input, { ...rest, signal });
  };
}
