/**
 * Returns the dispatcher of Node's own fetch. Requests through it share fetch's connections and the process's proxy (NODE_USE_ENV_PROXY).
 */
export interface Dispatching {
  dispatch(options: object, handler: unknown): boolean;
}

/** The key under which undici (Node contains a copy) stores its dispatcher. It exists once a class of fetch has been used. */
const key = Symbol.for("undici.globalDispatcher.1");

/** undefined: Node stores it elsewhere. */
export function nodesDispatcher(): Dispatching | undefined {
  void globalThis.Response;
  return (globalThis as { readonly [key]?: Dispatching })[key];
}

/** Node's fetch gives up after 300 s without headers, or between two pieces of a body. 0: no limit. */
export const patience = { headersTimeout: 0, bodyTimeout: 0 } as const;

/** Names and values alternate. */
export type RawHeaders = readonly (Buffer | readonly Buffer[])[];

/**
 * The callbacks of a dispatcher for one exchange, in the form that Node's own fetch uses. Every dispatcher stored under that key must
 * support this form.
 */
export interface DispatchHandler {
  /** The request is about to be written; `abort` destroys its connection. */
  onConnect(abort: (reason: unknown) => void): void;
  /** Also called for each informational response before the real one. */
  onHeaders(status: number, headers: RawHeaders, resume: () => void, statusText: string): boolean;
  onData(piece: Buffer): boolean;
  onComplete(): void;
  /** Called at most once, and never together with onComplete. Also called for requests that the dispatcher refuses to send. */
  onError(error: unknown): void;
}
