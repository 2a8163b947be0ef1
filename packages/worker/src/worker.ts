/**
 * A worker: takes a doorbell, claims the activity, performs it, advances the run, rings what is next, and only then lets the job go.
 * It holds nothing between jobs (I5).
 *
 * kill -9 before the claim: the job is delivered again. After the claim: the lease runs out and the next delivery takes over. After
 * the work, before the commit: a paid reply is found by its memo, commands are repeated from a checkpoint (sessions.ts). After the commit, before the ring: the
 * rows are ready; the redelivered job finds its activity done and rings them, and so does the supervisor. After the ring, before the
 * job is let go: the second delivery finds nothing to do, and rings again what the first may not have got onto the wire (queue, Q4).
 */
import { type Event, type Outcome, outcomeExcess, type WorkKind } from "@markmill/engine";
import type { Answer, Delivered, Queues, Ring, Serving } from "@markmill/queue";
import {
  breakRun,
  type Claim,
  type Committed,
  createLeaseKeeper,
  drawSeed,
  oldestDue,
  releaseClaims,
  renewLeases,
  type Store,
  StoreError,
  watch,
} from "@markmill/store";
import type { Claimed, Performer } from "./perform.ts";
import { failed, type Performed } from "./performed.ts";

export interface WorkerParts {
  readonly store: Store;
  readonly databaseUrl: string;
  readonly queues: Queues;
  readonly performer: Performer;
  readonly concurrency: { readonly control: number; readonly prompt: number; readonly execute: number };
  /** Resolves when it is known whether this worker may take execute jobs: only with a sandbox that passed its self-test. */
  readonly executes: Promise<boolean>;
  readonly lockDurationMs: number;
  readonly stalledIntervalMs: number;
  readonly log: Log;
  /** A root run has ended: what was kept for it may go. */
  readonly onRootEnded: (rootId: string) => Promise<void>;
  /** Called when the worker stays deaf although it has reconnected. */
  readonly onDeaf: () => void;
  /** Named points where a test kills the process. */
  readonly failPoint?: (point: FailPoint, kind: WorkKind | null) => void | Promise<void>;
}

export type FailPoint = "before-claim" | "after-claim" | "after-work" | "after-commit" | "after-ring";

export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface RunningWorker {
  health(): Health;
  /** Takes nothing new, waits for what it holds, then gives up what is left. */
  drain(timeoutMs: number): Promise<void>;
}

export interface Health {
  readonly ok: boolean;
  readonly active: number;
  readonly heardMsAgo: number;
  readonly dueMs: number;
  /** Queues that have work due and hear nothing. */
  readonly deaf: readonly string[];
  /** Leases could be renewed, or there were none. */
  readonly renewedMsAgo: number;
}

/** An activity that killed so many workers is not given to another one. */
const mostTakeovers = 5;
/** Work due for so long while nothing is heard means that the worker is deaf. */
const deafMs = 10_000;

/** Leases that could not be renewed for so long mean that the database is out of this worker's reach. */
const stuckMs = 30_000;
/** A run that a newer program works on is looked at again after so long: by then one of its workers may have the job. */
const newerMs = 2_000;
/** For what was aborted to end and be given back. */
const graceMs = 2_000;

interface Held {
  readonly claimed: Claimed;
  readonly delivered: Delivered;
  readonly controller: AbortController;
  /** Something that must not be repeated may have begun. */
  acted: boolean;
}

type Done = Extract<Performed, { did: "succeed" | "fail" }>;

