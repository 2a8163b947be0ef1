/**
 * A worker takes a job, claims the activity, performs it, advances the run, enqueues the next activities, and only then completes the job.
 * Between jobs it holds only the claims ahead of its next activities (I5, claims-ahead.ts), which expire without help.
 *
 * kill -9 before the claim: the job is delivered again. After the claim: the lease expires and the next delivery takes over. After the
 * work, before the commit: a paid reply is found by its memo, and commands are repeated from a checkpoint (sessions.ts). After the commit,
 * before the enqueue: the rows are ready. The redelivered job finds its activity done and enqueues them, and so does the supervisor. The
 * supervisor enqueues an activity that was claimed ahead when its lease expires. After the enqueue, before the job is completed: the second
 * delivery finds nothing to do, and enqueues again what the first one may not have sent (queue, Q4).
 *
 * The pure functions in decide/ decide each case, and this file carries out their decisions.
 */
import { type Delivery, type WorkKind, type WorkQueue, workKinds } from "@markmill/engine";
import type { Answer, Enqueue, Queues, Serving, Slot } from "@markmill/queue";
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
import {
  afterListening,
  afterProbe,
  type Health,
  type Hearing,
  healthOf,
  isSilent,
  stalledMs,
} from "./decide/hearing.ts";
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
  /** How long a worker that gives up waits for its activities to finish. */
  readonly drainTimeoutMs: number;
  readonly log: Log;
  /** Absent: no telemetry. */
  readonly telemetry?: Telemetry | null;
  /** A root run has ended: data that was kept for it may be removed. */
  readonly onRootEnded: (rootId: string) => Promise<void>;
  /** Called when the worker stays stalled after a reconnect, and has finished its activities. */
  readonly onStalled: () => void;
  /** Named points at which a test kills the process. */
  readonly failPoint?: (point: FailPoint, kind: WorkKind | null) => void | Promise<void>;
}

type FailPoint = "before-claim" | "after-claim" | ToolFailPoint | "after-work" | "after-commit" | "after-enqueue";

export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface RunningWorker {
  health(): Health;
  /** Sets the number of prompts that the worker holds from now on. */
  holdPrompts(most: number): void;
  /** Accepts no new jobs, waits for its activities, then gives up the rest. */
  drain(timeoutMs: number): Promise<void>;
}

/** Time for aborted activities to end and be released. */
const graceMs = 2_000;

interface Held {
  readonly claimed: Claimed;
  readonly delivered: Delivery;
  readonly controller: AbortController;
  /** Something that must not be repeated may have begun. */
  acted: boolean;
  /** Set until its end is reported. */
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

  async function handle(delivered: Delivery, enqueue: Enqueue, slot: Slot): Promise<Answer> {
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
      if (decided.jobs !== null) await enqueue(decided.jobs);
      return decided.answer;
    }
    const { claimed } = decided;
    // Only the lease counts, not the queue's lock (I1). The work is given up when the lease is lost, the run continued without it, or this
    // worker shuts down.
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
      return await carryOut(mine, enqueue, slot);
    } catch (error) {
      log.error(
        { err: error, run: delivered.runId, activity: delivered.activityId },
        "an activity could not be advanced",
      );
      return giveBack(mine, 1_000);
    } finally {
      // An activity that was only read, and not committed, has left no trace.
      if (activity.leased) mine.watched?.end({ did: "give back" });
      if (held.get(activity.id) === mine) {
        held.delete(activity.id);
        leases.drop(activity.id);
      }
    }
  }

  async function carryOut(mine: Held, enqueue: Enqueue, slot: Slot): Promise<Answer> {
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
    if (committed.kind === "committed" && committed.claimedAhead !== null) {
      const { activity: next } = committed.claimedAhead.claimed;
      claims.keep(committed.claimedAhead);
      slot.onRefused(next.id, async () => {
        // If that fails, the lease expires.
        if (claims.drop(next.id)) await releaseClaims(store.database, [next]).catch(() => undefined);
      });
    }
    // An inline activity needs no lease: the run's revision lets only one of two commits pass.
    if (committed.kind === "committed") for (const { id } of committed.run.inline) slot.mayBeginEarly(id);
    await failPoint("after-commit", activity.kind);
    await enqueue(committed.jobs);
    await failPoint("after-enqueue", activity.kind);
    if (committed.kind === "committed" && committed.run.state.phase.is === "ended" && run.parent === null) {
      await parts
        .onRootEnded(run.rootId)
        .catch((error: unknown) => log.warn({ err: error, run: run.id }, "clean-up failed"));
    }
    return { do: "done" };
  }

  /** `goesOn`: continue with the next activity of the same queue, which the commit claims ahead. */
  async function commit(mine: Held, done: Done, goesOn: boolean): Promise<Committed> {
    const { run, activity } = mine.claimed;
    try {
      const event = eventOf(activity, done, { at: store.clock.now(), seed: drawSeed() });
      const source = { id: activity.id, claim: activity.claim };
      const claimsAhead = goesOn ? workKinds[activity.kind].queue : null;
      const committed = await store.commit({ run, event, source, claimsAhead });
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

  /** An error thrown here means an unreachable store. */
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
    const { release, job, answer } = decideGivingBack(claimed.run, claimed.activity, delivered, { ms, acted });
    if (release) await releaseClaims(store.database, [{ id, claim }], ms).catch(() => undefined);
    if (job !== null) await queues.enqueue([job]);
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
            control.over === true ? new RunOver("The run is over.") : new Error("The run went on without this."),
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

  /** Per queue: how long work has been due, and when that caused a reconnect, until a job arrives again. */
  const due = new Map<string, number>();
  const reconnected = new Map<string, number>();
  /** The last reported state of each queue. The worker asks only while no job arrives. */
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
          "work is due and nothing is heard: finishing what is held, then leaving",
        );
        return await finishAndLeave({
          servings: [...servings.values()],
          giveUpAfterMs: parts.drainTimeoutMs,
          giveUp: () => {
            for (const { controller } of held.values()) controller.abort(new WorkerLeaves());
          },
          stopped: stopped.signal,
          leave: parts.onStalled,
        });
      }
      if (decided === "hears") reconnected.delete(queue);
      if (decided !== "reconnect") continue;
      reconnected.set(queue, performance.now());
      log.warn({ queue, dueMs: due.get(queue) }, "work is due and nothing is heard: reconnecting");
      serving.reconnect();
    }
  }
  async function whatSays(serving: Serving): Promise<Hearing["queue"]> {
    const paused = await serving.isPaused().catch(() => null);
    if (paused !== false) return paused === null ? "away" : "paused";
    return await queues.probe().then(() => "open" as const, afterProbe);
  }
  const listening = setInterval(() => void listen(), stalledMs / 2);

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
