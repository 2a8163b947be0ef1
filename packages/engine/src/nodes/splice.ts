/**
 * Replaces a node by a plan. Heads of the fragment inherit the edges into the replaced node, its groups and its reruns. Tails inherit the
 * edges out of it and the reruns of it. All nodes inherit its way out on failure. The visit's name is put in front of the fragment's ids,
 * so that two plans never collide.
 */
import { failure } from "../failure.ts";
import type { Edge, Fragment, Node, NodeId, SpliceNode } from "../program.ts";
import type { RunState } from "../state.ts";
import type { NodeRule, Turn } from "../turn.ts";
import { beginPrompting } from "./prompt.ts";

export const splice: NodeRule<SpliceNode> = {
  begin(turn, node, visit) {
    if (node.lifeCycle <= 0) return { do: "fail", failure: failure("LIFE_CYCLE_SPENT") };
    return beginPrompting(turn, node, visit);
  },
  finish(turn, node, active, outcome) {
    if (outcome.kind !== "planned") return { go: "fail", failure: failure("PLAN_INVALID") };
    const wrong = fault(outcome.fragment);
    if (wrong !== null) return { go: "fail", failure: failure("PLAN_INVALID", wrong) };
    const replaced = node.replaces ?? active.ref.node;
    const grafted = graft(turn, replaced, `${active.ref.node}.${active.ref.generation}`, outcome.fragment);
    return {
      go: "on",
      on: "spliced",
      writes: [
        { to: "variable", name: "RESULT", text: outcome.text },
        { to: "graph", spliced: grafted.spliced, heads: grafted.heads },
      ],
    };
  },
};

function fault(fragment: Fragment): string | null {
  const ids = Object.keys(fragment.nodes);
  if (ids.length === 0) return "The plan is empty.";
  for (const edge of fragment.edges) {
    if (!Object.hasOwn(fragment.nodes, edge.from) || !Object.hasOwn(fragment.nodes, edge.to)) {
      return `The plan has an edge from '${edge.from}' to '${edge.to}', but not both nodes exist.`;
    }
  }
  return headsOf(fragment).length === 0 || tailsOf(fragment).length === 0 ? "The plan contains a circle." : null;
}

/** Only an edge on ok, without a rerun, continues the flow. */
function flows(edge: Edge): boolean {
  return edge.on === "ok" && edge.rerun !== true;
}

function headsOf(fragment: Fragment): NodeId[] {
  return Object.keys(fragment.nodes).filter((id) => !fragment.edges.some((edge) => edge.to === id));
}

/** Finds the tails: nodes without a successor on ok. A node that is reached only by other edges is not a tail. */
function tailsOf(fragment: Fragment): NodeId[] {
  return Object.keys(fragment.nodes).filter((id) => {
    const into = fragment.edges.filter((edge) => edge.to === id);
    const aside = into.length > 0 && !into.some(flows);
    return !aside && !fragment.edges.some((edge) => edge.from === id && flows(edge));
  });
}

function graft(
  turn: Turn,
  replaced: NodeId,
  prefix: string,
  fragment: Fragment,
): { spliced: RunState["spliced"]; heads: NodeId[] } {
  const name = (id: NodeId) => `${prefix}/${id}`;
  const { spliced } = turn.state;
  const old = turn.graph.nodes[replaced];
  const heads = headsOf(fragment);
  const tails = tailsOf(fragment);
  const nodes: Record<NodeId, Node> = {};
  for (const [id, node] of Object.entries(fragment.nodes)) {
    const inherits = heads.includes(id) && old?.groups !== undefined;
    const renamed =
      node.kind === "splice" && node.replaces !== undefined ? { ...node, replaces: name(node.replaces) } : node;
    nodes[name(id)] = inherits ? { ...renamed, groups: { ...old.groups, ...node.groups } } : renamed;
  }
  const inner = fragment.edges.map((edge) => ({ ...edge, from: name(edge.from), to: name(edge.to) }));
  const into = (turn.graph.into.get(replaced) ?? []).map(({ edge }) => edge);
  const out = (turn.graph.out.get(replaced) ?? []).map(({ edge }) => edge);
  const all = Object.keys(fragment.nodes);
  const grafted = [
    ...into.flatMap((edge) => (edge.rerun ? tails : heads).map((id) => ({ ...edge, to: name(id) }))),
    ...out.filter(flows).flatMap((edge) => tails.map((id) => ({ ...edge, from: name(id) }))),
    ...out.filter((edge) => edge.rerun).flatMap((edge) => heads.map((id) => ({ ...edge, from: name(id) }))),
    ...out.filter((edge) => edge.on === "fail").flatMap((edge) => all.map((id) => ({ ...edge, from: name(id) }))),
  ];
  return {
    spliced: {
      nodes: { ...spliced.nodes, ...nodes },
      edges: [...spliced.edges, ...inner, ...grafted],
      gone: [...spliced.gone, replaced],
    },
    heads: heads.map(name),
  };
}
