/**
 * From a doorbell to work. Pure activities are read; those that reach outside, or into the files of a session, are claimed by compare-and-set, under a lease that the
 * worker renews and a fencing token that its commit must still have.
 *
 * L1  While a lease lives nobody else gets the activity: a second delivery is told to wait. The lease of a prompt outlives its time while
 *     its holder is only paused (presence.ts). A call is paid twice only if its holder died, or lost its connection, before it stored the reply.
 * L2  A claim of an activity that was claimed and never ended says so (`interrupted`), and counts in `takeovers`.
 *     One that is only read has no claim to count: for it the delivery says how often its worker was lost.
 * L3  A doorbell of another epoch or attempt, or of an activity that is not open, gets nothing.
 * L4  One activity, one job. What is given back, or has to wait, keeps its job, which is put off; a job of an earlier ring is not put off
 *     but let go, and what is ready is rung under the number it has.
 */

import {
  type Delivery,
  type Doorbell,
  isLeased,
  type Outcome,
  type Usage,
  type Work,
  type WorkKind,
} from "@markmill/engine";
import type { Database } from "../database/database.ts";
import type { DatabaseClock } from "../database/database-clock.ts";
import { translate } from "../database/store-error.ts";
import type { Definitions } from "../definitions/definitions.ts";
import { type RenewedRow, renewText } from "../leases/lease-statement.ts";
import { isKept } from "../leases/presence.ts";
import { createGather, settleInTurns } from "../throughput/gather.ts";
import { promptLingerMs } from "../throughput/gathered.ts";
import type { RunCache } from "../throughput/run-cache.ts";
import { isLeasedSql } from "./kinds-sql.ts";
import { lightQueue, toActivity } from "./light-activity.ts";
import { loadRuns, type RunColumns, runColumns, toLoadedRun } from "./load-runs.ts";
import { readyRows, toRing } from "./ready-rings.ts";
import { type Activity, columnToItem, type LoadedRun } from "./run-row.ts";
import { formOf, refuseNewer, stateForm } from "./run-state.ts";

/** What a doorbell says of the activity; who brings it need not be a job. */
export type Claimable = Omit<Delivery, "jobId">;

export interface Claimed {
  readonly kind: "claimed";
  readonly run: LoadedRun;
  readonly activity: Activity;
  /** An earlier holder of this attempt died, or lost its lease, in the act. */
  readonly interrupted: boolean;
  readonly takeovers: number;
}

export type Claim =
  | Claimed
  /** Somebody holds it; ask again after so long. */
  | { readonly kind: "held"; readonly forMs: number }
  /** Its time has not come. */
  | { readonly kind: "early"; readonly forMs: number }
  /** Nothing to do. `rings` are what the run, or the run it called, has ready: an earlier delivery may have died before it rang. */
  | { readonly kind: "stale"; readonly rings: readonly Doorbell[] };

export interface Claimer {
  claim(delivery: Claimable): Promise<Claim>;
  idle(): Promise<void>;
}

export interface ClaimerParts {
  readonly database: Database;
  readonly definitions: Definitions;
  readonly cache: RunCache;
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
  readonly rings: number;
  readonly work: Work;
  readonly outcome: Outcome | null;
  readonly usage: Usage | null;
  readonly lease_ms: number | null;
  readonly early_ms: number | null;
  readonly asked_at: number;
}

