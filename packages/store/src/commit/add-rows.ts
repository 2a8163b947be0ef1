/**
 * Turns an advance into the rows to write: state, variables, the event, next activities, messages and the end. Writes nothing to the
 * database.
 */
import {
  activityKey,
  type Command,
  type Event,
  inlineKindOf,
  type RunState,
  type Usage,
  workKinds,
} from "@markmill/engine";
import { type ClaimingAhead, nextToClaim } from "../throughput/claim-ahead.ts";
import type { Advance } from "./advance.ts";
import { toInlineColumn } from "./inline-activity.ts";
import { variableWrites } from "./kept-variables.ts";
import type { AskRow, CommitRows, Creation, RareWrite } from "./rows.ts";
import { itemToColumn } from "./run-row.ts";
import { sparseState } from "./run-state.ts";

/** Adds the rows of an advance to those of its group. Advances must be added in the order of their run ids (C4). */
export function addRows(
  rows: CommitRows,
  stringify: (value: unknown) => string,
  one: Advance,
  body: string,
  claimingAhead: ClaimingAhead | null = null,
): void {
  const n = one.creation === null ? rows.moves.length + 1 : -rows.creations.length - 1;
  const repeated = addCommands(rows, one, n, claimingAhead);
  addVariables(rows, one, n);
  if (one.creation === null) addMove(rows, stringify, one, { n, body, repeated });
  else addCreation(rows, stringify, one, one.creation, body);
}

