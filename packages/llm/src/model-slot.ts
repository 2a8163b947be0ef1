/** A place among those that ask models. The request is put together before it, so that it leaves in the very moment its place is free. */
export interface ModelSlot {
  /** Resolves when the request may leave beside those under way; rejects when the signal is aborted before. */
  begin(signal?: AbortSignal): Promise<void>;
  /** `answered`: a reply came, as long after `begin` as models take. Twice is once. */
  over(answered: boolean): void;
}

export const noLimit: ModelSlot = { begin: async () => undefined, over: () => undefined };

/** What fetch is given with a request, besides what it knows. */
export interface InSlot extends RequestInit {
  readonly slot?: ModelSlot;
}

/** fetch for requests that have a slot: none leaves before it has begun. */
export function fetchInSlot(beneath: typeof fetch): typeof fetch {
  return async (input, init) => {
    const { slot, ...rest }: InSlot = init ?? {};
    await slot?.begin(rest.signal ?? undefined);
    return await beneath(input, rest);
  };
}