/**
 * What is wanted comes sorted by id, so that two claimers lock in the same order. Lateral, `offset 0` and the state of a run compared in a way
 * that hides its index: joined freely, all open runs are looked through for each activity. `limit 1` for the same reason: EXISTS in a column
 * may be answered from a hash of all calls there are.
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
select a.id, a.node, a.generation, a.item, a.attempt, a.kind, a.epoch, a.state as activity_state, a.rings, a.work, a.outcome, a.usage,
  coalesce(t.claim, a.claim) as claim, coalesce(t.takeovers, a.takeovers) as takeovers, coalesce(t.interrupted, false) as interrupted,
  t.id is not null as taken,
  coalesce(t.claim = 1, false) and (select true from calls c where c.activity_id = a.id limit 1) is null as unasked,
  extract(epoch from a.lease_until - clock_timestamp())::float8 * 1000 as lease_ms,
  extract(epoch from a.not_before - clock_timestamp())::float8 * 1000 as early_ms,
  extract(epoch from a.created_at)::float8 * 1000 as asked_at, ${runColumns}
from wanted w join activities a on a.id = w.id join runs r on r.id = a.run_id left join taken t on t.id = a.id`;

interface ClaimRequest {
  readonly delivery: Claimable;
  readonly resolve: (claim: Claim) => void;
  readonly reject: (error: unknown) => void;
}

export function createClaimer(parts: ClaimerParts): Claimer {
  const { database, definitions, cache, clock } = parts;
  const gather = createGather<ClaimRequest>({ most: 200, perform, pick: pickOnePerActivity, lingerMs: promptLingerMs });
  const looking = createGather<ClaimRequest>({ most: 200, perform: look });

  async function perform(group: ClaimRequest[]): Promise<void> {
    try {
      const wanted = group
        .map(({ delivery: { activityId: id, epoch, attempt } }) => ({ id, epoch, attempt }))
        .sort((one, other) => one.id - other.id);
      const { rows } = await database.hot.query<ClaimRow>({
        name: "claim",
        text,
        values: [JSON.stringify(wanted), parts.worker, parts.leaseMs],
      });
      await definitions.ensure(rows.map(({ tenant, definition_hash: hash }) => ({ tenant, hash })));
      if (rows[0] !== undefined) clock.observe(rows[0].now);
      const byId = new Map(rows.map((row) => [row.id, row]));
      const stale: ClaimRequest[] = [];
      await settleInTurns(group, (request) => {
        const row = byId.get(request.delivery.activityId);
        try {
          const claim = row === undefined ? null : judge(row, request.delivery);
          if (claim === null) stale.push(request);
          else request.resolve(claim);
        } catch (error) {
          request.reject(translate(error, "Claiming an activity"));
        }
      });
      if (stale.length === 0) return;
      const deliveries = stale.map(({ delivery }) => delivery);
      const ready = await readyRows(
        database.hot,
        deliveries.map(({ runId }) => runId),
        deliveries.map(({ activityId }) => activityId),
      );
      for (const { delivery, resolve } of stale) {
        const rows = ready.filter(
          (row) => row.run_id === delivery.runId || row.parent_activity_id === delivery.activityId,
        );
        resolve({ kind: "stale", rings: rows.map(toRing) });
      }
    } catch (error) {
      for (const { reject } of group) reject(translate(error, "Claiming an activity"));
    }
  }

  /** null: stale (L3). */
  function judge(row: ClaimRow, delivery: Claimable): Claim | null {
    if (row.epoch !== delivery.epoch || row.run_epoch !== delivery.epoch || row.attempt !== delivery.attempt)
      return null;
    if (row.status !== "doing") return null;
    if (row.taken) return toClaim(row, row.takeovers);
    refuseNewer(row.kept);
    const open = row.activity_state === "ready" || row.activity_state === "claimed";
    const outdated = delivery.rings < row.rings;
    if (open && row.early_ms !== null && row.early_ms > 0) {
      return outdated ? null : { kind: "early", forMs: Math.ceil(row.early_ms) };
    }
    if (!isLeased(row.work)) return row.activity_state === "ready" ? toClaim(row, delivery.stalled ?? 0) : null;
    // Ready, yet not taken: another claim was faster, and its lease is not in this snapshot.
    return open && !outdated ? { kind: "held", forMs: heldFor(row.lease_ms) } : null;
  }

  /** A lease that is over and was not taken belongs to a paused worker, which may die or wake up at any time: look again soon. */
  function heldFor(leaseLeftMs: number | null): number {
    const left = leaseLeftMs ?? parts.leaseMs;
    return left > 0 ? Math.max(50, Math.ceil(left)) : Math.ceil(parts.leaseMs / 3);
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
      rings: row.rings,
      work: row.work,
      outcome: row.outcome,
      usage: row.usage,
      leased: row.taken,
      askedAt: row.asked_at,
      ...(row.unasked ? { unasked: true } : {}),
    };
    return { kind: "claimed", run: toLoadedRun(row, definitions), activity, interrupted, takeovers };
  }

  /** Runs of which this process knows nothing, or nothing of the activity: most were just made elsewhere. */
  async function look(group: ClaimRequest[]): Promise<void> {
    try {
      const runs = await loadRuns(
        database.hot,
        definitions,
        group.map(({ delivery }) => delivery.runId),
      );
      for (const request of group) {
        const run = runs.get(request.delivery.runId);
        const light = run === undefined ? null : lightClaim(run, request.delivery);
        if (light === null) gather.add(request);
        else request.resolve(light);
      }
    } catch (error) {
      const known = translate(error, "Reading a run");
      // One that cannot be read fails alone.
      if (group.length > 1 && !known.transient) for (const request of group) await look([request]);
      else for (const { reject } of group) reject(known);
    }
  }

  return {
    claim(delivery) {
      const known = cache.get(delivery.runId);
      const light = known === undefined ? null : lightClaim(known, delivery);
      if (light !== null) return Promise.resolve(light);
      const from = delivery.queue === lightQueue ? looking : gather;
      return new Promise((resolve, reject) => from.add({ delivery, resolve, reject }));
    },
    async idle() {
      await looking.idle();
      await gather.idle();
    },
  };
}

