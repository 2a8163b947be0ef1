/**
 * The only function through which a run changes (I4): step(program, state, event) -> { state, commands }.
 *
 * T1  Pure and total: no clock, no random numbers, no I/O, no throw.
 * T2  Some events change nothing: step returns the same state object and no commands. These are duplicate or late events, events of another
 *     epoch, events for an activity that is not in flight, and events after the end.
 * T3  Folding a run's events gives its state again.
 *
 * Cost: 33 µs for one check or prompt in a program of 200 nodes, all visited, where a JSON round trip of the same state takes 78 µs (`npm
 * run bench:step`, two cores of an EPYC; most of it copies the hits).
 */
import { type ActivityRef, activityKey } from "./activity.ts";
import { afterFailure } from "./after-failure.ts";
import { allow, allowState, type Bounds, briefText, Excess, outcomeExcess, weighState } from "./bounds.ts";
import type { Command } from "./command.ts";
import {
  type ActivityFailed,
  type ActivitySucceeded,
  type AskExpired,
  type Event,
  noUsage,
  type Outcome,
  type RunBroken,
  type RunCancelled,
  type RunForked,
  type RunLimited,
  type RunResumed,
  type RunStarted,
  type RunStopped,
} from "./event.ts";
import { type Failure, failure, isLimit } from "./failure.ts";
import { breakRun, cutHandler, failRun, finishRun } from "./finish-run.ts";
import { type Graph, graphOf } from "./graph.ts";
import { giveBack, givenBack, reckonIdle, unqueued, waited } from "./idle.ts";
import { deadlineOf, isSetting, limitSettingNames, settleLimits } from "./limits.ts";
import { newEffort } from "./match-effort.ts";
import { reckonWaits } from "./nodes/call.ts";
import { own } from "./own-value.ts";
import type { Program } from "./program.ts";
import { chosenWith } from "./settings.ts";
import { type Active, initialState, type Parked, type RunState } from "./state.ts";
import { type Begun, type Checked, change, type FailedStep, spend, type Turn, tell, warn } from "./turn.ts";
import { drop, takeFailure, takeOutcome, walk } from "./walk.ts";
import type { WarningCode } from "./warning-codes.ts";
import { awaitsCalls, isToolTraffic, waitForCalls } from "./workflow-tools.ts";

export interface Step {
  readonly state: RunState;
  readonly commands: readonly Command[];
}

type Settling = { readonly outcome: Outcome } | { readonly failure: Failure };

const rules: { readonly [Type in Event["type"]]: (turn: Turn, event: Extract<Event, { type: Type }>) => void } = {
  "run.started": startRun,
  "activity.succeeded": succeedActivity,
  "activity.failed": failActivity,
  "ask.expired": expireAsk,
  "run.limited": limitRun,
  "run.cancelled": cancelRun,
  "run.broken": (turn, event: RunBroken) => breakRun(turn, failure("ENGINE_BUG", briefText(event.message))),
  "run.stopped": stopRun,
  "run.resumed": resumeRun,
  "run.admitted": admitRun,
  "run.forked": forkRun,
};

export function step(program: Program, state: RunState, event: Event): Step {
  const turn = turnOf(program, state, event);
  return turn === null ? { state, commands: [] } : { state: turn.state, commands: turn.commands };
}

/**
 * Also returns the number of activities that began and count as steps. The steps of called runs are not included, because those runs count
 * them.
 */
export interface CountedStep extends Step {
  readonly begun: Begun;
}

export function countedStep(program: Program, state: RunState, event: Event): CountedStep {
  const turn = turnOf(program, state, event);
  return turn === null
    ? { state, commands: [], begun: noneBegun }
    : { state: turn.state, commands: turn.commands, begun: turn.begun };
}

const noneBegun: Begun = { flow: 0, handler: 0 };

