/**
 * Carries the state of a run at one point over to another program: variables, lists, threads, hits and consumption. Activities that were in
 * flight begin again as the new program defines them, so a corrected prompt is sent in its corrected form.
 *
 * Token positions refer to the edges of one program. If branches wait for each other and the edges differ, the tokens have no clear
 * position in the new program. Then the carry-over is refused. It is also refused if anything else has no counterpart in the new program.
 */
import type { ForkPoint } from "./fork.ts";
import { own } from "./own-value.ts";
import type { Node, NodeId, Program } from "./program.ts";
import type { RunState } from "./state.ts";

export type Carried =
  | { readonly ok: true; readonly state: RunState; readonly begins: readonly NodeId[] }
  /** A sentence for people. */
  | { readonly ok: false; readonly message: string };

export function carryOver(old: Program, { state }: ForkPoint, next: Program): Carried {
  const refused = (message: string): Carried => ({ ok: false, message });
  if (old.dialect !== next.dialect) return refused(`It was ${old.dialect}, and is ${next.dialect}.`);
  const inFlight = Object.values(state.active).sort((a, b) => a.order - b.order);
  const begins = [...new Set(inFlight.map(({ ref }) => ref.node))];
  if (state.phase.is !== "doing" || begins.length === 0) return refused("No activity was running at this point.");
  for (const id of begins) {
    const [was, is] = [own(old.nodes, id), own(next.nodes, id)];
    if (is === undefined) return refused(`The new version has no node ${id}.${nearest(id, was, next)}`);
    if (was !== undefined && was.kind !== is.kind) return refused(`${id} was ${was.kind}, and is ${is.kind}.`);
  }
  if (state.held.length > 0 || Object.keys(state.maps).length > 0 || state.spliced.edges.length > 0) {
    return refused(
      "At this point several parts of the flow belong together, and another version cannot continue them.",
    );
  }
  const sameEdges = JSON.stringify(old.edges) === JSON.stringify(next.edges);
  const placed = [...Object.values(state.tokens), ...Object.values(state.taken)].some((count) => count !== 0);
  if (placed && !sameEdges) {
    return refused(
      "At this point parts of the flow waited for others, or edges had been counted, but the edges have changed.",
    );
  }
  return { ok: true, begins, state: before(state, begins, next) };
}

/** Restores the state from before these nodes began. */
function before(state: RunState, begins: readonly NodeId[], next: Program): RunState {
  const hits = { ...state.hits };
  for (const id of begins) hits[id] = Math.max(0, (hits[id] ?? 1) - 1);
  let lists = { ...next.lists, ...state.lists };
  for (const { taken } of Object.values(state.active)) {
    for (const { list, end, items } of taken.toReversed()) {
      const now = lists[list] ?? [];
      lists = { ...lists, [list]: end === "head" ? [...items, ...now] : [...now, ...items] };
    }
  }
  const defaults = next.params.flatMap(({ name, default: otherwise }) =>
    own(state.variables, name) === undefined && otherwise !== null ? [[name, otherwise] as const] : [],
  );
  return {
    ...state,
    hits,
    lists,
    active: {},
    environment: {},
    variables: { ...state.variables, ...Object.fromEntries(defaults) },
    spent: { ...state.spent, steps: Math.max(0, state.spent.steps - Object.keys(state.active).length) },
  };
}

/** Suggests nodes of the same kind, in case the node was renamed. */
function nearest(id: NodeId, was: Node | undefined, { nodes }: Program): string {
  const same = Object.keys(nodes).filter((name) => name !== id && nodes[name]?.kind === was?.kind);
  return same.length === 0 ? "" : ` Nodes of the same kind: ${same.slice(0, 8).join(", ")}.`;
}
