/**
 * Follows a run and the runs it calls until the end. It reads the events from Postgres, so a follower can start at any time. It reports
 * every event once. Events read in one pass are in the order in which they happened.
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Active,
  type Checked,
  type Event,
  type FailedStep,
  followStep,
  initialState,
  type Phase,
  type Program,
  type RunState,
  redacted,
  workKinds,
} from "@markmill/engine";
import type { HistoryActivity, HistoryEntry, RunDetail, RunSummary, Spent, TenantStore, Wait } from "@markmill/store";

export interface Happening {
  readonly runId: string;
  readonly name: string;
  readonly depth: number;
  readonly entry: HistoryEntry;
  /** The checks that this event decided: its own, or those of a whole superstep. */
  readonly checked: readonly Checked[];
  /** The steps that failed with this event, with their reasons. */
  readonly failed?: readonly FailedStep[];
  /** The activity of this event if it will be retried: when, and what it waits for. */
  readonly again?: Active | null;
  /** The new phase of the run, if this event changed it: a handler, a stop or the end. */
  readonly phase?: Phase | null;
}

export interface Doing extends Pick<HistoryActivity, "node" | "generation" | "attempt" | "kind" | "state"> {
  readonly depth: number;
  readonly since: Date;
}

export interface Look {
  readonly run: RunDetail;
  readonly happened: readonly Happening[];
  /** The innermost activities that are open now. */
  readonly doing: readonly Doing[];
  readonly spent: Spent;
  /** The endpoints in trouble, or the resume, that the run waits for. */
  readonly waits: readonly Wait[];
  /** The run continues only after it is resumed. */
  readonly interrupted: boolean;
}

interface Followed {
  readonly depth: number;
  readonly name: string;
  readonly program: Program;
  /** The state folded from the events seen so far. null: the server withheld values, so the state cannot be computed here. */
  state: RunState | null;
  seq: number;
  ended: boolean;
}

const pollMs = 500;
/** Waits this long after a notification, so that the notifications of many steps cause one pass. */
const gatherMs = 60;

export async function* followRun(
  tenant: TenantStore,
  /** Empty: there is no database to listen to. */
  databaseUrl: string,
  runId: string,
  signal: AbortSignal,
): AsyncGenerator<Look, void> {
  const { watch } = await import("@markmill/store/machine");
  const { definitions, runs } = tenant;
  const followed = new Map<string, Followed>();
  let wake: AbortController | null = null;
  const watcher = {
    onRuns: (ids: readonly string[]) => {
      if (ids.some((id) => followed.has(id))) wake?.abort();
    },
  };
  const stopWatching = databaseUrl === "" ? async () => undefined : watch(databaseUrl, watcher);

  async function begin({ id, depth, name, definitionHash, program }: RunSummary): Promise<Followed> {
    const found = (await definitions.find(definitionHash))?.programs[program];
    if (found === undefined) throw new Error(`definition ${definitionHash} has no program ${program}`);
    const from = { state: initialState, seq: 0, ended: false };
    const begun: Followed = { depth, name, program: found, ...from };
    followed.set(id, begun);
    return begun;
  }

  /** Reads the new events of one run and of the runs below it. */
  async function look(run: RunSummary): Promise<[Happening[], Doing[]]> {
    const known = followed.get(run.id) ?? (await begin(run));
    if (known.ended) return [[], []];
    const { entries, activities } = await runs.history(run.id, known.seq);
    known.seq = entries.at(-1)?.seq ?? known.seq;
    // The last event was read, so no other event can follow.
    known.ended = run.endedAt !== null && known.seq >= run.rev;
    const { depth, name } = known;
    const happened = entries.map((entry): Happening => {
      const told = { runId: run.id, name, depth, entry, checked: [] };
      if (entry.kind === "warning") return told;
      if (databaseUrl === "" && isRedacted(entry.event)) known.state = null;
      if (known.state === null) return { ...told, phase: known.ended && entry.seq === known.seq ? endOf(run) : null };
      const before = known.state.phase;
      const { state, ...came } = followStep(known.program, known.state, entry.event);
      known.state = state;
      const phase = state.phase.is === before.is ? null : state.phase;
      return { ...told, ...came, phase };
    });
    const doing = activities
      .filter(({ state }) => state === "ready" || state === "claimed" || state === "waiting")
      .map(
        ({ node, generation, attempt, kind, state, createdAt }): Doing => ({
          node,
          generation,
          attempt,
          kind,
          state,
          depth,
          since: createdAt,
        }),
      );
    if (activities.some(({ kind }) => kind === "call")) {
      for (const child of await runs.children(run.id)) {
        const [below, deeper] = await look(child);
        happened.push(...below);
        doing.push(...deeper);
      }
    }
    return [happened, doing];
  }

  try {
    for (;;) {
      const run = await runs.get(runId);
      if (run === null) return;
      const [happened, doing] = await look(run);
      const waits = run.endedAt === null ? await runs.waits([run.rootId]) : [];
      const interrupted = isInterrupted(doing, waits);
      const spent = await runs.spent(runId);
      yield { run, happened: inOrder(happened), doing: innermost(doing), spent, waits, interrupted };
      if (run.endedAt !== null || interrupted || signal.aborted) return;
      wake = new AbortController();
      await sleep(pollMs, undefined, { signal: AbortSignal.any([signal, wake.signal]) }).catch(() => undefined);
      wake = null;
      await sleep(gatherMs, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    await stopWatching();
  }
}

/** A server does not send the values of its environment. With other values the run would have taken another path. */
function isRedacted(event: Event): boolean {
  return event.type === "run.started" && Object.values(event.environment).includes(redacted);
}

/** The end of a run whose events are not folded: taken from its row in the database. */
function endOf({ status, reason }: RunSummary): Phase | null {
  return status === "success" || status === "failed" || status === "cancelled" ? { is: "ended", status, reason } : null;
}

/** Sorts by time, but keeps the order within each run: the clocks of two processes differ by some milliseconds. */
export function inOrder<One extends Pick<Happening, "runId" | "depth" | "entry">>(happened: readonly One[]): One[] {
  const latest = new Map<string, number>();
  const timed = happened.map((one) => {
    const at = Math.max(one.entry.at.getTime(), latest.get(one.runId) ?? 0);
    latest.set(one.runId, at);
    return { one, at };
  });
  return timed.sort((a, b) => a.at - b.at || b.one.depth - a.one.depth).map(({ one }) => one);
}

function isInterrupted(doing: readonly Doing[], waits: readonly Wait[]): boolean {
  const held = waits.filter(({ parked }) => parked.held);
  // The activity waits for a called run, for a tool that is a run, or for a resume.
  const rests = ({ kind, state }: Doing) => state === "waiting" && workKinds[kind].waitsFor !== "answer";
  return held.length > 0 && doing.every(rests);
}

/** A CALL shows less than the activity that it waits for, so only the deepest activities are kept. */
function innermost(doing: readonly Doing[]): Doing[] {
  const deepest = Math.max(0, ...doing.map(({ depth }) => depth));
  const inside = doing.filter(({ kind, depth }) => kind !== "call" || depth === deepest);
  return inside.length === 0 ? [...doing] : inside;
}
