/**
 * A place among those that ask models. A request is put together before it waits for its place, so that it leaves in the moment in which the
 * place is free. (Where models are slow its place is free long before; see the worker's model-slots.ts, M2.)
 */
export interface ModelSlot {
  /** Resolves when the request may leave beside those under way; rejects when the signal is aborted before. */
  begin(signal?: AbortSignal): Promise<void>;
  /** The last byte of its reply is here: the place is free for others. Twice is once. */
  arrived(): void;
  /** Nothing more comes of it; the place is free, if it was not before. `answered`: what arrived is a model's reply. Twice is once. */
  over(answered: boolean): void;
}

export const noLimit: ModelSlot = { begin: async () => undefined, arrived: () => undefined, over: () => undefined };

/** The same slot, of which somebody hears: when its request is about to leave (a throw keeps it from that), and when its reply is here. */
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

/** Hears whether anything of a request may have reached the endpoint. */
export interface Departure {
  /** It waits for a connection, a handshake included: until `left` nothing of it is written. */
  connecting(): void;
  left(): void;
}

/** What our fetch is given with a request, besides what fetch knows. */
export interface InSlot extends RequestInit {
  readonly slot?: ModelSlot;
  /** Gives the request up until its reply is here. Used instead of `signal`, which the library makes, and would drop a whole reply for. */
  readonly until?: AbortSignal;
  readonly departure?: Departure;
}

/** fetch for requests that have a slot: none leaves before it has begun. Whoever asks ends it. */
export function fetchInSlot(beneath: typeof fetch): typeof fetch {
  return async (input, init) => {
    const { slot, until, departure: _, ...rest }: InSlot = init ?? {};
    const signal = until ?? rest.signal ?? null;
    await slot?.begin(signal ?? undefined);
    return await beneath(input, { ...rest, signal });
  };
}
