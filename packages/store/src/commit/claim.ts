/**
 * Turns a job into work. Pure activities are only read. Activities that reach outside, or into the files of a session, are claimed by
 * compare-and-set. A claim has a lease, which the worker renews, and a fencing token, which its commit must still have.
 *
 * L1  While a lease is valid, no other worker gets the activity: a second delivery is told to wait. The lease of a prompt outlives its time
 *     while its worker is only paused (presence.ts). A call is paid twice only if its worker crashed, or lost its connection, before it
 *     stored the reply.
 * L2  If an earlier claim never ended, the new claim reports it (`interrupted`) and counts it in `takeovers`. An activity that is only read
 *     has no claim to count. For it, the delivery reports how often its worker was lost.
 * L3  A job of another epoch or attempt, or of an activity that is not open, gets no work.
 * L4  Each activity has one job. An activity that is released, or has to wait, keeps its job with a delay. A job of an earlier enqueue is
 *     completed, not delayed. Ready activities are then enqueued with their existing enqueue count.
 */

import {
  type Delivery,
  isLeased,
  type JobSpec,
  type Outcome,
  type Usage,
  type Work,
  type WorkKind,
} from "@markmill/engine";
import type { Database } from "../database/database.ts";
import type { DatabaseClock } from "../database/database-clock.ts";
import { translate } from "../database/store-error.ts";
import type { Definitions } from "../definitions/definitions.ts";
import { isKept } from "../leases/presence.ts";
import { inlineQueue, toActivity } from "./inline-activity.ts";
import { isLeasedSql } from "./kinds-sql.ts";
import { loadRuns, type RunColumns, runColumns, toLoadedRun } from "./load-runs.ts";
import { readyRows, toJobSpec } from "./ready-jobs.ts";
import { type Activity, columnToItem, type LoadedRun } from "./run-row.ts";
import { formOf, refuseNewer, stateForm } from "./run-state.ts";

/** What a job reports of its activity. The caller need not have a job. */
export type Claimable = Omit<Delivery, "jobId">;

export interface Claimed {
  readonly kind: "claimed";
  readonly run: LoadedRun;
  readonly activity: Activity;
  /** An earlier worker of this attempt crashed, or lost its lease, while it performed the activity. */
  readonly interrupted: boolean;
  readonly takeovers: number;
}

export type Claim =
  | Claimed
  /** Another worker holds it. Ask again after this time. */
  | { readonly kind: "held"; readonly forMs: number }
  /** The activity is not due yet. */
  | { readonly kind: "early"; readonly forMs: number }
  /**
   * There is nothing to do. `jobs`: the ready activities of the run, or of the run it called. An earlier delivery may have crashed before
   * it enqueued them.
   */
  | { readonly kind: "stale"; readonly jobs: readonly JobSpec[] };

export interface Claimer {
  claim(delivery: Claimable): Promise<Claim>;
  idle(): Promise<void>;
}

export interface ClaimerParts {
  readonly database: Database;
  readonly definitions: Definitions;
  readonly clock: DatabaseClock;
  readonly worker: string;
  readonly leaseMs: number;
}

interface ClaimRow extends RunColumns {
  readonly id: number;
  readonly node: string;
  readonly generation: number;
  readonly item: number;
  readonly attempt: number;
  readonly kind: WorkKind;
  readonly epoch: number;
  readonly activity_state: string;
  readonly claim: number;
  readonly takeovers: number;
  readonly interrupted: boolean;
  readonly taken: boolean;
  readonly unasked: boolean;
  readonly enqueues: number;
  readonly work: Work;
  readonly outcome: Outcome | null;
  readonly usage: Usage | null;
  readonly lease_ms: number | null;
  readonly early_ms: number | null;
  readonly asked_at: number;
}

/**
 * The wanted rows are sorted by id, so that two claimers lock in the same order. Three details keep the plan cheap: `lateral`, `offset 0`,
 * and a comparison of the run's state that hides its index. Without them Postgres looks through all open runs for each activity. `limit 1`
 * has the same reason: Postgres may answer an EXISTS in a column from a hash of all calls in the table.
 */
