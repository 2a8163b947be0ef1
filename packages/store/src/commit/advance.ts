/**
 * One event, decided. `advance` takes a run as it was read, folds the event with `step` (the only call of it that is written, I4)
 * and says, as rows, everything that has to be written with it: state, variables, the event, the next activities, messages, the end.
 * Nothing is written here; committer.ts writes all of it or nothing.
 */
import { activityKey, type Command, type Event, type RunState, step, type Usage } from "@markmill/engine";
import type { AskRow, BirthRow, CommitRows, RareWrite } from "./commit-statement.ts";
import { variableWrites } from "./kept-variables.ts";
import { itemToColumn, type LightActivity, type LoadedRun, lightKindOf, queueOf, toLightColumn } from "./run-row.ts";
import { sparseState } from "./run-state.ts";

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
  readonly birth: Birth | null;
  /** Who answered, of an answered ask. */
  readonly by: string | null;
  readonly state: RunState;
  readonly commands: readonly Command[];
  readonly aborts: boolean;
  /** It takes back work, of which some may be a called run. */
  readonly withdraws: boolean;
  /** The light activities that are still asked, and those that now are, which have no id yet. */
  readonly kept: readonly LightActivity[];
  readonly asked: readonly LightActivity[];
}

/** What is known of a run before its first event is folded. */
export type Birth = Pick<
  BirthRow,
  | "id"
  | "root_id"
  | "parent_activity_id"
  | "parent_attempt"
  | "parent_epoch"
  | "parent_job"
  | "definition_hash"
  | "program"
  | "name"
  | "depth"
  | "labels"
  | "budgets"
  | "options"
  | "submission"
  | "idempotency_key"
  | "forked_from"
>;

/** null: the event changes nothing (duplicate, late, stale, or after the end). */
export function advance(
  run: LoadedRun,
  event: Event,
  bearer: Bearer | null,
  birth: Birth | null = null,
  by: string | null = null,
): Advance | null {
  const { state, commands } = step(run.program, run.state, event);
  if (state === run.state) return null;
  const aborts = commands.some((command) => command.do === "abort") || state.epoch !== run.state.epoch;
  const withdraws = aborts || commands.some((command) => command.do === "void");
  // A stopped run keeps them, though nobody may do them: resuming it asks for them again, and only here stands what they are.
  const kept =
    aborts && state.phase.is !== "stopped"
      ? []
      : run.light.filter(({ ref }) => state.active[activityKey(ref)]?.ref.attempt === ref.attempt);
  const asked = commands.flatMap((command) => askedLight(run, command, event.at) ?? []);
  return { run, event, bearer, birth, by, state, commands, aborts, withdraws, kept, asked };
}

function askedLight(run: LoadedRun, command: Command, at: number): LightActivity | null {
  if (command.do === "perform") {
    const kind = command.notBefore === null ? lightKindOf(command.work) : null;
    return kind === null ? null : { id: 0, ref: command.activity, kind, at };
  }
  if (command.do !== "retry") return null;
  const key = activityKey(command.activity);
  const before = run.light.find(({ ref }) => activityKey(ref) === key);
  return before === undefined ? null : { id: 0, ref: command.activity, kind: before.kind, at };
}

/** `ids`: one for each that was asked. */
export function withIds(one: Advance, ids: readonly number[]): Advance {
  return { ...one, asked: one.asked.map((light, index) => ({ ...light, id: ids[index] ?? 0 })) };
}