export function startWorker(parts: WorkerParts): RunningWorker {
  const { store, queues, performer, log } = parts;
  const held = new Map<number, Held>();
  const leases = createLeaseKeeper({
    database: store.database,
    leaseMs: store.leaseMs,
    worker: store.worker,
    onError: (error) => log.warn({ err: error }, "leases could not be renewed"),
  });
  const failPoint = parts.failPoint ?? (() => undefined);

  async function handle(delivered: Delivered, ring: Ring): Promise<Answer> {
    await failPoint("before-claim", null);
    let claim: Claim;
    const asked = performance.now();
    try {
      claim = await store.claim(delivered);
    } catch (error) {
      if (error instanceof StoreError && error.code === "STORE_STATE_NEWER") {
        log.warn({ err: error, run: delivered.runId }, "a run is left to newer workers");
        return { do: "later", ms: newerMs };
      }
      log.error(
        { err: error, run: delivered.runId, activity: delivered.activityId },
        "an activity could not be claimed",
      );
      return { do: "later", ms: 1_000 };
    }
    if (claim.kind === "stale") {
      await ring(claim.rings);
      return { do: "done" };
    }
    if (claim.kind === "held" || claim.kind === "early") return { do: "later", ms: claim.forMs };
    // Only the lease counts, not the queue's lock (I1): work is given up when the lease is lost, the run went on, or this worker goes.
    const { activity } = claim;
    const mine: Held = { claimed: claim, delivered, controller: new AbortController(), acted: false };
    if (activity.leased) {
      held.set(activity.id, mine);
      leases.hold(activity.id, activity.claim, () => mine.controller.abort(new Error("The lease was lost.")));
    }
    try {
      // The answer came late, or this loop was busy: somebody else may have it, and nothing has begun yet.
      if (activity.leased && performance.now() - asked > store.leaseMs / 2) {
        const kept = await renewLeases(store.database, [activity], store.leaseMs);
        if (!kept.has(activity.id)) return { do: "later", ms: store.leaseMs };
      }
      return await advance(mine, delivered.jobId, ring);
    } catch (error) {
      log.error(
        { err: error, run: delivered.runId, activity: delivered.activityId },
        "an activity could not be advanced",
      );
      return giveBack(mine, 1_000);
    } finally {
      if (held.get(activity.id) === mine) {
        held.delete(activity.id);
        leases.drop(activity.id);
      }
    }
  }

  async function advance(mine: Held, job: string, ring: Ring): Promise<Answer> {
    const { claimed, controller } = mine;
    const { run, activity } = claimed;
    await failPoint("after-claim", activity.kind);
    const performed = await attempt(mine, job, controller.signal);
    await failPoint("after-work", activity.kind);
    if (performed.did === "postpone") {
      mine.acted = false;
      return giveBack(mine, performed.ms);
    }
    if (performed.did === "leave") {
      if (activity.kind === "call") return { do: "children" };
      return draining && !mine.acted ? giveBack(mine, 0) : { do: "done" };
    }
    const committed = await commit(claimed, bounded(claimed, performed));
    await failPoint("after-commit", activity.kind);
    await ring(committed.rings);
    await failPoint("after-ring", activity.kind);
    if (committed.kind === "committed" && committed.run.state.phase.is === "ended" && run.parent === null) {
      await parts
        .onRootEnded(run.rootId)
        .catch((error: unknown) => log.warn({ err: error, run: run.id }, "clean-up failed"));
    }
    return { do: "done" };
  }

  /** What is too long for the run is not even stored with its event. */
  function bounded({ run }: Claimed, performed: Done): Done {
    if (performed.did === "fail") return performed;
    const excess = outcomeExcess(performed.outcome, run.state.bounds);
    if (excess === null) return performed;
    return failed(excess.code, excess.message, "fail", { usage: performed.usage }) as Done;
  }

  /** What cannot be written, ever, fails its activity, and what cannot be failed ends its run: it would otherwise come back for ever. */
  async function commit(claimed: Claimed, performed: Done): Promise<Committed> {
    const { run, activity } = claimed;
    const bearer = { id: activity.id, claim: activity.claim };
    try {
      return await store.commit({ run, event: eventOf(claimed, performed), bearer });
    } catch (error) {
      if (!(error instanceof StoreError) || error.transient || error.code === "STORE_STATE_NEWER") throw error;
      if (performed.did === "fail") return breakRun(store, run.id, error.message);
      const unwritable = failed(error.code, error.message, "fail", { usage: performed.usage });
      return store.commit({ run, event: eventOf(claimed, unwritable as Done), bearer }).catch((worse: unknown) => {
        if (!(worse instanceof StoreError) || worse.transient) throw worse;
        return breakRun(store, run.id, worse.message);
      });
    }
  }

  /** What is thrown here is a store that is away. */
  async function attempt(mine: Held, job: string, signal: AbortSignal): Promise<Performed> {
    const { claimed } = mine;
    if (claimed.takeovers >= mostTakeovers) {
      return failed("WORKER_CRASHED", `${claimed.takeovers} workers were lost while they did this.`, "fail");
    }
    mine.acted = claimed.activity.kind === "execute" || claimed.activity.kind === "tool";
    try {
      return await performer.perform(claimed, job, signal);
    } catch (error) {
      if (signal.aborted || (error instanceof StoreError && error.transient)) throw error;
      if (error instanceof StoreError) return failed(error.code, error.message, "fail");
      const defect = [TypeError, RangeError, ReferenceError, SyntaxError].some((kind) => error instanceof kind);
      if (!defect) throw error;
      // Ours. Tried again some times, it does not come back for ever.
      log.error(
        { err: error, run: claimed.run.id, activity: claimed.activity.id },
        "an activity could not be performed",
      );
      return failed("WORKER_BUG", String(error), mine.acted ? "unknown" : "retry");
    }
  }

  /**
   * Ready again after so long, for anybody; commands that may have run stay claimed, so that the next holder knows. The job at hand is put
   * off; unless there is a newer one, which is then the activity's one job.
   */
  async function giveBack({ claimed, delivered, acted }: Held, ms: number): Promise<Answer> {
    const { run, activity } = claimed;
    if (activity.leased && !acted) {
      await releaseClaims(store.database, [{ id: activity.id, claim: activity.claim }], ms).catch(() => undefined);
    }
    if (delivered.rings >= activity.rings) return { do: "later", ms };
    const { epoch, rings } = activity;
    const parentJob = run.parent?.job ?? null;
    const { attempt } = activity.ref;
    await queues.ring([
      { queue: delivered.queue, runId: run.id, activityId: activity.id, epoch, attempt, rings, delayMs: ms, parentJob },
    ]);
    return { do: "done" };
  }

  function eventOf({ activity }: Claimed, performed: Done): Event {
    const base = {
      at: store.clock.now(),
      seed: drawSeed(),
      epoch: activity.epoch,
      activity: activity.ref,
      usage: performed.usage,
    };
    if (performed.did === "succeed") {
      return { type: "activity.succeeded", ...base, outcome: performed.outcome satisfies Outcome };
    }
    const { failure, next, retryAfterMs, trouble } = performed;
    return {
      ...{ type: "activity.failed", ...base, failure, next, retryAfterMs },
      ...(trouble === undefined ? {} : { trouble }),
    };
  }

  const settings = { lockDuration: parts.lockDurationMs, stalledInterval: parts.stalledIntervalMs };
  const serve = (queue: "control" | "prompt" | "execute"): Serving =>
    queues.serve(queue, handle, {
      ...settings,
      concurrency: parts.concurrency[queue],
    });
  const servings = new Map<string, Serving>([
    ["control", serve("control")],
    ["prompt", serve("prompt")],
  ]);
  let draining = false;
  void parts.executes.then((may) => {
    if (may && !draining) servings.set("execute", serve("execute"));
  });

  const stopWatching = watch(parts.databaseUrl, {
    onControl({ runId, epoch }) {
      for (const { claimed, controller } of held.values()) {
        if (claimed.run.id === runId && claimed.activity.epoch < epoch)
          controller.abort(new Error("The run went on without this."));
      }
    },
    onConnected: leases.renewNow,
    onError: (error: StoreError) => log.warn({ err: error }, "listening to Postgres"),
  });

  /** Per queue: for how long work has been due, and whether that made us reconnect. */
  const due = new Map<string, number>();
  const reconnected = new Set<string>();
  async function listen(): Promise<void> {
    for (const [queue, serving] of servings) {
      try {
        due.set(queue, await oldestDue(store.database, [queue]));
      } catch {
        return;
      }
      if (!isDeaf(queue, serving)) reconnected.delete(queue);
      else if (reconnected.has(queue)) return parts.onDeaf();
      else {
        reconnected.add(queue);
        log.warn({ queue, dueMs: due.get(queue) }, "work is due and nothing is heard: reconnecting");
        serving.reconnect();
      }
    }
  }
  const listening = setInterval(() => void listen(), deafMs / 2);

  const isDeaf = (queue: string, serving: Serving) =>
    (due.get(queue) ?? 0) > deafMs && performance.now() - serving.lastHeard() > deafMs && serving.active() === 0;

  function health(): Health {
    const all = [...servings];
    const deaf = all.filter(([queue, serving]) => isDeaf(queue, serving)).map(([queue]) => queue);
    const renewedMsAgo = leases.renewedMsAgo();
    const heard = Math.max(...all.map(([, serving]) => serving.lastHeard()));
    return {
      ok: deaf.length === 0 && renewedMsAgo < stuckMs,
      active: all.reduce((sum, [, serving]) => sum + serving.active(), 0),
      heardMsAgo: Math.round(performance.now() - heard),
      dueMs: Math.max(0, ...due.values()),
      deaf,
      renewedMsAgo,
    };
  }

  return {
    health,
    async drain(timeoutMs) {
      draining = true;
      clearInterval(listening);
      const closing = Promise.all([...servings.values()].map((serving) => serving.close()));
      const late = new Promise<"late">((resolve) => setTimeout(() => resolve("late"), timeoutMs).unref());
      if ((await Promise.race([closing, late])) === "late") {
        for (const { controller } of held.values()) controller.abort(new Error("The worker is shutting down."));
        await Promise.race([closing, new Promise((resolve) => setTimeout(resolve, graceMs).unref())]);
        await Promise.all([...servings.values()].map((serving) => serving.close(true)));
      }
      await leases.close();
      await stopWatching();
    },
  };
}
