/**
 * One event, decided. `advance` takes a run as it was read, folds the event with `step` (the only call of it that is written, I4)
 * and says, as rows, everything that has to be written with it: state, variables, the event, the next activities, messages, the end.
 * Nothing is written here; committer.ts writes all of it or nothing.
 */
import { activityKey, type Command, type Event, type RunState, step, type Usage } from "@markmill/engine";
import type { AskRow, BirthRow, CommitRows, RunWrite } from "./commit-statement.ts";
import { itemToColumn, type LoadedRun, queueOf } from "./run-row.ts";

/** The activity that brings an event, and the claim it was performed under. */
export interface Bearer {
  readonly id: number;
  readonly claim: number;
}

export interface Advance {
  readonly run: LoadedRun;
  readonly event: Event;
  readonly bearer: Bearer | null;
  /** Of a run that does not exist yet. */
  readonly birth: Omit<BirthRow, keyof RunWrite | "n" | "caller_state" | "caller_outcome" | "caller_usage"> | null;
  /** Who answered, of an answered ask. */
  readonly by: string | null;
  readonly state: RunState;
  readonly commands: readonly Command[];
  readonly aborts: boolean;
  /** It takes back work, of which some may be a called run. */
  readonly withdraws: boolean;
}

/** null: the event changes nothing (duplicate, late, stale, or after the end). */
export function advance(
  run: LoadedRun,
  event: Event,
  bearer: Bearer | null,
  birth: Advance["birth"] = null,
  by: string | null = null,
): Advance | null {
  const { state, commands } = step(run.program, run.state, event);
  if (state === run.state) return null;
  const aborts = commands.some((command) => command.do === "abort") || state.epoch !== run.state.epoch;
  const withdraws = aborts || commands.some((command) => command.do === "void");
  return { run, event, bearer, birth, by, state, commands, aborts, withdraws };
}

/** Adds what an advance writes to the rows of a group. */
export function addRows(rows: CommitRows, stringify: (value: unknown) => string, one: Advance): void {
  const { run, event, bearer, birth, by, state, commands, aborts } = one;
  const { variables: _, ...kept } = state;
  const n = rows.states.push(stringify(kept));
  const seq = run.rev + 1;
  const to: RunWrite = { ...writeOf(state), ...endOf(commands), deadline: deadlineOf(commands) };
  const end = commands.find((command) => command.do === "end");
  const repeated = new Set<string>();
  let position = 0;
  let part = 0;
  rows.events.push({ n, seq, part, type: event.type, at: event.at, body: event });

  for (const command of commands) {
    if (command.do === "perform") {
      const { activity, work } = command;
      repeated.add(activityKey(activity));
      rows.next.push({
        n,
        ...keyOf(activity),
        attempt: activity.attempt,
        kind: work.kind,
        queue: queueOf(work.kind),
        epoch: state.epoch,
        state: work.kind === "ask" ? "waiting" : "ready",
        not_before: command.notBefore,
        work,
      });
    } else if (command.do === "retry") {
      const { activity } = command;
      repeated.add(activityKey(activity));
      rows.retries.push({
        n,
        ...keyOf(activity),
        attempt: activity.attempt,
        not_before: command.notBefore,
      });
    } else if (command.do === "void" && !aborts) {
      for (const activity of command.activities) rows.voids.push({ n, ...keyOf(activity) });
    } else if (command.do === "append") {
      for (const { role, text } of command.messages) {
        const { thread, agent } = command;
        rows.messages.push({ n, seq, position, thread, agent, role, text, ...keyOf(command.activity) });
        position += 1;
      }
    } else if (command.do === "warn") {
      part += 1;
      rows.events.push({ n, seq, part, type: "warning", at: event.at, body: command });
    }
  }

  for (const [name, value] of Object.entries(state.variables)) {
    if (birth !== null || run.state.variables[name] !== value) rows.variables.push({ n, name, value });
  }
  for (const name of Object.keys(birth === null ? run.state.variables : {})) {
    if (!(name in state.variables)) rows.variables.push({ n, name, value: null });
  }

  const returned = end === undefined ? null : { kind: "returned", ...withoutDo(end) };
  if (birth !== null) {
    const called = birth.parent_activity_id !== null;
    rows.births.push({
      n,
      ...birth,
      ...to,
      caller_state: called ? (returned === null ? "waiting" : "ready") : null,
      caller_outcome: called ? returned : null,
      caller_usage: called && returned !== null ? usageOf(state) : null,
    });
    return;
  }
  rows.moves.push({
    n,
    id: run.id,
    rev: run.rev,
    from_epoch: run.state.epoch,
    activity: bearer?.id ?? null,
    claim: bearer?.claim ?? null,
    settles: bearer !== null && "activity" in event && !repeated.has(activityKey(event.activity)),
    aborts,
    ...to,
  });
  if (returned !== null && run.parent !== null) {
    const { activityId, attempt, epoch } = run.parent;
    rows.returns.push({
      n,
      activity_id: activityId,
      attempt,
      epoch,
      outcome: returned,
      usage: usageOf(state),
    });
  }
  const closed = bearer === null ? null : closedAsk(event, n, bearer.id, by);
  if (closed !== null) rows.closedAsks.push(closed);
}

function keyOf(activity: { node: string; generation: number; item: number | null }) {
  return { node: activity.node, generation: activity.generation, item: itemToColumn(activity.item) };
}

function writeOf(state: RunState): Omit<RunWrite, "deadline" | "word" | "result" | "reason" | "ended"> {
  const { phase, spent } = state;
  return {
    epoch: state.epoch,
    status: phase.is === "ended" ? phase.status : phase.is === "handling" ? "doing" : phase.is,
    phase: phase.is === "handling" ? `handling.${phase.of}` : phase.is,
    steps: spent.steps,
    calls: spent.calls,
    prompt_tokens: spent.promptTokens,
    completion_tokens: spent.completionTokens,
    nanodollars: spent.nanodollars,
  };
}

function endOf(commands: readonly Command[]): Pick<RunWrite, "word" | "result" | "reason" | "ended"> {
  const end = commands.find((command) => command.do === "end");
  if (end === undefined) return { word: null, result: null, reason: null, ended: false };
  return { word: end.word, result: end.result, reason: end.reason, ended: true };
}

function deadlineOf(commands: readonly Command[]): number | null {
  return commands.findLast((command) => command.do === "deadline")?.at ?? null;
}

function withoutDo(end: Extract<Command, { do: "end" }>) {
  const { do: _, ...rest } = end;
  return rest;
}

function usageOf(state: RunState): Usage {
  const { steps: _, ...usage } = state.spent;
  return usage;
}

function closedAsk(event: Event, n: number, activityId: number, by: string | null): AskRow | null {
  const closed = { n, activity_id: activityId };
  if (event.type === "ask.expired") return { ...closed, state: "expired", answer: null, answered_by: null };
  if (event.type !== "activity.succeeded" || event.outcome.kind !== "answered") return null;
  return { ...closed, state: "answered", answer: event.outcome.text, answered_by: by };
}
