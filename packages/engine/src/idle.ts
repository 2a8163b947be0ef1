/**
 * Time in which a run only waits, for a person or to be resumed, counts for no time limit. The deadline is removed while the waiting lasts
 * and set again afterwards. A stopped run waits to be resumed, and a queued run waits for a free slot. Any event for a queued run takes it
 * out of the queue.
 *
 * A called run reports to its callers when it only waited (`spans`). A moment in which several of them waited counts once. A caller
 * receives the spans when the call returns. Until then the caller assumes that its time is not over. The supervisor can read the called
 * runs and enforces the caller's deadline.
 */
import { deadlineOf } from "./limits.ts";
import { own } from "./own-value.ts";
import type { Active, HandlingPhase, RunState, Span } from "./state.ts";
import { change, type Turn } from "./turn.ts";

/** Returns the state with the waiting time up to now added to the time limit. Every decision uses this state. */
export function givenBack(state: RunState, at: number): RunState {
  const { since } = state.idle;
  if (since === null) return state;
  const now = { ...state, idle: { ...state.idle, since: Math.max(since, at) } };
  const span: Span = [since, Math.max(since, at)];
  return state.depth > 0 || state.idle.spans !== undefined ? waited(now, [span]) : giveBack(now, span[1] - since);
}

/** The periods up to now in which the run only waited, for its callers. */
export function waitsUntil(state: RunState, at: number): readonly Span[] {
  const { ms, spans } = givenBack(state, at).idle;
  // A state from before spans were recorded contains only the total duration.
  return spans ?? (ms > 0 ? [[at - ms, at]] : []);
}

/** Records periods in which the run, or a run that it called, only waited. Periods that are already recorded count once. */
export function waited(state: RunState, spans: readonly Span[]): RunState {
  const known = state.idle.spans ?? [];
  const all = merged([...known, ...spans]);
  const counted = giveBack(state, lengthOf(all) - lengthOf(known));
  return { ...counted, idle: { ...counted.idle, spans: shortened(all) } };
}

const mostSpans = 100;

/** The oldest spans are merged into one of the same total length. No later event overlaps them, and callers need only their duration. */
function shortened(spans: readonly Span[]): readonly Span[] {
  if (spans.length <= mostSpans) return spans;
  const oldest = spans.slice(0, spans.length - mostSpans + 1);
  const end = oldest.at(-1)?.[1] ?? 0;
  return [[end - lengthOf(oldest), end], ...spans.slice(oldest.length)];
}

const lengthOf = (spans: readonly Span[]) => spans.reduce((sum, [from, to]) => sum + to - from, 0);

export function merged(spans: readonly Span[]): readonly Span[] {
  const all: Span[] = [];
  for (const [from, to] of spans.toSorted(([one], [other]) => one - other)) {
    const last = all.at(-1);
    if (to <= from) continue;
    if (last !== undefined && from <= last[1]) all[all.length - 1] = [last[0], Math.max(last[1], to)];
    else all.push([from, to]);
  }
  return all;
}

/**
 * Returns the run's deadline in ms since 1970. The waiting of the called runs so far (`spans`) does not count. null: the run has no time
 * limit.
 */
export function deadlineWith(state: RunState, at: number, spans: readonly Span[]): number | null {
  return deadlineOf(waited(givenBack(state, at), spans));
}

/** Adds waiting time to the run's time limit, and to its handler's if a handler runs or was stopped. */
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

/** Records whether the run only waits from now on. A run that has ended does not wait, whatever happened last. */
export function reckonIdle(turn: Turn): void {
  const waitsForTurn = turn.event.type === "run.started" && turn.state.phase.is === "doing";
  if (turn.state.idle.queued === true && !waitsForTurn) change(turn, { idle: unqueued(turn.state.idle) });
  const { phase, active, idle } = turn.state;
  if (phase.is === "ended" && idle.since !== null) return change(turn, { idle: { ...idle, since: null } });
  if (phase.is === "created" || phase.is === "ended") return;
  const waiting = Object.values(active);
  const only =
    phase.is === "stopped" || idle.queued === true || (waiting.length > 0 && waiting.every((one) => waits(turn, one)));
  if (only === (idle.since !== null)) return;
  const { at } = turn.event;
  // The time that a parked activity waited for the other side before its patience ended does not count either.
  const given = turn.commands.flatMap((command) => (command.do === "hold" ? command.parked.since : []));
  const since = Math.min(at, ...given);
  change(turn, { idle: { ...idle, since: only ? since : null } });
  const deadline = deadlineOf(turn.state);
  if (deadline !== null) turn.commands.push({ do: "deadline", at: only ? null : deadline });
}

export function unqueued({ queued: _, ...idle }: RunState["idle"]): RunState["idle"] {
  return idle;
}

function waits(turn: Turn, { ref, parked }: Active): boolean {
  return parked?.held === true || own(turn.graph.nodes, ref.node)?.kind === "ask";
}
