/** Finds the called workflows that a run waits for: from a CALL, from an item of a map, or from a model that uses a workflow as a tool. */
import type { ActivityRef } from "./activity.ts";
import { graphOf } from "./graph.ts";
import { own } from "./own-value.ts";
import type { Node, Program } from "./program.ts";
import type { RunState } from "./state.ts";

export function isCall(node: Node | undefined, ref: ActivityRef): boolean {
  if (node === undefined) return false;
  if (node.kind === "call") return true;
  return ref.item !== null && (node.kind === "prompt" || (node.kind === "map" && node.each.kind === "call"));
}

export function hasCalls(program: Program, state: RunState): boolean {
  const active = Object.values(state.active);
  if (active.length === 0) return false;
  const { nodes } = graphOf(program, state);
  return active.some(({ ref }) => isCall(own(nodes, ref.node), ref));
}