const text = `
with wanted as materialized (
  select x.* from json_to_recordset($1::json) as x(id bigint, epoch integer, attempt integer)
), free as materialized (
  select a.id, a.interrupted from wanted w cross join lateral (
    select a.id, a.state = 'claimed' as interrupted from activities a
    where a.id = w.id and ${isLeasedSql("a")} and a.epoch = w.epoch and a.attempt = w.attempt
      and (a.not_before is null or a.not_before <= clock_timestamp())
      and case a.state when 'ready' then true when 'claimed' then
        case when a.lease_until <= clock_timestamp() then not ${isKept("a")} else false end else false end
      and w.epoch = (select r.epoch from runs r where r.id = a.run_id and r.status || '' = 'doing' and ${formOf} <= ${stateForm})
    for update of a offset 0) a
), taken as (
  update activities a set
    state = 'claimed', claim = a.claim + 1, claimed_by = $2, claimed_at = clock_timestamp(),
    lease_until = clock_timestamp() + $3::integer * interval '1 millisecond',
    takeovers = a.takeovers + case when f.interrupted then 1 else 0 end
  from free f where a.id = f.id
  returning a.id, a.claim, a.takeovers, f.interrupted
)
select a.id, a.node, a.generation, a.item, a.attempt, a.kind, a.epoch, a.state as activity_state, a.enqueues, a.work, a.outcome, a.usage,
  coalesce(t.claim, a.claim) as claim, coalesce(t.takeovers, a.takeovers) as takeovers, coalesce(t.interrupted, false) as interrupted,
  t.id is not null as taken,
  coalesce(t.claim = 1, false) and (select true from calls c where c.activity_id = a.id limit 1) is null as unasked,
  extract(epoch from a.lease_until - clock_timestamp())::float8 * 1000 as lease_ms,
  extract(epoch from a.not_before - clock_timestamp())::float8 * 1000 as early_ms,
  extract(epoch from a.created_at)::float8 * 1000 as asked_at, ${runColumns}
from wanted w join activities a on a.id = w.id join runs r on r.id = a.run_id left join taken t on t.id = a.id`;

/** How to claim activities, for several deliveries at a time. */
export interface ClaimRules {
  /**
   * Returns a function that gives each delivery its claim. null: the delivery is stale (L3). Never pass two deliveries of one activity
   * together: both would get it.
   */
  ask(deliveries: readonly Claimable[]): Promise<(delivery: Claimable) => Claim | null>;
  /** For stale deliveries: the jobs to enqueue. */
  readyFor(deliveries: readonly Claimable[]): Promise<readonly Claim[]>;
  /** Inline activities as their runs have them now. null: not an open inline activity. */
  look(deliveries: readonly Claimable[]): Promise<readonly (Claim | null)[]>;
}

/** Claims one delivery at a time. Production uses ../throughput/gather-claims.ts. */
export function createPlainClaimer(parts: ClaimerParts): Claimer {
  const rules = createClaimRules(parts);
  const inFlight = new Set<Promise<Claim>>();

  async function claim(delivery: Claimable): Promise<Claim> {
    const [inline = null] = delivery.queue === inlineQueue ? await rules.look([delivery]) : [];
    if (inline !== null) return inline;
    const judge = await rules.ask([delivery]);
    const claimed = judge(delivery);
    if (claimed !== null) return claimed;
    const [stale = { kind: "stale" as const, jobs: [] }] = await rules.readyFor([delivery]);
    return stale;
  }

  return {
    async claim(delivery) {
      const claiming = claim(delivery);
      inFlight.add(claiming);
      try {
        return await claiming;
      } catch (error) {
        throw translate(error, "Claiming an activity");
      } finally {
        inFlight.delete(claiming);
      }
    },
    async idle() {
      while (inFlight.size > 0) await Promise.allSettled(inFlight);
    },
  };
}