/** Adds what an advance writes to the rows of a group. Its run's id comes after those of the advances added before (C4). */
export function addRows(rows: CommitRows, stringify: (value: unknown) => string, one: Advance, body: string): void {
  const { run, event, bearer, birth, by, state, commands, aborts } = one;
  const n = birth === null ? rows.moves.length + 1 : -rows.births.length - 1;
  const seq = run.rev + 1;
  const light = [...one.kept, ...one.asked].map(toLightColumn);
  const end = commands.find((command) => command.do === "end");
  const common = {
    steps: state.spent.steps,
    type: event.type,
    at: event.at,
    ...(end === undefined ? {} : { ended: true }),
  };
  const rare = rareWrite(one, end);
  const repeated = new Set<string>();
  let position = 0;
  let part = 0;

  for (const command of commands) {
    if (command.do === "perform") {
      const { activity, work } = command;
      repeated.add(activityKey(activity));
      if (command.notBefore === null && lightKindOf(work) !== null) continue;
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
      if (one.asked.some(({ ref }) => ref === activity)) continue;
      rows.retries.push({
        n,
        ...keyOf(activity),
        attempt: activity.attempt,
        not_before: command.notBefore,
        ...(command.parked === undefined ? {} : { trouble: command.parked }),
      });
    } else if (command.do === "hold") {
      const { activity, parked } = command;
      repeated.add(activityKey(activity));
      rows.retries.push({ n, ...keyOf(activity), attempt: activity.attempt, not_before: null, trouble: parked });
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
      rows.warnings.push({ n, seq, part, at: event.at, body: command });
    }
  }

  const ended = end !== undefined;
  for (const write of variableWrites(birth === null ? run.state.variables : null, state.variables, ended)) {
    rows.variables.push({ n, ...write, ...(ended ? { final: true } : {}) });
  }

  const returned = end === undefined ? null : { kind: "returned", ...withoutDo(end) };
  if (birth !== null) {
    rows.bornStates.push(stringify(sparseState(state)));
    rows.bornBodies.push(body);
    const called = birth.parent_activity_id !== null;
    rows.births.push({
      ...birth,
      ...common,
      ...turnOf(state),
      ...rare,
      ...(light.length === 0 ? {} : { light }),
      caller_state: called ? (returned === null ? "waiting" : "ready") : null,
      caller_outcome: called ? returned : null,
      caller_usage: called && returned !== null ? usageOf(state) : null,
    });
    return;
  }
  rows.states.push(stringify(sparseState(state)));
  rows.bodies.push(body);
  rows.lights.push(light.length === 0 ? "" : stringify(light));
  rows.rares.push(rare === null ? "" : stringify(rare));
  const settled = bearer === null ? undefined : run.light.find(({ id }) => id === bearer.id);
  const own = settled === undefined ? bearer : null;
  const turns = aborts || end !== undefined || phaseOf(state) !== phaseOf(run.state);
  rows.moves.push({
    id: run.id,
    rev: run.rev,
    from_epoch: run.state.epoch,
    ...(own === null ? {} : { activity: own.id, claim: own.claim }),
    ...(own !== null && "activity" in event && !repeated.has(activityKey(event.activity)) ? { settles: true } : {}),
    ...(aborts ? { aborts } : {}),
    ...common,
    ...(turns ? turnOf(state) : {}),
    ...(settled === undefined ? {} : { light_id: settled.id, light_kind: settled.kind, asked_at: settled.at }),
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

const phaseOf = ({ phase }: RunState) => (phase.is === "handling" ? `handling.${phase.of}` : phase.is);

function turnOf(state: RunState) {
  const { phase, epoch } = state;
  const status = phase.is === "ended" ? phase.status : phase.is === "handling" ? "doing" : phase.is;
  return { epoch, status, phase: phaseOf(state) };
}

function keyOf(activity: { node: string; generation: number; item: number | null }) {
  return { node: activity.node, generation: activity.generation, item: itemToColumn(activity.item) };
}

function rareWrite(
  { run, state, commands }: Advance,
  end: Extract<Command, { do: "end" }> | undefined,
): RareWrite | null {
  const { spent } = state;
  const deadline = commands.findLast((command) => command.do === "deadline");
  const before = run.state.spent;
  const spends =
    spent.calls !== before.calls ||
    spent.promptTokens !== before.promptTokens ||
    spent.completionTokens !== before.completionTokens ||
    spent.nanodollars !== before.nanodollars;
  if (end === undefined && deadline === undefined && !spends) return null;
  return {
    ...(spends
      ? {
          calls: spent.calls,
          prompt_tokens: spent.promptTokens,
          completion_tokens: spent.completionTokens,
          nanodollars: spent.nanodollars,
        }
      : {}),
    ...(deadline === undefined ? {} : { deadline: deadline.at ?? ("infinity" as const) }),
    ...(end === undefined ? {} : { word: end.word, result: end.result, reason: end.reason }),
  };
}

function withoutDo(end: Extract<Command, { do: "end" }>) {
  const { do: _, ...rest } = end;
  return rest;
}

/** Of the run itself: what its caller learns of steps comes with the outcome. */
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
