/**
 * Time in which a run only waits, for a person or to be resumed, counts for no limit of time: the deadline is taken away while it lasts and
 * set anew after it.
 */
import { deadlineOf } from "./limits.ts";
import { own } from "./own-value.ts";
import type { Active, RunState } from "./state.ts";
import { change, type Turn } from "./turn.ts";

/** The state with the waiting up to now given back, before anything is decided on it. */
export function givenBack(state: RunState, at: number): RunState {
  const { idle, phase } = state;
  if (idle.since === null) return state;
  const ms = Math.max(0, at - idle.since);
  const counted = { ...state, idle: { ms: idle.ms + ms, since: at } };
  if (phase.is !== "handling" || phase.until === null) return counted;
  return { ...counted, phase: { ...phase, until: phase.until + ms } };
}

/** Whether the run only waits from now on, or no longer does. */
export function reckonIdle(turn: Turn): void {
  const { phase, active, idle } = turn.state;
  if (phase.is !== "doing" && phase.is !== "handling") return;
  const waiting = Object.values(active);
  const only = waiting.length > 0 && waiting.every((one) => waits(turn, one));
  if (only === (idle.since !== null)) return;
  const { at } = turn.event;
  // What went on waiting for the other side before it was given up is given back too.
  const given = turn.commands.flatMap((command) => (command.do === "hold" ? command.parked.since : []));
  const since = Math.min(at, ...given);
  change(turn, { idle: { ...idle, since: only ? since : null } });
  const deadline = deadlineOf(turn.state);
  if (deadline !== null) turn.commands.push({ do: "deadline", at: only ? null : deadline });
}

function waits(turn: Turn, { ref, parked }: Active): boolean {
  return parked?.held === true || own(turn.graph.nodes, ref.node)?.kind === "ask";
}
