/**
 * A worker: takes a doorbell, claims the activity, performs it, advances the run, rings what is next, and only then lets the job go.
 * It holds nothing between jobs (I5).
 *
 * kill -9 before the claim: the job is delivered again. After the claim: the lease runs out and the next delivery takes over. After
 * the work, before the commit: a paid reply is found by its memo, commands count as unknown. After the commit, before the ring: the
 * rows are ready; the redelivered job finds its activity done and rings them, and so does the supervisor. After the ring, before the
 * job is let go: the second delivery finds nothing to do.
 */
import type { Event, Outcome, WorkKind } from "@markmill/engine";
import type { Answer, Delivered, Queues, Serving } from "@markmill/queue";
import { type Committed, drawSeed, oldestDue, renewLeases, type Store, type StoreError, watch } from "@markmill/store";
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
  readonly deaf: boolean;
}

/** An activity that killed so many workers is not given to another one. */
const mostTakeovers = 5;
/** Work due for so long while nothing is heard means that the worker is deaf (W7 of the durability notes). */
const deafMs = 10_000;

interface Held {
  readonly claimed: Claimed;
  readonly controller: AbortController;
}

const leased = new Set(["prompt", "execute", "tool", "memory"]);

export function startWorker(parts: WorkerParts): RunningWorker {
  const { store, queues, performer, log } = parts;
  const held = new Map<number, Held>();
  const failPoint = parts.failPoint ?? (() => undefined);

  async function handle(delivered: Delivered, signal: AbortSignal): Promise<Answer> {
    await failPoint("before-claim", null);
    const claim = await store.claim(delivered);
    if (claim.kind === "stale") {
      await queues.ring(claim.rings);
      return { do: "done" };
    }
    if (claim.kind === "held" || claim.kind === "early") return { do: "later", ms: claim.forMs };
    const { id } = claim.activity;
    const controller = new AbortController();
    const abort = () => controller.abort(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    if (leased.has(claim.activity.kind)) held.set(id, { claimed: claim, controller });
    try {
      return await advance(claim, delivered.jobId, controller.signal);
    } finally {
      signal.removeEventListener("abort", abort);
      held.delete(id);
    }
  }

  async function advance(claimed: Claimed, job: string, signal: AbortSignal): Promise<Answer> {
    const { run, activity } = claimed;
    await failPoint("after-claim", activity.kind);
    const performed = await attempt(claimed, job, signal);
    await failPoint("after-work", activity.kind);
    if (performed.did === "leave") return { do: activity.kind === "call" ? "children" : "done" };
    const bearer = { id: activity.id, claim: activity.claim };
    const committed = await store.commit({ run, event: eventOf(claimed, performed), bearer });
    await failPoint("after-commit", activity.kind);
    await ring(committed);
    await failPoint("after-ring", activity.kind);
    if (committed.kind === "committed" && committed.run.state.phase.is === "ended" && run.parent === null) {
      await parts
        .onRootEnded(run.rootId)
        .catch((error: unknown) => log.warn({ err: error, run: run.id }, "clean-up failed"));
    }
    return { do: "done" };
  }

  /** What is thrown here is a bug or a store that is away: the activity stays open and is delivered again. */
  async function attempt(claimed: Claimed, job: string, signal: AbortSignal): Promise<Performed> {
    if (claimed.takeovers >= mostTakeovers) {
      return failed("WORKER_CRASHED", `${claimed.takeovers} workers were lost while they did this.`, "fail");
    }
    return performer.perform(claimed, job, signal);
  }

  function eventOf({ activity }: Claimed, performed: Exclude<Performed, { did: "leave" }>): Event {
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
    const { failure, next, retryAfterMs } = performed;
    return { type: "activity.failed", ...base, failure, next, retryAfterMs };
  }

  async function ring(committed: Committed): Promise<void> {
    await queues.ring(committed.rings);
  }

  const settings = { lockDuration: parts.lockDurationMs, stalledInterval: parts.stalledIntervalMs };
  const serve = (queue: "control" | "prompt" | "execute"): Serving =>
    queues.serve(queue, (delivered, signal) => guard(delivered, signal), {
      ...settings,
      concurrency: parts.concurrency[queue],
    });
  const servings = [serve("control"), serve("prompt")];
  const served = ["control", "prompt"];
  let draining = false;
  void parts.executes.then((may) => {
    if (!may || draining) return;
    servings.push(serve("execute"));
    served.push("execute");
  });

  async function guard(delivered: Delivered, signal: AbortSignal): Promise<Answer> {
    try {
      return await handle(delivered, signal);
    } catch (error) {
      log.error(
        { err: error, run: delivered.runId, activity: delivered.activityId },
        "an activity could not be advanced",
      );
      return { do: "later", ms: 1_000 };
    }
  }

  const stopWatching = watch(parts.databaseUrl, {
    onControl({ runId, epoch }) {
      for (const { claimed, controller } of held.values()) {
        if (claimed.run.id === runId && claimed.activity.epoch < epoch)
          controller.abort(new Error("The run went on without this."));
      }
    },
    onConnected: () => void renew(),
    onError: (error: StoreError) => log.warn({ err: error }, "listening to Postgres"),
  });

  /** A lease that was lost means that the result would be dropped: the work is given up. */
  async function renew(): Promise<void> {
    const mine = [...held.values()].map(({ claimed }) => ({ id: claimed.activity.id, claim: claimed.activity.claim }));
    if (mine.length === 0) return;
    try {
      const kept = await renewLeases(store.database, mine, store.leaseMs);
      for (const { id, claim } of mine) {
        const now = held.get(id);
        if (!kept.has(id) && now?.claimed.activity.claim === claim)
          now.controller.abort(new Error("The lease was lost."));
      }
    } catch (error) {
      log.warn({ err: error }, "leases could not be renewed");
    }
  }
  const renewing = setInterval(() => void renew(), Math.floor(store.leaseMs / 3));

  let dueMs = 0;
  let reconnected = false;
  async function listen(): Promise<void> {
    try {
      dueMs = await oldestDue(store.database, served);
    } catch {
      return;
    }
    if (!isDeaf()) {
      reconnected = false;
      return;
    }
    if (reconnected) return parts.onDeaf();
    reconnected = true;
    log.warn({ dueMs }, "work is due and nothing is heard: reconnecting");
    for (const serving of servings) serving.reconnect();
  }
  const listening = setInterval(() => void listen(), deafMs / 2);

  const heardMsAgo = () => performance.now() - Math.max(...servings.map((serving) => serving.lastHeard()));
  const active = () => servings.reduce((sum, serving) => sum + serving.active(), 0);
  const isDeaf = () => dueMs > deafMs && heardMsAgo() > deafMs && active() === 0;

  return {
    health: () => ({ ok: !isDeaf(), active: active(), heardMsAgo: Math.round(heardMsAgo()), dueMs, deaf: isDeaf() }),
    async drain(timeoutMs) {
      draining = true;
      clearInterval(listening);
      const closing = Promise.all(servings.map((serving) => serving.close()));
      const late = new Promise<"late">((resolve) => setTimeout(() => resolve("late"), timeoutMs).unref());
      if ((await Promise.race([closing, late])) === "late") {
        for (const { controller } of held.values()) controller.abort(new Error("The worker is shutting down."));
        await Promise.all(servings.map((serving) => serving.close(true)));
      }
      clearInterval(renewing);
      await stopWatching();
    },
  };
}
