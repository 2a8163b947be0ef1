/**
 * The dispatcher that Node's fetch sends its requests to. Whoever sends through it shares fetch's connections, and a proxy set for
 * the process (NODE_USE_ENV_PROXY).
 */
export interface Dispatching {
  dispatch(options: object, handler: unknown): boolean;
}

/** Where undici, the one in Node too, keeps its dispatcher; there once a class of fetch has been touched. */
const key = Symbol.for("undici.globalDispatcher.1");

/** undefined: Node keeps it elsewhere. */
export function nodesDispatcher(): Dispatching | undefined {
  void globalThis.Response;
  return (globalThis as { readonly [key]?: Dispatching })[key];
}

/** Node's fetch gives up after 300 s without headers, or between two pieces of a body. 0: no limit. */
export const patience = { headersTimeout: 0, bodyTimeout: 0 } as const;

/** Names and values in turn. */
export type RawHeaders = readonly (Buffer | readonly Buffer[])[];

/**
 * What a dispatcher tells of one exchange, in the form in which Node's own fetch hears it: whatever stands at that place has to know
 * this form.
 */
export interface DispatchHandler {
  /** The request is about to be written; `abort` destroys its connection. */
  onConnect(abort: (reason: unknown) => void): void;
  /** Also for each informational response before the real one. */
  onHeaders(status: number, headers: RawHeaders, resume: () => void, statusText: string): boolean;
  onData(piece: Buffer): boolean;
  onComplete(): void;
  /** At most one of this and onComplete; also for what the dispatcher refuses to send. */
  onError(error: unknown): void;
}
