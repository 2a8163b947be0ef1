/**
 * Decides one event. `advance` takes a run as it was read and folds the event with `step`. No other code calls `step` for a commit (I4).
 * add-rows.ts turns the result into rows, and committer.ts writes all of them or none.
 */
import {
  activityKey,
  type Begun,
  type Command,
  countedStep,
  type Event,
  inlineKindOf,
  type RunState,
  sharesSteps,
} from "@markmill/engine";
import type { InlineActivity } from "./inline-activity.ts";
import type { Creation } from "./rows.ts";
import type { LoadedRun } from "./run-row.ts";

/** The activity that brings an event, and the claim under which the worker performed it. */
export interface EventSource {
  readonly id: number;
  readonly claim: number;
}

export interface Advance {
  readonly run: LoadedRun;
  readonly event: Event;
  readonly source: EventSource | null;
  /** Set for a run that does not exist yet. */
  readonly creation: Creation | null;
  /** The person who answered a question to people. */
  readonly by: string | null;
  readonly state: RunState;
  readonly commands: readonly Command[];
  readonly begun: Begun;
  /** From this event on, the run shares its steps with the runs it calls (step-pools.ts). */
  readonly opensPool: boolean;
  readonly aborts: boolean;
  /** The event takes back activities. Some of them may be calls of other runs. */
  readonly withdraws: boolean;
  /** The inline activities that stay open, and the new ones, which have no id yet. */
  readonly stillOpen: readonly InlineActivity[];
  readonly opened: readonly InlineActivity[];
}

/** null: the event changes nothing (duplicate, late, stale, or after the end). */
export function advance(
  run: LoadedRun,
  event: Event,
  source: EventSource | null,
  creation: Creation | null = null,
  by: string | null = null,
): Advance | null {
  const { state, commands, begun } = countedStep(run.program, run.state, event);
  if (state === run.state) return null;
  const aborts = commands.some((command) => command.do === "abort") || state.epoch !== run.state.epoch;
  const withdraws = aborts || commands.some((command) => command.do === "void");
  // A stopped run keeps its inline activities, although no worker may perform them. A resume requests them again, and they are stored only
  // here.
  const stillOpen =
    aborts && state.phase.is !== "stopped"
      ? []
      : run.inline.filter(({ ref }) => state.active[activityKey(ref)]?.ref.attempt === ref.attempt);
  const opened = commands.flatMap((command) => openedInline(run, command, event.at) ?? []);
  const opensPool = !run.pools.includes(run.id) && sharesSteps(run.program, state);
  return { run, event, source, creation, by, state, commands, begun, opensPool, aborts, withdraws, stillOpen, opened };
}

function openedInline(run: LoadedRun, command: Command, at: number): InlineActivity | null {
  if (command.do === "perform") {
    const kind = command.notBefore === null ? inlineKindOf(command.work) : null;
    return kind === null ? null : { id: 0, ref: command.activity, kind, at };
  }
  if (command.do !== "retry") return null;
  const key = activityKey(command.activity);
  const before = run.inline.find(({ ref }) => activityKey(ref) === key);
  return before === undefined ? null : { id: 0, ref: command.activity, kind: before.kind, at };
}

/** `ids`: one id per new inline activity. */
export function withIds(one: Advance, ids: readonly number[]): Advance {
  return { ...one, opened: one.opened.map((inline, index) => ({ ...inline, id: ids[index] ?? 0 })) };
}