/** Returns details for people who watch a run: the results of its checks, the failed steps, and the activity that is retried. */
export interface FollowedStep {
  readonly state: RunState;
  readonly checked: readonly Checked[];
  readonly failed: readonly FailedStep[];
  /** The activity of the event if the step requests it again, with its time and the trouble that it waits for. */
  readonly again: Active | null;
}

export function followStep(program: Program, state: RunState, event: Event): FollowedStep {
  const turn = turnOf(program, state, event);
  if (turn === null) return { state, checked: [], failed: [], again: null };
  const again = "activity" in event ? own(turn.state.active, activityKey(event.activity)) : undefined;
  const later = again !== undefined && "activity" in event && again.ref.attempt > event.activity.attempt;
  return { state: turn.state, checked: turn.checked, failed: turn.failed, again: later ? again : null };
}

const noGraph: Graph = { nodes: {}, edges: [], out: new Map(), into: new Map() };

/** Returns null if nothing changes. */
function turnOf(program: Program, folded: RunState, event: Event): Turn | null {
  const state =
    event.type === "run.forked" && event.carried !== undefined
      ? { ...event.carried.state, environment: folded.environment }
      : folded;
  if (state.phase.is === "ended" || !Object.hasOwn(rules, event.type)) return null;
  const graph = event.type === "run.broken" ? noGraph : graphOf(program, state);
  const before = givenBack(state, event.at);
  const turn: Turn = {
    program,
    graph,
    event,
    state: before,
    commands: [],
    checked: [],
    failed: [],
    ready: [],
    carried: new Map(),
    fed: [],
    effort: newEffort(),
    asked: 0,
    warnings: 0,
    found: state.phase.is,
    begun: noneBegun,
  };
  const rule = rules[event.type] as (turn: Turn, event: Event) => void;
  rule(turn, event);
  if (turn.state === before) return null;
  reckonIdle(turn);
  return turn;
}

/** Lists the activities without a result in the order in which they were requested. Recovery makes sure that they are queued. */
export function outstanding(
  _program: Program,
  state: RunState,
): readonly { readonly activity: ActivityRef; readonly notBefore: number | null }[] {
  if (state.phase.is !== "doing" && state.phase.is !== "handling") return [];
  return inOrder(state)
    .filter((active) => active.parked?.held !== true && !awaitsCalls(state, active))
    .map(({ ref, notBefore }) => ({ activity: ref, notBefore }));
}

function startRun(turn: Turn, event: RunStarted): void {
  if (turn.state.phase.is !== "created") return;
  const { program } = turn;
  const unset: string[] = [];
  let variables: Readonly<Record<string, string>> = { RESULT: "", ...event.variables, STATUS: "DOING" };
  for (const { name, default: otherwise } of program.params) {
    const given = own(variables, name);
    // A callee's own settings count only for the callee. An inherited empty value counts as no value.
    const inherited = event.caller !== null && (given === "" || isSetting(name));
    if (otherwise !== null && (given === undefined || inherited)) variables = { ...variables, [name]: otherwise };
    if (own(variables, name) !== undefined || own(event.environment, name) !== undefined) continue;
    unset.push(name);
    variables = { ...variables, [name]: "" };
  }
  change(turn, {
    run: event.run,
    phase: { is: "doing" },
    startedAt: event.at,
    variables,
    environment: event.environment,
    lists: program.lists,
    depth: event.caller?.depth ?? 0,
    agent: event.caller?.agent ?? "",
    threads: event.caller?.threads ?? {},
    aside: event.caller?.aside ?? turn.state.aside,
    inherited: event.caller?.inherited ?? {
      ...turn.state.inherited,
      ...chosenWith(event.caller === null ? event.variables : {}),
    },
    patienceMs: event.patienceMs ?? program.patienceMs ?? turn.state.patienceMs,
    bounds: boundsOf(event),
  });
  for (const note of event.notes ?? []) tell(turn, note, null);
  const excess = startExcess(turn.state);
  if (excess !== null) {
    change(turn, { variables: { RESULT: "", STATUS: "DOING" }, environment: {} });
    failRun(turn, excess);
    return walk(turn);
  }
  for (const name of unset) {
    warn(turn, "PARAMETER_UNSET", `The parameter ${name} has no value and no default, and counts as empty.`, null);
  }
  const given = limitSettingsOf(turn.state);
  const bare = settleLimits(program, {}, event.caps);
  if (bare.ok) change(turn, { limits: bare.limits, caps: event.caps });
  const settled = settleLimits(program, given, event.caps);
  if (!settled.ok) {
    failRun(turn, settled.failure);
    return walk(turn);
  }
  change(turn, { limits: settled.limits });
  const deadline = deadlineOf(turn.state);
  if (deadline !== null) turn.commands.push({ do: "deadline", at: deadline });
  for (const node of program.entry) turn.ready.push({ node, only: null });
  walk(turn);
  if (event.queued === true) change(turn, { idle: { ...turn.state.idle, queued: true } });
}

