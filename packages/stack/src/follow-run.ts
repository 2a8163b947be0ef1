/**
 * Follows a run and the runs it calls until its end. Postgres is asked, not remembered: a follower may come at any time, and sees
 * every event once, in the order in which they happened as far as it looks at them together.
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
  /** Checks that this event decided: its own, or all those of a superstep. */
  readonly checked: readonly Checked[];
  /** Steps that failed by this event, with their reasons. */
  readonly failed?: readonly FailedStep[];
  /** The activity of this event, where it will be tried again: when, and for whom it waits. */
  readonly again?: Active | null;
  /** Where this event brought the run, if elsewhere: to a handler, to a stop, to its end. */
  readonly phase?: Phase | null;
}

export interface Doing extends Pick<HistoryActivity, "node" | "generation" | "attempt" | "kind" | "state"> {
  readonly depth: number;
  readonly since: Date;
}

export interface Look {
  readonly run: RunDetail;
  readonly happened: readonly Happening[];
  /** The innermost work that is asked for now. */
  readonly doing: readonly Doing[];
  readonly spent: Spent;
  /** Endpoints in trouble, or a resume, that the run waits for. */
  readonly waits: readonly Wait[];
  /** Nothing will happen before the run is resumed. */
  readonly interrupted: boolean;
}

interface Followed {
  readonly depth: number;
  readonly name: string;
  readonly program: Program;
  /** The events seen so far, folded; null: values were kept from us, and what they come to is not known here. */
  state: RunState | null;
  seq: number;
  ended: boolean;
}

const pollMs = 500;
/** A notification for each of many steps is one look. */
const gatherMs = 60;

export async function* followRun(
  tenant: TenantStore,
  /** Empty: there is none to listen at. */
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

  /** What is new in one run and below it. */
  async function look(run: RunSummary): Promise<[Happening[], Doing[]]> {
    const known = followed.get(run.id) ?? (await begin(run));
    if (known.ended) return [[], []];
    const { entries, activities } = await runs.history(run.id, known.seq);
    known.seq = entries.at(-1)?.seq ?? known.seq;
    // Its last event is in: nothing can come after it.
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
          ...{ node, generation, attempt, kind, state, depth },
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

/** A server keeps the values of its environment to itself. With other values a run would have gone another way. */
function isRedacted(event: Event): boolean {
  return event.type === "run.started" && Object.values(event.environment).includes(redacted);
}

/** Where nothing is folded: as the run itself says. */
function endOf({ status, reason }: RunSummary): Phase | null {
  return status === "success" || status === "failed" || status === "cancelled" ? { is: "ended", status, reason } : null;
}

/** By time, and within a run as it happened: the clocks of two processes differ by some milliseconds. */
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
  // For a run it called, itself or by its model, or to be resumed.
  const rests = ({ kind, state }: Doing) => state === "waiting" && workKinds[kind].waitsFor !== "answer";
  return held.length > 0 && doing.every(rests);
}

/** A CALL that waits says less than what it waits for. */
function innermost(doing: readonly Doing[]): Doing[] {
  const deepest = Math.max(0, ...doing.map(({ depth }) => depth));
  const inside = doing.filter(({ kind, depth }) => kind !== "call" || depth === deepest);
  return inside.length === 0 ? [...doing] : inside;
}
