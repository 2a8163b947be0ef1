/** Requests work: from now on the activity is in flight. */
import { activityKey, type Work } from "./activity.ts";
import { allowState, weighWork } from "./bounds.ts";
import type { Active } from "./state.ts";
import { change, type Turn } from "./turn.ts";

/** Begins a new visit. It gets the last position in the order in which activities become ready. */
export function beginWork(turn: Turn, active: Active, work: Work): void {
  const { order } = turn.state;
  change(turn, { order: order + 1 });
  askFor(turn, { ...active, order }, work);
}

export function askFor(turn: Turn, active: Active, work: Work): void {
  turn.asked += weighWork(work);
  allowState(turn.asked, turn.state.bounds, "What this step asks for");
  change(turn, { active: { ...turn.state.active, [activityKey(active.ref)]: active } });
  turn.commands.push({ do: "perform", activity: active.ref, work, notBefore: null });
}
