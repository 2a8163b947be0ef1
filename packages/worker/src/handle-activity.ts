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
import { type Delivery, type WorkKind, workKinds } from "@markmill/engine";
import type { Answer, Enqueue, Handler, Queues, Slot } from "@markmill/queue";
import {
  breakRun,
  type Claim,
  type Claimed,
  type Committed,
  drawSeed,
  type LeaseKeeper,
  type Machine,
  releaseClaims,
  renewLeases,
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
import { LeaseLost } from "./finish-requests.ts";
import type { Log } from "./log.ts";
import type { Performer } from "./perform.ts";
import type { Performed } from "./performed.ts";
import type { ClaimsAhead } from "./throughput/claims-ahead.ts";
import type { ToolFailPoint } from "./tool-ports.ts";
import { endOf, traced } from "./watch-activity.ts";

export interface HandlerParts {
  readonly store: Machine;
  readonly queues: Queues;
  readonly performer: Performer;
  readonly log: Log;
  /** Absent: no telemetry. */
  readonly telemetry?: Telemetry | null;
  /** A root run has ended: data that was kept for it may be removed. */
  readonly onRootEnded: (rootId: string) => Promise<void>;
  /** Named points at which a test kills the process. */
  readonly failPoint?: (point: FailPoint, kind: WorkKind | null) => void | Promise<void>;
}

type FailPoint = "before-claim" | "after-claim" | ToolFailPoint | "after-work" | "after-commit" | "after-enqueue";

/** What the handler shares with the rest of its worker. */
export interface WorkerState {
  /** The leased activities that the worker performs, by their ids. */
  readonly held: Map<number, Held>;
  readonly leases: LeaseKeeper;
  readonly claims: ClaimsAhead;
  /** The worker takes nothing new. */
  isDraining(): boolean;
}

export interface Held {
  readonly claimed: Claimed;
  readonly delivered: Delivery;
  readonly controller: AbortController;
  /** Something that must not be repeated may have begun. */
  acted: boolean;
  /** Set until its end is reported. */
  watched: Watched | null;
}

export function createActivityHandler(parts: HandlerParts, { held, leases, claims, isDraining }: WorkerState): Handler {
  const { store, queues, performer, log } = parts;
  const failPoint = parts.failPoint ?? (() => undefined);

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
      kind: activity.kind,
      bounds: run.state.bounds,
      draining: isDraining(),
      acted: mine.acted,
    });
    if (decided.do === "answer") return decided.answer;
    if (decided.do === "give back") {
      if (decided.untouched) mine.acted = false;
      return giveBack(mine, decided.ms);
    }
    const committed = await commit(mine, decided.done, activity.leased && !isDraining() && slot.countOn());
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

  return handle;
}
