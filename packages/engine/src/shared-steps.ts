/**
 * Steps that runs of a tree take at the same time. A called run counts its own steps and tells its caller at its end, which is exact as long as
 * nothing else goes on beside it. Where calls go on beside other work, no run knows how many steps the others take: the steps are then counted
 * in one place for all of them (the store's step pools), and an event says how many may begin (`room`).
 *
 * P1  A run shares its steps from the first event on after which it has a call in flight beside other work.
 * P2  Two runs of a tree that take steps at the same time have a common caller that shares its steps. Without such a caller nothing is counted
 *     twice and nothing costs more.
 */
import { isCall } from "./calls-in-flight.ts";
import { graphOf } from "./graph.ts";
import { own } from "./own-value.ts";
import type { Program } from "./program.ts";
import type { RunState } from "./state.ts";
import { awaitsCalls } from "./workflow-tools.ts";

/** P1, of a state alone: does a call go on beside other work? */
export function sharesSteps(program: Program, state: RunState): boolean {
  const all = Object.values(state.active);
  if (all.length < 2) return false;
  // A prompt that waits for the workflows it called begins nothing meanwhile.
  const going = all.filter((active) => !awaitsCalls(state, active));
  if (going.length < 2) return false;
  const { nodes } = graphOf(program, state);
  return going.some(({ ref }) => isCall(own(nodes, ref.node), ref));
}
