/** The graph that a run walks: the program's nodes and edges, and the spliced ones. It is indexed once per program. */
import type { Edge, Node, NodeId, Program } from "./program.ts";
import type { RunState } from "./state.ts";

export interface PlacedEdge {
  readonly edge: Edge;
  /** Position among the program's edges; spliced edges follow. It never changes during a run. */
  readonly index: number;
}

export interface Graph {
  readonly nodes: Readonly<Record<NodeId, Node>>;
  readonly edges: readonly Edge[];
  readonly out: ReadonlyMap<NodeId, readonly PlacedEdge[]>;
  readonly into: ReadonlyMap<NodeId, readonly PlacedEdge[]>;
}

// The function stays pure with these caches: programs and a state's splices are immutable.
const programs = new WeakMap<Program, Graph>();
const spliced = new WeakMap<RunState["spliced"], Graph>();

export function graphOf(program: Program, state: RunState): Graph {
  if (state.spliced.edges.length === 0 && state.spliced.gone.length === 0) {
    return remember(programs, program, () => indexGraph(program.nodes, program.edges, []));
  }
  return remember(spliced, state.spliced, () =>
    indexGraph(
      { ...program.nodes, ...state.spliced.nodes },
      [...program.edges, ...state.spliced.edges],
      state.spliced.gone,
    ),
  );
}

function remember<Key extends object>(memory: WeakMap<Key, Graph>, key: Key, make: () => Graph): Graph {
  const known = memory.get(key);
  if (known !== undefined) return known;
  const made = make();
  memory.set(key, made);
  return made;
}

function indexGraph(nodes: Readonly<Record<NodeId, Node>>, edges: readonly Edge[], gone: readonly NodeId[]): Graph {
  const out = new Map<NodeId, PlacedEdge[]>();
  const into = new Map<NodeId, PlacedEdge[]>();
  const left = new Set(gone);
  for (const [index, edge] of edges.entries()) {
    if (left.has(edge.from) || left.has(edge.to)) continue;
    if (!Object.hasOwn(nodes, edge.from) || !Object.hasOwn(nodes, edge.to)) continue;
    listAt(out, edge.from).push({ edge, index });
    listAt(into, edge.to).push({ edge, index });
  }
  return { nodes, edges, out, into };
}

function listAt<Key, Item>(lists: Map<Key, Item[]>, key: Key): Item[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}
