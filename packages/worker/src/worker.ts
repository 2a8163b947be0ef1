/**
 * A worker: takes a doorbell, claims the activity, performs it, advances the run, rings what is next, and only then lets the job go.
 * It holds nothing between jobs (I5) but the claim of what it goes on with (claims-ahead.ts), which ends by itself.
 *
 * kill -9 before the claim: the job is delivered again. After the claim: the lease runs out and the next delivery takes over. After
 * the work, before the commit: a paid reply is found by its memo, commands are repeated from a checkpoint (sessions.ts). After the commit,
 * before the ring: the rows are ready; the redelivered job finds its activity done and rings them, and so does the supervisor. One that was
 * claimed with the commit is rung by the supervisor when its lease is over. After the ring, before the job is let go: the second delivery
 * finds nothing to do, and rings again what the first may not have got onto the wire (queue, Q4).
 *
 * What is done in each case is decided in decide/, by pure functions; here they are asked and obeyed.
 */
import { type Delivery, type WorkKind, type WorkQueue, workKinds } from "@markmill/engine";
import type { Answer, Queues, Ring, Serving, Slot } from "@markmill/queue";
import type { StoreError } from "@markmill/store";
import {
  breakRun,
  type Claim,
  type Claimed,
  type Committed,
  createLeaseKeeper,
  drawSeed,
  type Machine,
  oldestDue,
  releaseClaims,
  renewLeases,
  watch,
} from "@markmill/store/machine";
import type { Telemetry, Watched } from "@markmill/telemetry";
import { afterClaim, afterFailedClaim, mustRenewFirst } from "./decide/after-claim.ts";
import {
  afterFailedPerformance,
  afterPerforming,
  type Done,
  mayAct,
  refuseToPerform,
} from "./decide/after-performing.ts";
import { afterRefusedCommit } from "./decide/after-refused-commit.ts";
import { eventOf } from "./decide/event-of.ts";
import { giveBack as decideGivingBack } from "./decide/give-back.ts";
import { afterListening, afterProbe, deafMs, type Health, type Hearing, healthOf, isSilent } from "./decide/hearing.ts";
import { isOvertaken } from "./decide/is-overtaken.ts";
import { finishAndLeave } from "./finish-and-leave.ts";
import { LeaseLost, WorkerLeaves } from "./finish-requests.ts";
import type { Performer } from "./perform.ts";
import type { Performed } from "./performed.ts";
import { RunOver } from "./run-over.ts";
import { createClaimsAhead } from "./throughput/claims-ahead.ts";
import type { ToolFailPoint } from "./tool-ports.ts";
import { endOf, traced } from "./watch-activity.ts";

export interface WorkerParts {
  readonly store: Machine;
  readonly databaseUrl: string;
  readonly queues: Queues;
  readonly performer: Performer;
  readonly concurrency: { readonly control: number; readonly prompt: number; readonly execute: number };
  /** Resolves when it is known whether this worker may take execute jobs: only with a sandbox that passed its self-test. */
  readonly executes: Promise<boolean>;
  readonly lockDurationMs: number;
  readonly stalledIntervalMs: number;
  /** How long a worker that gives up lets what it holds finish. */
  readonly drainTimeoutMs: number;
  readonly log: Log;
  /** Absent: nobody watches. */
  readonly telemetry?: Telemetry | null;
  /** A root run has ended: what was kept for it may go. */
  readonly onRootEnded: (rootId: string) => Promise<void>;
  /** Called when the worker stays deaf although it has reconnected, and has finished what it held. */
  readonly onDeaf: () => void;
  /** Named points where a test kills the process. */
  readonly failPoint?: (point: FailPoint, kind: WorkKind | null) => void | Promise<void>;
}

type FailPoint = "before-claim" | "after-claim" | ToolFailPoint | "after-work" | "after-commit" | "after-ring";

export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface RunningWorker {
  health(): Health;
  /** How many prompts it has in hand, from now on. */
  holdPrompts(most: number): void;
  /** Takes nothing new, waits for what it holds, then gives up what is left. */
  drain(timeoutMs: number): Promise<void>;
}

/** For what was aborted to end and be given back. */
const graceMs = 2_000;