function admitRun(turn: Turn): void {
  if (turn.state.idle.queued === true) change(turn, { idle: unqueued(turn.state.idle) });
}

/** The usual bounds are the same object as in the initial state, so that the store does not write them with every step. */
function boundsOf({ bounds }: RunStarted): Bounds {
  const usual = initialState.bounds;
  if (bounds === undefined) return usual;
  const same = bounds.valueCharacters === usual.valueCharacters && bounds.stateCharacters === usual.stateCharacters;
  return same ? usual : bounds;
}

function startExcess(state: RunState): Failure | null {
  try {
    for (const [name, value] of Object.entries(state.variables)) {
      allow(value.length, state.bounds, `The variable ${briefText(name, 200)}`);
    }
    allowState(weighState(state), state.bounds, "What the run starts with");
    return null;
  } catch (error) {
    if (error instanceof Excess) return error.failure;
    throw error;
  }
}

function limitSettingsOf({ variables, environment }: RunState): Readonly<Record<string, string>> {
  return Object.fromEntries(
    limitSettingNames.flatMap((name) => {
      const value = own(variables, name) ?? own(environment, name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Returns the activity in flight that an event concerns, or null. */
function inFlight(turn: Turn, event: ActivitySucceeded | ActivityFailed | AskExpired): Active | null {
  const { phase, epoch } = turn.state;
  if (phase.is !== "doing" && phase.is !== "handling") return null;
  if (event.epoch !== epoch) return null;
  const active = own(turn.state.active, activityKey(event.activity));
  if (active === undefined || active.ref.attempt !== event.activity.attempt) return null;
  return awaitsCalls(turn.state, active) ? null : active;
}

function succeedActivity(turn: Turn, event: ActivitySucceeded): void {
  const active = inFlight(turn, event);
  if (active === null) return;
  spend(turn, event.usage);
  const { outcome } = event;
  if (outcome.kind === "returned") reckonWaits(turn, outcome);
  for (const note of "notes" in outcome ? (outcome.notes ?? []) : []) {
    warn(turn, noteCodes[outcome.kind] ?? "NOTE", note, active.ref.node);
  }
  const excess = outcomeExcess(outcome, turn.state.bounds);
  settle(turn, active, excess === null ? { outcome } : { failure: excess });
}

const noteCodes: Partial<Record<Outcome["kind"], WarningCode>> = {
  replied: "REPLY_NOTE",
  executed: "EXECUTE_NOTE",
  done: "FILE_NOTE",
  graded: "GRADE_NOTE",
};

function failActivity(turn: Turn, event: ActivityFailed): void {
  const active = inFlight(turn, event);
  if (active === null) return;
  spend(turn, event.usage);
  const node = own(turn.graph.nodes, active.ref.node);
  const next = afterFailure(turn.program, turn.state.patienceMs, node, active, event);
  switch (next.do) {
    case "repeat":
      return repeat(turn, next.active, next.notBefore);
    case "hold":
      return hold(turn, active, next.parked);
    case "settle":
      return settle(turn, active, { failure: next.failure });
  }
}

function hold(turn: Turn, active: Active, parked: Parked): void {
  const ref = { ...active.ref, attempt: active.ref.attempt + 1 };
  const held = { ...parked, held: true };
  change(turn, {
    active: { ...turn.state.active, [activityKey(ref)]: { ...active, ref, notBefore: null, parked: held } },
  });
  turn.commands.push({ do: "hold", activity: ref, parked: held });
}

function expireAsk(turn: Turn, event: AskExpired): void {
  const active = inFlight(turn, event);
  const node = active === null ? undefined : own(turn.graph.nodes, active.ref.node);
  if (active === null || node?.kind !== "ask") return;
  if (node.otherwise === undefined) return settle(turn, active, { failure: failure("ASK_EXPIRED") });
  warn(
    turn,
    "ASK_DEFAULTED",
    "The question expired without an answer, so the default answer is used.",
    active.ref.node,
  );
  settle(turn, active, { outcome: { kind: "answered", text: node.otherwise } });
}

/**
 * eager: the outcome takes effect at once.
 * superstep: outcomes take effect when all activities that ran together are done, in the order in which they became ready. This includes a
 * failure that ends the run without an edge. Only two things depend on the order of arrival. A limit ends the activities in flight before
 * they spend more. If the results together exceed a bound, the last results are dropped.
 */
function settle(turn: Turn, active: Active, how: Settling): void {
  const limit = "failure" in how && isLimit(how.failure);
  const node = own(turn.graph.nodes, active.ref.node);
  const traffic = isToolTraffic(node, active.ref, "outcome" in how ? how.outcome : null);
  if (turn.program.scheduling === "eager" || limit || traffic) {
    take(turn, active, how);
    return walk(turn);
  }
  drop(turn, active.ref);
  const { held } = turn.state;
  change(turn, { held: [...held, { active, ...how }] });
  // A result that waits for the others counts as data of the run.
  const weight = weighState(turn.state);
  if (weight > turn.state.bounds.stateCharacters) {
    const message = `The results of the waiting branches would have ${weight} characters.`;
    change(turn, { held: [...held, { active, failure: failure("STATE_TOO_LONG", message) }] });
  }
  if (Object.keys(turn.state.active).length > 0) return;
  const together = [...turn.state.held].sort((one, other) => one.active.order - other.active.order);
  change(turn, { held: [] });
  const { phase } = turn.state;
  for (const held of together) {
    if (turn.state.phase !== phase) break;
    take(turn, held.active, held);
  }
  walk(turn);
}

function take(turn: Turn, active: Active, how: Settling): void {
  if ("outcome" in how) takeOutcome(turn, active, how.outcome);
  else takeFailure(turn, active, how.failure);
}

/** Repeats the same work: attempt + 1, and no step is counted. */
function repeat(turn: Turn, active: Active, notBefore: number | null): void {
  const again: Active = { ...active, ref: { ...active.ref, attempt: active.ref.attempt + 1 }, notBefore };
  change(turn, { active: { ...turn.state.active, [activityKey(again.ref)]: again } });
  const { parked } = again;
  turn.commands.push({ do: "retry", activity: again.ref, notBefore, ...(parked === undefined ? {} : { parked }) });
}

function limitRun(turn: Turn, event: RunLimited): void {
  const { phase, epoch } = turn.state;
  if (event.epoch !== epoch || (phase.is !== "doing" && phase.is !== "handling")) return;
  // The limit was meant for the run, but its handler has begun since. The handler has its own time.
  if (phase.is === "handling" && event.code === "LIMIT_TIME" && (phase.until === null || event.at < phase.until))
    return;
  // The limit was found too early: a called run has since reported that it only waited, so the run has more time.
  const told = turn.state.idle.spans !== undefined;
  if (event.code === "LIMIT_TIME" && told && event.at < (deadlineOf(turn.state) ?? 0)) return;
  const active = Object.values(turn.state.active);
  const parked = active.filter((one) => one.parked !== undefined);
  const works = active.some((one) => one.parked === undefined && own(turn.graph.nodes, one.ref.node)?.kind !== "ask");
  // If the time ran out while the run only waited for trouble of the other side, nothing fails.
  if (event.code === "LIMIT_TIME" && parked.length > 0 && !works) {
    for (const one of parked) if (one.parked?.held === false) hold(turn, one, one.parked);
    return;
  }
  failRun(turn, failure(event.code, event.message));
  walk(turn);
}

/** A run that has reached its end keeps that end. Only its handler is cancelled. */
function cancelRun(turn: Turn, event: RunCancelled): void {
  const why = failure("CANCELLED", event.message);
  const { phase } = turn.state;
  const handling = phase.is === "stopped" && phase.was !== "doing" ? phase.was : phase;
  if (handling.is === "handling") cutHandler(turn, handling, why);
  else finishRun(turn, "cancelled", why);
}

function stopRun(turn: Turn, { idleMs = 0, waits, steps = 0 }: RunStopped): void {
  const { phase, spent } = turn.state;
  if (phase.is !== "doing" && phase.is !== "handling") return;
  if (steps > 0) change(turn, { spent: { ...spent, steps: spent.steps + steps } });
  change(turn, { phase: { is: "stopped", was: phase.is === "doing" ? "doing" : phase }, epoch: turn.state.epoch + 1 });
  if (waits !== undefined) turn.state = waited(turn.state, waits);
  else if (idleMs > 0) turn.state = giveBack(turn.state, idleMs);
  turn.commands.push({ do: "abort" });
}

function resumeRun(turn: Turn, _event: RunResumed): void {
  const { phase } = turn.state;
  if (phase.is === "doing" || phase.is === "handling") {
    for (const active of inOrder(turn.state)) if (active.parked !== undefined) repeat(turn, unparked(active), null);
    return;
  }
  if (phase.is !== "stopped") return;
  change(turn, { phase: phase.was === "doing" ? { is: "doing" } : phase.was });
  for (const active of inOrder(turn.state)) {
    askAgain(turn, active, active.parked === undefined ? active.notBefore : null);
  }
}

function forkRun(turn: Turn, event: RunForked): void {
  const { state } = turn;
  const { phase } = state;
  if (phase.is !== "doing" && phase.is !== "handling") return;
  const caps = { ...state.caps, ...event.caps };
  const settled = settleLimits(turn.program, limitSettingsOf(state), caps);
  const limits = settled.ok ? settled.limits : state.limits;
  const { steps } = state.spent;
  if (event.aside !== undefined) change(turn, { aside: event.aside });
  change(turn, { caps, limits, spent: { ...noUsage, steps }, startedAt: event.at, idle: { ms: 0, since: null } });
  const deadline = deadlineOf(turn.state);
  if (deadline !== null) turn.commands.push({ do: "deadline", at: deadline });
  if (event.carried !== undefined) {
    for (const node of event.carried.begins) turn.ready.push({ node, only: null });
    return walk(turn);
  }
  for (const active of inOrder(turn.state)) {
    if (!event.left.includes(activityKey(active.ref))) askAgain(turn, active, null);
  }
}

function askAgain(turn: Turn, active: Active, notBefore: number | null): void {
  if (awaitsCalls(turn.state, active)) waitForCalls(turn, active);
  else repeat(turn, unparked(active), notBefore);
}

function unparked({ parked: _, ...active }: Active): Active {
  return active;
}

function inOrder(state: RunState): readonly Active[] {
  return Object.values(state.active).sort((one, other) => one.order - other.order);
}
