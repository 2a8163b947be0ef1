/**
 * Time in which a run only waits, for a person or to be resumed, counts for no limit of time: the deadline is taken away while it lasts and
 * set anew after it. A stopped run waits to be resumed.
 */
import { deadlineOf } from "./limits.ts";
import { own } from "./own-value.ts";
import type { Active, HandlingPhase, RunState } from "./state.ts";
import { change, type Turn } from "./turn.ts";

/** The state with the waiting up to now given back, before anything is decided on it. */
export function givenBack(state: RunState, at: number): RunState {
  const { since } = state.idle;
  if (since === null) return state;
  const ms = Math.max(0, at - since);
  return giveBack({ ...state, idle: { ...state.idle, since: at } }, ms);
}

/** For how long the run has only waited, up to now. */
export function idleUntil(state: RunState, at: number): number {
  return givenBack(state, at).idle.ms;
}

/** So much more of its time the run only waited, and its handler, if one runs or was stopped. */
export function giveBack(state: RunState, ms: number): RunState {
  const { idle, phase } = state;
  const counted = { ...state, idle: { ...idle, ms: idle.ms + ms } };
  if (phase.is === "handling") return { ...counted, phase: later(phase, ms) };
  if (phase.is === "stopped" && phase.was !== "doing") {
    return { ...counted, phase: { ...phase, was: later(phase.was, ms) } };
  }
  return counted;
}

function later(phase: HandlingPhase, ms: number): HandlingPhase {
  return phase.until === null ? phase : { ...phase, until: phase.until + ms };
}

/** Whether the run only waits from now on, or no longer does. One that has ended waits for nobody, whatever came last. */
export function reckonIdle(turn: Turn): void {
  const { phase, active, idle } = turn.state;
  if (phase.is === "ended" && idle.since !== null) return change(turn, { idle: { ...idle, since: null } });
  if (phase.is === "created" || phase.is === "ended") return;
  const waiting = Object.values(active);
  const only = phase.is === "stopped" || (waiting.length > 0 && waiting.every((one) => waits(turn, one)));
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