interface Held {
  readonly claimed: Claimed;
  readonly delivered: Delivery;
  readonly controller: AbortController;
  /** Something that must not be repeated may have begun. */
  acted: boolean;
  /** Until its end is told. */
  watched: Watched | null;
}

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
  const claims = createClaimsAhead(store.leaseMs);

  async function handle(delivered: Delivery, ring: Ring, slot: Slot): Promise<Answer> {
    await failPoint("before-claim", null);
    let claim: Claim;
    const before = claims.take(delivered);
    const asked = before?.asked ?? performance.now();
    try {
      claim = before?.claimed ?? (await store.claim(delivered));
    } catch (error) {
      const { newer, answer } = afterFailedClaim(error);
      const about = { err: error, run: delivered.runId, activity: delivered.activityId };
      if (newer) log.warn(about, "a run is left to newer workers");
      else log.error(about, "an activity could not be claimed");
      return answer;
    }
    const decided = afterClaim(claim);
    if (decided.do === "answer") {
      if (decided.rings !== null) await ring(decided.rings);
      return decided.answer;
    }
    const { claimed } = decided;
    // Only the lease counts, not the queue's lock (I1): work is given up when the lease is lost, the run went on, or this worker goes.
    const { activity } = claimed;
    const watched = parts.telemetry?.perform(traced(claimed, delivered, store.clock.now())) ?? null;
    const mine: Held = { claimed, delivered, controller: new AbortController(), acted: false, watched };
    if (activity.leased) {
      held.set(activity.id, mine);
      leases.hold(activity.id, activity.claim, () => mine.controller.abort(new LeaseLost()));
    }
    try {
      if (activity.leased && mustRenewFirst(performance.now() - asked, store.leaseMs)) {
        const kept = await renewLeases(store.database, [activity], store.leaseMs);
        if (kept.get(activity.id) !== "renewed") return { do: "later", ms: store.leaseMs };
      }
      return await carryOut(mine, ring, slot);
    } catch (error) {
      log.error(
        { err: error, run: delivered.runId, activity: delivered.activityId },
        "an activity could not be advanced",
      );
      return giveBack(mine, 1_000);
    } finally {
      // What was only read, and not committed, has left no trace.
      if (activity.leased) mine.watched?.end({ did: "give back" });
      if (held.get(activity.id) === mine) {
        held.delete(activity.id);
        leases.drop(activity.id);
      }
    }
  }

  async function carryOut(mine: Held, ring: Ring, slot: Slot): Promise<Answer> {
    const { claimed, controller, delivered } = mine;
    const { run, activity } = claimed;
    await failPoint("after-claim", activity.kind);
    const performed = await attempt(mine, delivered.jobId, controller.signal);
    await failPoint("after-work", activity.kind);
    const decided = afterPerforming(performed, {
      ...{ kind: activity.kind, bounds: run.state.bounds, draining, acted: mine.acted },
    });
    if (decided.do === "answer") return decided.answer;
    if (decided.do === "give back") {
      if (decided.untouched) mine.acted = false;
      return giveBack(mine, decided.ms);
    }
    const committed = await commit(mine, decided.done, activity.leased && !draining && slot.countOn());
    if (committed.kind === "committed" && committed.followed !== null) {
      const { activity: next } = committed.followed.claimed;
      claims.keep(committed.followed);
      slot.onRefused(next.id, async () => {
        // Where that fails, the lease runs out.
        if (claims.drop(next.id)) await releaseClaims(store.database, [next]).catch(() => undefined);
      });
    }
    // A light one needs no lease: the run's revision lets only one of two pass.
    if (committed.kind === "committed") for (const { id } of committed.run.light) slot.mayBeginEarly(id);
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

  /** `goesOn`: with the next activity of the same queue, which is claimed with it. */
  async function commit(mine: Held, done: Done, goesOn: boolean): Promise<Committed> {
    const { run, activity } = mine.claimed;
    try {
      const event = eventOf(activity, done, { at: store.clock.now(), seed: drawSeed() });
      const source = { id: activity.id, claim: activity.claim };
      const follows = goesOn ? workKinds[activity.kind].queue : null;
      const committed = await store.commit({ run, event, source, follows });
      if (committed.kind === "committed") {
        mine.watched?.end(endOf(done));
        mine.watched = null;
      }
      return committed;
    } catch (error) {
      const decided = afterRefusedCommit(error, done);
      if (decided.do === "give back") throw error;
      return decided.do === "commit" ? commit(mine, decided.done, goesOn) : breakRun(store, run.id, decided.why);
    }
  }

  /** What is thrown here is a store that is away. */
  async function attempt(mine: Held, job: string, signal: AbortSignal): Promise<Performed> {
    const { claimed } = mine;
    const refusal = refuseToPerform(claimed);
    if (refusal !== null) return refusal;
    mine.acted = mayAct(claimed.activity.kind);
    try {
      return await performer.perform(claimed, job, signal, mine.watched);
    } catch (error) {
      const decided = afterFailedPerformance(error, { aborted: signal.aborted, acted: mine.acted });
      if (decided === null) throw error;
      const about = { err: error, run: claimed.run.id, activity: claimed.activity.id };
      if (decided.defect) log.error(about, "an activity could not be performed");
      return decided.performed;
    }
  }

  async function giveBack({ claimed, delivered, acted }: Held, ms: number): Promise<Answer> {
    const { id, claim } = claimed.activity;
    const { release, ring, answer } = decideGivingBack(claimed.run, claimed.activity, delivered, { ms, acted });
    if (release) await releaseClaims(store.database, [{ id, claim }], ms).catch(() => undefined);
    if (ring !== null) await queues.ring([ring]);
    return answer;
  }

  const settings = { lockDuration: parts.lockDurationMs, stalledInterval: parts.stalledIntervalMs };
  const serve = (queue: WorkQueue): Serving =>
    queues.serve(queue, handle, {
      ...settings,
      concurrency: parts.concurrency[queue],
    });
  const servings = new Map<string, Serving>([
    ["control", serve("control")],
    ["prompt", serve("prompt")],
  ]);
  let draining = false;
  const stopped = new AbortController();
  void parts.executes.then((may) => {
    if (may && !draining) servings.set("execute", serve("execute"));
  });

  const stopWatching = watch(parts.databaseUrl, {
    onControl(control) {
      for (const { claimed, controller } of held.values()) {
        if (isOvertaken({ runId: claimed.run.id, epoch: claimed.activity.epoch }, control))
          controller.abort(
            control.over === true
              ? new RunOver("The run is over.")
              : new Error("The run continued without this activity."),
          );
      }
      claims.forget(({ run, activity }) => isOvertaken({ runId: run.id, epoch: activity.epoch }, control));
    },
    onConnected() {
      leases.renewNow();
      claims.forget(() => true);
    },
    onError: (error: StoreError) => log.warn({ err: error }, "listening to Postgres"),
  });

  /** Per queue: for how long work has been due, and when that made us reconnect, until something is heard again. */
  const due = new Map<string, number>();
  const reconnected = new Map<string, number>();
  /** What a queue said of itself when it was last asked, which is only while it is silent. */
  const said = new Map<string, Hearing["queue"]>();
  const hearingOf = (queue: string, serving: Serving): Hearing => ({
    dueMs: due.get(queue) ?? 0,
    heardMsAgo: performance.now() - serving.lastHeard(),
    active: serving.active(),
    queue: said.get(queue) ?? "open",
  });
  async function listen(): Promise<void> {
    for (const [queue, serving] of servings) {
      try {
        due.set(queue, await oldestDue(store.database, [queue]));
      } catch {
        return;
      }
      said.delete(queue);
      if (isSilent(hearingOf(queue, serving))) {
        said.set(queue, await whatSays(serving));
      }
      const at = reconnected.get(queue);
      const decided = afterListening(hearingOf(queue, serving), at === undefined ? null : performance.now() - at);
      if (decided === "give up") {
        if (draining) return;
        clearInterval(listening);
        draining = true;
        log.error(
          { queue, holds: held.size },
          "activities are due, but the queue delivers no jobs: finishing the running activities, then exiting",
        );
        return await finishAndLeave({
          servings: [...servings.values()],
          giveUpAfterMs: parts.drainTimeoutMs,
          giveUp: () => {
            for (const { controller } of held.values()) controller.abort(new WorkerLeaves());
          },
          stopped: stopped.signal,
          leave: parts.onDeaf,
        });
      }
      if (decided === "hears") reconnected.delete(queue);
      if (decided !== "reconnect") continue;
      reconnected.set(queue, performance.now());
      log.warn(
        { queue, dueMs: due.get(queue) },
        "activities are due, but the queue delivers no jobs: connecting again",
      );
      serving.reconnect();
    }
  }
  async function whatSays(serving: Serving): Promise<Hearing["queue"]> {
    const paused = await serving.isPaused().catch(() => null);
    if (paused !== false) return paused === null ? "away" : "paused";
    return await queues.probe().then(() => "open" as const, afterProbe);
  }
  const listening = setInterval(() => void listen(), deafMs / 2);

  const health = () =>
    healthOf(
      new Map([...servings].map(([queue, serving]) => [queue, hearingOf(queue, serving)])),
      leases.renewedMsAgo(),
    );

  return {
    health,
    holdPrompts: (most) => servings.get("prompt")?.setConcurrency(most),
    async drain(timeoutMs) {
      draining = true;
      stopped.abort();
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