export function createClaimRules({ database, definitions, clock, worker, leaseMs }: ClaimerParts): ClaimRules {
  async function ask(deliveries: readonly Claimable[]): Promise<(delivery: Claimable) => Claim | null> {
    const wanted = deliveries
      .map(({ activityId: id, epoch, attempt }) => ({ id, epoch, attempt }))
      .sort((one, other) => one.id - other.id);
    const { rows } = await database.hot.query<ClaimRow>({
      name: "claim",
      text,
      values: [JSON.stringify(wanted), worker, leaseMs],
    });
    await definitions.ensure(rows.map(({ tenant, definition_hash: hash }) => ({ tenant, hash })));
    if (rows[0] !== undefined) clock.observe(rows[0].now);
    const byId = new Map(rows.map((row) => [row.id, row]));
    return (delivery) => {
      const row = byId.get(delivery.activityId);
      return row === undefined ? null : judge(row, delivery);
    };
  }

  async function readyFor(deliveries: readonly Claimable[]): Promise<readonly Claim[]> {
    const ready = await readyRows(
      database.hot,
      deliveries.map(({ runId }) => runId),
      deliveries.map(({ activityId }) => activityId),
    );
    return deliveries.map(({ runId, activityId }) => {
      const rows = ready.filter((row) => row.run_id === runId || row.parent_activity_id === activityId);
      return { kind: "stale", jobs: rows.map(toJobSpec) };
    });
  }

  /** null: the delivery is stale (L3). */
  function judge(row: ClaimRow, delivery: Claimable): Claim | null {
    if (row.epoch !== delivery.epoch || row.run_epoch !== delivery.epoch || row.attempt !== delivery.attempt)
      return null;
    if (row.status !== "doing") return null;
    if (row.taken) return toClaim(row, row.takeovers);
    refuseNewer(row.kept);
    const open = row.activity_state === "ready" || row.activity_state === "claimed";
    const outdated = delivery.enqueues < row.enqueues;
    if (open && row.early_ms !== null && row.early_ms > 0) {
      return outdated ? null : { kind: "early", forMs: Math.ceil(row.early_ms) };
    }
    if (!isLeased(row.work)) return row.activity_state === "ready" ? toClaim(row, delivery.stalled ?? 0) : null;
    // The activity is ready but was not claimed: another claim was faster, and its lease is not in this snapshot.
    return open && !outdated ? { kind: "held", forMs: heldFor(row.lease_ms) } : null;
  }

  /**
   * An expired lease that was not taken over belongs to a paused worker. The worker may crash or wake up at any time, so check again soon.
   */
  function heldFor(leaseLeftMs: number | null): number {
    const left = leaseLeftMs ?? leaseMs;
    return left > 0 ? Math.max(50, Math.ceil(left)) : Math.ceil(leaseMs / 3);
  }

  function toClaim(row: ClaimRow, takeovers: number): Claim {
    const { node, generation, attempt, kind, interrupted } = row;
    const activity: Activity = {
      id: row.id,
      runId: row.run_id,
      ref: { node, generation, item: columnToItem(row.item), attempt },
      kind,
      epoch: row.epoch,
      claim: row.claim,
      enqueues: row.enqueues,
      work: row.work,
      outcome: row.outcome,
      usage: row.usage,
      leased: row.taken,
      askedAt: row.asked_at,
      ...(row.unasked ? { unasked: true } : {}),
    };
    return { kind: "claimed", run: toLoadedRun(row, definitions), activity, interrupted, takeovers };
  }

  async function look(deliveries: readonly Claimable[]): Promise<readonly (Claim | null)[]> {
    const runs = await loadRuns(
      database.hot,
      definitions,
      deliveries.map(({ runId }) => runId),
    );
    return deliveries.map((delivery) => {
      const run = runs.get(delivery.runId);
      return run === undefined ? null : inlineClaim(run, delivery);
    });
  }

  return { ask, readyFor, look };
}

export function inlineClaim(run: LoadedRun, delivery: Claimable): Claim | null {
  const inline = run.inline.find(({ id }) => id === delivery.activityId);
  if (inline === undefined || run.state.phase.is === "stopped") return null;
  if (run.state.epoch !== delivery.epoch || inline.ref.attempt !== delivery.attempt) return null;
  return {
    kind: "claimed",
    run,
    activity: toActivity(run, inline),
    interrupted: false,
    takeovers: delivery.stalled ?? 0,
  };
}
