/**
 * Finds the points at which a run can be forked. The run's events up to that point are folded again, so the fork has the same state and the
 * same activities in flight, with their work.
 */
import { type ActivityRef, activityKey, type Work } from "./activity.ts";
import type { Event } from "./event.ts";
import { isLimit } from "./failure.ts";
import type { NodeId, Program } from "./program.ts";
import { initialState, type Phase, type RunState } from "./state.ts";
import { step } from "./step.ts";
import { workKinds } from "./work-kinds.ts";

export interface ForkPoint {
  /** The last event that is taken over. */
  readonly seq: number;
  readonly state: RunState;
  /** The work that was in flight, by activity key. */
  readonly works: Readonly<Record<string, Work>>;
  /** The activity whose failure ended the run, or the activity that the user named. */
  readonly activity: ActivityRef | null;
  /** Whether the replies so far are taken over, because the reply did not cause the end of the run. */
  readonly keepsReplies: boolean;
}

interface Asked {
  readonly seq: number;
  readonly activity: ActivityRef;
  readonly work: Work;
}

/**
 * Forks before the last visit of a node; null if the run never visited it. `into`: take over the run that the node called, which may be a
 * workflow that a model called as a tool.
 */
export function forkAtNode(
  program: Program,
  events: readonly Event[],
  node: NodeId,
  into: boolean = false,
): ForkPoint | null {
  const visit = visitsOf(program, events, events.length).findLast(
    ({ activity, work }) => activity.node === node && (into || !isToolCall(work)),
  );
  return visit === undefined ? null : forkAfter(program, events, visit.seq, visit.activity, false);
}

/**
 * Forks before the step that made the run fail: its last prompt, command, question, call or tool. If a limit or a person ended the run, the
 * activities in flight continue. Returns null if the run has not failed or did nothing before.
 */
export function forkAtFailure(program: Program, events: readonly Event[]): ForkPoint | null {
  let state = initialState;
  /** The number of events before the last stop of the run. */
  let beforeStop = 0;
  const from = ownFrom(events);
  for (const [index, event] of events.entries()) {
    if (index > 0 && index < from) continue;
    const { phase } = state;
    state = step(program, state, event).state;
    if (phase.is === "doing" && state.phase.is === "stopped") beforeStop = index;
    const halted = phase.is === "stopped" && phase.was === "doing";
    if (!(phase.is === "doing" || halted) || !hasFailed(state.phase)) continue;
    if (event.type === "run.limited" || event.type === "run.cancelled") {
      return forkAfter(program, events, halted ? beforeStop : index, null, true);
    }
    const reason = "reason" in state.phase ? state.phase.reason : null;
    const limited = reason !== null && isLimit(reason);
    // A workflow that a model called as a tool is part of its prompt. The exception is a limit that was reached below: then the called run
    // is forked.
    const below = limited && "activity" in event && visitedCall(program, event);
    const visit = visitsOf(program, events, index).findLast(
      ({ work }) => !workKinds[work.kind].pure && (below || !isToolCall(work)),
    );
    if (visit === undefined) return null;
    return forkAfter(program, events, visit.seq, visit.activity, limited && event.type === "activity.succeeded");
  }
  return null;
}

/** Events before this one belong to another program, except the first event. */
function ownFrom(events: readonly Event[]): number {
  return events.findLastIndex((event) => event.type === "run.forked" && event.carried !== undefined);
}

/** The visits that the first `count` events requested, in order. */
function visitsOf(program: Program, events: readonly Event[], count: number): Asked[] {
  const asked: Asked[] = [];
  let state = initialState;
  const from = ownFrom(events);
  for (const [index, event] of events.slice(0, count).entries()) {
    if (index > 0 && index < from) continue;
    const { phase } = state;
    const next = step(program, state, event);
    state = next.state;
    // The work of handlers belongs to an end that the fork does not have.
    if (phase.is === "handling" || state.phase.is === "handling") break;
    for (const command of next.commands) {
      if (command.do !== "perform" || command.activity.attempt > 1) continue;
      asked.push({ seq: index + 1, activity: command.activity, work: command.work });
    }
  }
  return asked;
}

function forkAfter(
  program: Program,
  events: readonly Event[],
  seq: number,
  activity: ActivityRef | null,
  keepsReplies: boolean,
): ForkPoint {
  const works = new Map<string, Work>();
  let state = initialState;
  for (const event of events.slice(0, seq)) {
    const next = step(program, state, event);
    state = next.state;
    for (const command of next.commands) {
      if (command.do === "perform") works.set(activityKey(command.activity), command.work);
    }
  }
  const inFlight = Object.keys(state.active).flatMap((key) => {
    const work = works.get(key);
    return work === undefined ? [] : [[key, work] as const];
  });
  return { seq, state, works: Object.fromEntries(inFlight), activity, keepsReplies };
}

/** Returns whether the event concerns a call, made by the workflow or by a model. */
function visitedCall({ nodes }: Program, event: Extract<Event, { readonly activity: ActivityRef }>): boolean {
  const isTool = event.activity.item !== null && nodes[event.activity.node]?.kind === "prompt";
  return isTool || (event.type === "activity.succeeded" && event.outcome.kind === "returned");
}

function isToolCall(work: Work): boolean {
  return work.kind === "call" && work.tool !== undefined;
}

function hasFailed(phase: Phase): boolean {
  if (phase.is === "handling") return phase.of === "failed";
  return phase.is === "ended" && phase.status !== "success";
}