/** Returns the keys of the activities that the event requests, for the first time or again. */
function addCommands(
  rows: CommitRows,
  one: Advance,
  n: number,
  claimingAhead: ClaimingAhead | null,
): ReadonlySet<string> {
  const { run, event, state, commands, aborts } = one;
  const seq = run.rev + 1;
  const repeated = new Set<string>();
  const claimedAhead = claimingAhead === null ? null : nextToClaim(one, claimingAhead.queue);
  let position = 0;
  let part = 0;
  for (const command of commands) {
    if (command.do === "perform") {
      const { activity, work } = command;
      repeated.add(activityKey(activity));
      if (command.notBefore === null && inlineKindOf(work) !== null) continue;
      rows.next.push({
        n,
        ...keyOf(activity),
        attempt: activity.attempt,
        kind: work.kind,
        queue: workKinds[work.kind].queue,
        epoch: state.epoch,
        state: workKinds[work.kind].waitsFor === "answer" ? "waiting" : "ready",
        not_before: command.notBefore,
        work,
        ...(one.creation?.queued === true ? { queued: true as const } : {}),
        ...(command !== claimedAhead || claimingAhead === null
          ? {}
          : { state: "claimed", claimed_by: claimingAhead.worker, lease_ms: claimingAhead.leaseMs }),
      });
    } else if (command.do === "retry") {
      const { activity } = command;
      repeated.add(activityKey(activity));
      if (one.opened.some(({ ref }) => ref === activity)) continue;
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
    } else if (command.do === "await") {
      const { activity } = command;
      repeated.add(activityKey(activity));
      rows.retries.push({ n, ...keyOf(activity), attempt: activity.attempt, not_before: null, awaits: true });
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
  return repeated;
}

function addVariables(rows: CommitRows, { run, state, creation, commands }: Advance, n: number): void {
  const ended = endOf(commands) !== undefined;
  for (const write of variableWrites(creation === null ? run.state.variables : null, state.variables, ended)) {
    rows.variables.push({ n, ...write, ...(ended ? { final: true } : {}) });
  }
}

function addCreation(
  rows: CommitRows,
  stringify: (value: unknown) => string,
  one: Advance,
  creation: Creation,
  body: string,
): void {
  const { state, opened } = one;
  const called = creation.parent_activity_id !== null;
  const returned = returnedBy(one);
  rows.createdStates.push(stringify(sparseState(state)));
  rows.createdBodies.push(body);
  rows.creations.push({
    ...creation,
    ...commonOf(one),
    ...statusOf(state),
    ...rareWrite(one),
    ...(opened.length === 0 ? {} : { inline: opened.map(toInlineColumn) }),
    caller_state: called ? (returned === null ? "waiting" : "ready") : null,
    caller_outcome: called ? returned : null,
    caller_usage: called && returned !== null ? usageOf(state) : null,
  });
}

function addMove(
  rows: CommitRows,
  stringify: (value: unknown) => string,
  one: Advance,
  { n, body, repeated }: { readonly n: number; readonly body: string; readonly repeated: ReadonlySet<string> },
): void {
  const { run, event, source, by, state, aborts } = one;
  const inline = [...one.stillOpen, ...one.opened].map(toInlineColumn);
  const rare = rareWrite(one);
  rows.states.push(stringify(sparseState(state)));
  rows.bodies.push(body);
  rows.inlines.push(inline.length === 0 ? "" : stringify(inline));
  rows.rares.push(rare === null ? "" : stringify(rare));
  const settled = source === null ? undefined : run.inline.find(({ id }) => id === source.id);
  const own = settled === undefined ? source : null;
  const returned = returnedBy(one);
  const changesStatus = aborts || returned !== null || phaseOf(state) !== phaseOf(run.state);
  rows.moves.push({
    id: run.id,
    rev: run.rev,
    from_epoch: run.state.epoch,
    ...(own === null ? {} : { activity: own.id, claim: own.claim }),
    ...(own !== null && "activity" in event && !repeated.has(activityKey(event.activity)) ? { settles: true } : {}),
    ...(aborts ? { aborts } : {}),
    ...commonOf(one),
    ...(changesStatus ? statusOf(state) : {}),
    ...(settled === undefined ? {} : { inline_id: settled.id, inline_kind: settled.kind, asked_at: settled.at }),
  });
  if (returned !== null && run.parent !== null) {
    const { activityId, attempt, epoch } = run.parent;
    rows.returns.push({ n, activity_id: activityId, attempt, epoch, outcome: returned, usage: usageOf(state) });
  }
  const closed = source === null ? null : closedAsk(event, n, source.id, by);
  if (closed !== null) rows.closedAsks.push(closed);
}

type End = Extract<Command, { do: "end" }>;

const endOf = (commands: readonly Command[]): End | undefined => commands.find((command) => command.do === "end");

function commonOf({ state, event, commands }: Advance) {
  const ended = endOf(commands) !== undefined;
  return { steps: state.spent.steps, type: event.type, at: event.at, ...(ended ? { ended } : {}) };
}

/** What the caller of the run receives. null: the run has not ended. */
function returnedBy({ commands }: Advance) {
  const end = endOf(commands);
  if (end === undefined) return null;
  const { do: _, ...rest } = end;
  return { kind: "returned", ...rest };
}

const phaseOf = ({ phase }: RunState) => (phase.is === "handling" ? `handling.${phase.of}` : phase.is);

function statusOf(state: RunState) {
  const { phase, epoch } = state;
  const status = phase.is === "ended" ? phase.status : phase.is === "handling" ? "doing" : phase.is;
  return { epoch, status, phase: phaseOf(state) };
}

function keyOf(activity: { node: string; generation: number; item: number | null }) {
  return { node: activity.node, generation: activity.generation, item: itemToColumn(activity.item) };
}

function rareWrite({ commands }: Advance): RareWrite | null {
  const end = endOf(commands);
  const deadline = commands.findLast((command) => command.do === "deadline");
  if (end === undefined && deadline === undefined) return null;
  return {
    ...(deadline === undefined ? {} : { deadline: deadline.at ?? ("infinity" as const) }),
    ...(end === undefined ? {} : { word: end.word, result: end.result, reason: end.reason }),
  };
}

/** The usage of the run itself. Its caller learns the number of steps from the outcome. */
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
