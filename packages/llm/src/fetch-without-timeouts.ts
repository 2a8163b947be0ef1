/**
 * A fetch without time limits of its own. Node's fetch gives up after 300 s without headers, or between two pieces of a body; a model that
 * thinks for long and does not stream exceeds this. The caller's signal is the limit.
 */
import { type Dispatching, nodesDispatcher, patience } from "./nodes-dispatcher.ts";

type Dispatcher = NonNullable<RequestInit["dispatcher"]>;

export const fetchWithoutTimeouts: typeof fetch = async (input, init) => {
  const nodes = nodesDispatcher();
  if (nodes === undefined) return await fetch(input, init);
  const patient: Dispatching = {
    dispatch: (options, handler) => nodes.dispatch({ ...options, ...patience }, handler),
  };
  return await fetch(input, { ...init, dispatcher: patient as unknown as Dispatcher });
};
