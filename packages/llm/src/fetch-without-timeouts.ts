/**
 * fetch without limits of its own: Node's gives up after 300 s without headers, or between two pieces of a body, which a model that
 * thinks for long and does not stream exceeds. The caller's signal is the limit. Requests go to the dispatcher that Node's fetch
 * uses anyway, so that a proxy set for the process (NODE_USE_ENV_PROXY) stays in use.
 */
interface Dispatching {
  dispatch(options: object, handler: unknown): boolean;
}

type Dispatcher = NonNullable<RequestInit["dispatcher"]>;

/** Where undici, the one in Node too, keeps its dispatcher; there once a class of fetch has been touched. */
const key = Symbol.for("undici.globalDispatcher.1");

export const fetchWithoutTimeouts: typeof fetch = async (input, init) => {
  void globalThis.Response;
  const nodes = (globalThis as { readonly [key]?: Dispatching })[key];
  if (nodes === undefined) return await fetch(input, init);
  const patient: Dispatching = {
    // 0: no limit.
    dispatch: (options, handler) => nodes.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler),
  };
  return await fetch(input, { ...init, dispatcher: patient as unknown as Dispatcher });
};
