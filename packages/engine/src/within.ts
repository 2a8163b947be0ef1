/** Runs a part of a turn completely or not at all. If it exceeds a bound, its changes are undone, and `otherwise` runs instead. */
import { allowState, Excess, weighState } from "./bounds.ts";
import type { Failure } from "./failure.ts";
import type { Turn } from "./turn.ts";

const nothing: readonly unknown[] = [];

export function within(turn: Turn, act: () => void, otherwise: (why: Failure) => void): void {
  const { state, graph, asked, begun } = turn;
  const lists = [turn.commands, turn.checked, turn.failed, turn.ready, turn.fed] as const;
  const before = lists.map((list) => (list.length === 0 ? nothing : [...list]));
  try {
    act();
    if (turn.state !== state) allowState(weighState(turn.state), turn.state.bounds, "What the run holds");
  } catch (error) {
    if (!(error instanceof Excess)) throw error;
    turn.state = state;
    turn.graph = graph;
    turn.asked = asked;
    turn.begun = begun;
    lists.forEach((list: unknown[], index) => {
      list.splice(0, list.length, ...(before[index] ?? []));
    });
    otherwise(error.failure);
  }
}
