/**
 * Counts steps that several runs of a tree take at the same time. A called run counts its own steps and reports them to its caller when it
 * ends. That is exact as long as the caller does nothing else meanwhile. If calls run beside other work, no run knows the steps of the
 * others. Then the store counts the steps of all of them in one place (its step pools), and each event contains how many steps may begin
 * (`room`).
 *
 * P1  A run shares its steps from the first event after which it has a call in flight beside other work.
 * P2  Two runs of a tree that take steps at the same time have a common caller that shares its steps. Without such a caller nothing is
 *     counted twice and nothing costs more.
 */
import { isCall } from "./calls-in-flight.ts";
import { graphOf } from "./graph.ts";
import { own } from "./own-value.ts";
import type { Program } from "./program.ts";
import type { RunState } from "./state.ts";
import { awaitsCalls } from "./workflow-tools.ts";

/** Checks P1 for one state: does a call run beside other work? */
export function sharesSteps(program: Program, state: RunState): boolean {
  const all = Object.values(state.active);
  if (all.length < 2) return false;
  // A prompt that waits for the workflows it called begins nothing meanwhile.
  const going = all.filter((active) => !awaitsCalls(state, active));
  if (going.length < 2) return false;
  const { nodes } = graphOf(program, state);
  return going.some(({ ref }) => isCall(own(nodes, ref.node), ref));
}