function lightClaim(run: LoadedRun, delivery: Claimable): Claim | null {
  const light = run.light.find(({ id }) => id === delivery.activityId);
  if (light === undefined || run.state.phase.is === "stopped") return null;
  if (run.state.epoch !== delivery.epoch || light.ref.attempt !== delivery.attempt) return null;
  return {
    kind: "claimed",
    run,
    activity: toActivity(run, light),
    interrupted: false,
    takeovers: delivery.stalled ?? 0,
  };
}

/** Two deliveries of one activity in one statement would both be told that they have it. */
function pickOnePerActivity(waiting: ClaimRequest[], most: number): ClaimRequest[] {
  const group: ClaimRequest[] = [];
  const left: ClaimRequest[] = [];
  const ids = new Set<number>();
  for (const request of waiting) {
    if (group.length < most && !ids.has(request.delivery.activityId)) {
      ids.add(request.delivery.activityId);
      group.push(request);
    } else left.push(request);
  }
  waiting.splice(0, waiting.length, ...left);
  return group;
}

/**
 * Of those that are still held: whether each was renewed, or somebody has it locked at this moment. The work of the others is to be given up.
 */
export async function renewLeases(
  database: Database,
  held: readonly { readonly id: number; readonly claim: number }[],
  leaseMs: number,
): Promise<ReadonlyMap<number, "renewed" | "locked">> {
  if (held.length === 0) return new Map();
  try {
    const { rows } = await database.hot.query<RenewedRow>({
      name: "renew-leases",
      text: renewText,
      values: [JSON.stringify(held.map(({ id, claim }) => ({ id, claim }))), leaseMs, null],
    });
    const kept = new Map<number, "renewed" | "locked">();
    for (const { id, renewed } of rows) {
      if (renewed || !kept.has(Number(id))) kept.set(Number(id), renewed ? "renewed" : "locked");
    }
    return kept;
  } catch (error) {
    throw translate(error, "Renewing leases");
  }
}

const releaseText = `
update activities set state = 'ready', lease_until = null, claimed_by = null,
  not_before = case when $2::integer > 0 then clock_timestamp() + $2::integer * interval '1 millisecond' else not_before end,
  rung_at = clock_timestamp() + $2::integer * interval '1 millisecond', ready_at = clock_timestamp()
from json_to_recordset($1::json) as x(id bigint, claim integer)
where activities.id = x.id and activities.claim = x.claim and activities.state = 'claimed'
returning activities.id`;

/**
 * Gives back work that has not begun to act, to be done after `afterMs`. Its job is put off and stays the one it has: it keeps its number
 * of rings, and is quiet for the supervisor until it is due (L4). Returns the ids that were given back.
 */
export async function releaseClaims(
  database: Database,
  held: readonly { readonly id: number; readonly claim: number }[],
  afterMs = 0,
): Promise<ReadonlySet<number>> {
  try {
    const { rows } = await database.calm.query<{ id: number }>(releaseText, [
      JSON.stringify(held.map(({ id, claim }) => ({ id, claim }))),
      Math.ceil(afterMs),
    ]);
    return new Set(rows.map((row) => row.id));
  } catch (error) {
    throw translate(error, "Releasing claims");
  }
}
