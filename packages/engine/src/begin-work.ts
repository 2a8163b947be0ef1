/** Work is asked for: the activity is in flight from now on. */
import { activityKey, type Work } from "./activity.ts";
import { allowState, weighWork } from "./bounds.ts";
import type { Active } from "./state.ts";
import { change, type Turn } from "./turn.ts";

/** Of a visit that begins: it is ready after all that became ready before. */
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
