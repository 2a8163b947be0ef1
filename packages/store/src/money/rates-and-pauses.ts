/**
 * Rate and pause of a model at an endpoint for one tenant. All workers share one row.
 *
 * G1  Requests and tokens are spread evenly over the minute (GCRA): a slot begins when the earlier grants are worked off, minus a burst of
 *     BURST_MS. Endpoints enforce a minute's limit over shorter periods too. Calls are served in the order of asking.
 * G2  An endpoint that refuses is paused for all workers, for the time it asked for, but never longer than the given cap.
 * G3  A probe ends a pause: when its time is over, one call is let through. An answer ends the pause; a further refusal renews it, with
 *     twice the time. The prober renews its probe (renewProbe), and if it crashes, another one replaces it within PROBE_MS. A slow prober
 *     may have been replaced when its answer arrives, and its answer also ends the pause.
 * G4  Refusals of calls that were on their way when the pause began count once.
 * G5  Without limits there is nothing to compute. While the endpoint is not paused, its row is read and not written, so that the calls of a
 *     class do not pass through it one commit at a time. A process trusts its reading for LOOK_MS, unless it pauses the endpoint itself.
 *
 * kill -9 between the grant and the call: a slot stays unused, or another worker takes over the probe within PROBE_MS.
 */
import type { Database } from "../database/database.ts";
import { queryDatabase, queryHot } from "../database/query-database.ts";

export interface Rate {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
}

export interface ModelAt {
  /** Tenants have keys of their own: a refusal for one tenant does not concern another. */
  readonly tenant: string;
  readonly endpoint: string;
  readonly model: string;
}

export type Slot =
  /** `waitMs`: time to wait before the call. */
  | { readonly kind: "granted"; readonly waitMs: number; readonly probe: boolean }
  /** `probing`: the time of the pause is over, and another call probes the endpoint. */
  | { readonly kind: "paused"; readonly forMs: number; readonly probing: boolean; readonly reason: string };

export interface Pause extends Omit<ModelAt, "tenant"> {
  readonly reason: string;
  readonly refusals: number;
  readonly since: Date;
  /** When a probe is let through. */
  readonly until: Date;
  readonly forMs: number;
}

const BURST_MS = 6_000;
const PROBE_MS = 6_000;
const LOOK_MS = 100;
/** The first pause if the endpoint names no time. */
const FIRST_PAUSE_MS = 1_000;

const ms = (expression: string) => `((${expression})::float8 * interval '1 millisecond')`;
const left = (column: string) =>
  `ceil(greatest(0, 1000 * extract(epoch from ${column} - statement_timestamp())))::float8`;

const takeText = `
insert into rates as r (tenant, endpoint, model, requests_until, tokens_until, starts_at)
values ($7, $1, $2, statement_timestamp() + ${ms("coalesce(60000 / $3::float8, 0)")},
  statement_timestamp() + ${ms("coalesce(60000 / $4::float8 * $5::float8, 0)")}, statement_timestamp())
on conflict (tenant, endpoint, model) do update set (requests_until, tokens_until, starts_at, prober, probe_until) = (
  select
    case when p.goes then greatest(s.starts, r.requests_until) + n.per_request else r.requests_until end,
    case when p.goes then greatest(s.starts, r.tokens_until) + n.per_call else r.tokens_until end,
    case when p.goes then s.starts else r.starts_at end,
    case when p.probes then $6 else r.prober end,
    case when p.probes then n.at + ${ms(String(PROBE_MS))} else r.probe_until end
  from (
    select statement_timestamp() as at, ${ms("coalesce(60000 / $3::float8, 0)")} as per_request,
      ${ms("coalesce(60000 / $4::float8 * $5::float8, 0)")} as per_call, ${ms(String(BURST_MS))} as burst
  ) n cross join lateral (
    select r.refusals = 0 or (r.paused_until <= n.at and coalesce(r.probe_until <= n.at, true)) as goes,
      r.refusals > 0 and r.paused_until <= n.at and coalesce(r.probe_until <= n.at, true) as probes
  ) p cross join lateral (
    select greatest(n.at, r.requests_until - greatest(n.burst - n.per_request, interval '0'), r.tokens_until - n.burst) as starts
  ) s
)
returning refusals, coalesce(prober = $6, false) as probe, ${left("starts_at")} as wait_ms, ${left("paused_until")} as paused_ms,
  ${left("probe_until")} as probe_ms, coalesce(reason, '') as reason`;

const pausedText = "select 1 from rates where tenant = $1 and endpoint = $2 and model = $3 and refusals > 0";

/** Until when the process trusts that a model is not paused (G5). */
const answering = new WeakMap<Database, Map<string, number>>();
const nameOf = ({ tenant, endpoint, model }: ModelAt) => JSON.stringify([tenant, endpoint, model]);

async function isPaused(database: Database, at: ModelAt): Promise<boolean> {
  const known = answering.get(database) ?? new Map<string, number>();
  answering.set(database, known);
  const name = nameOf(at);
  if (performance.now() < (known.get(name) ?? 0)) return false;
  // 0 means that a read is running. The entry is deleted if this process pauses the endpoint meanwhile.
  known.set(name, 0);
  const values = [at.tenant, at.endpoint, at.model];
  const paused = await queryHot(database, "Asking a rate limit", "paused", pausedText, values);
  if (paused.length === 0 && known.has(name)) known.set(name, performance.now() + LOOK_MS);
  return paused.length > 0;
}

/** Asks for one request with this number of tokens. `taker` identifies this one call, in case it becomes the probe. */
export async function takeRate(
  database: Database,
  at: ModelAt,
  rate: Rate,
  tokens: number,
  taker: string,
): Promise<Slot> {
  const { tenant, endpoint, model } = at;
  interface Row {
    readonly refusals: number;
    readonly probe: boolean;
    readonly wait_ms: number;
    readonly paused_ms: number | null;
    readonly probe_ms: number | null;
    readonly reason: string;
  }
  const unlimited = rate.requestsPerMinute === null && rate.tokensPerMinute === null;
  if (unlimited && !(await isPaused(database, at))) return { kind: "granted", waitMs: 0, probe: false };
  const rows = await queryHot<Row>(database, "Asking a rate limit", "take-rate", takeText, [
    endpoint,
    model,
    rate.requestsPerMinute,
    rate.tokensPerMinute,
    tokens,
    taker,
    tenant,
  ]);
  const row = rows[0];
  if (row === undefined || row.refusals === 0 || row.probe) {
    return { kind: "granted", waitMs: row?.wait_ms ?? 0, probe: row?.probe ?? false };
  }
  const pausedMs = row.paused_ms ?? 0;
  const probing = pausedMs === 0;
  return { kind: "paused", forMs: probing ? (row.probe_ms ?? 0) : pausedMs, probing, reason: row.reason };
}

/** The endpoint refused. `wishMs`: the time it asked for. `prober`: the call was the probe of an earlier pause. */
export async function pauseRate(
  database: Database,
  at: ModelAt,
  refusal: {
    readonly wishMs: number | null;
    readonly reason: string;
    readonly prober: string | null;
    readonly mostMs: number;
  },
): Promise<void> {
  const { tenant, endpoint, model } = at;
  await queryDatabase(
    database,
    "Pausing a model",
    `insert into rates as r (tenant, endpoint, model, requests_until, tokens_until, starts_at, refusals, paused_at, paused_until, reason)
     values ($7, $1, $2, statement_timestamp(), statement_timestamp(), statement_timestamp(), 1, statement_timestamp(),
       statement_timestamp() + ${ms(`least($4::float8, coalesce($3::float8, ${FIRST_PAUSE_MS}))`)}, $5)
     on conflict (tenant, endpoint, model) do update set
       refusals = r.refusals + case when r.refusals = 0 or r.prober = $6 then 1 else 0 end,
       paused_at = case when r.refusals = 0 then statement_timestamp() else r.paused_at end,
       paused_until = case
         when r.refusals = 0 then excluded.paused_until
         when r.prober = $6 then statement_timestamp() + ${ms(`least($4::float8, greatest(coalesce($3::float8, 0), ${FIRST_PAUSE_MS} * 2 ^ least(r.refusals, 20)))`)}
         else greatest(r.paused_until, statement_timestamp() + ${ms("least($4::float8, coalesce($3::float8, 0))")}) end,
       reason = excluded.reason,
       probe_until = case when r.prober = $6 then null else r.probe_until end,
       prober = case when r.prober = $6 then null else r.prober end`,
    [endpoint, model, refusal.wishMs, refusal.mostMs, refusal.reason, refusal.prober, tenant],
  );
  answering.get(database)?.delete(nameOf(at));
}

/** A probe was answered: all calls may be sent again. */
export async function endPause(
  database: Database,
  { tenant, endpoint, model }: ModelAt,
  prober: string,
): Promise<void> {
  await queryDatabase(
    database,
    "Ending a pause",
    `update rates set refusals = 0, paused_at = null, paused_until = null, reason = null, prober = null, probe_until = null
     where endpoint = $1 and model = $2 and tenant = $4 and refusals > 0 and (prober = $3 or paused_until <= statement_timestamp())`,
    [endpoint, model, prober, tenant],
  );
}

/** The probe is still under way. Call this more often than every PROBE_MS. */
export function renewProbe(database: Database, at: ModelAt, prober: string): Promise<void> {
  return changeProbe(database, at, prober, `probe_until = statement_timestamp() + ${ms(String(PROBE_MS))}`);
}

/** The probe was given up without a result: the next call probes. */
export function leaveProbe(database: Database, at: ModelAt, prober: string): Promise<void> {
  return changeProbe(database, at, prober, "prober = null, probe_until = null");
}

/** Changes nothing if another call has taken over the probe. */
async function changeProbe(database: Database, at: ModelAt, prober: string, change: string): Promise<void> {
  const values = [at.endpoint, at.model, prober, at.tenant];
  const theirs = "endpoint = $1 and model = $2 and prober = $3 and tenant = $4";
  await queryDatabase(database, "Changing a probe", `update rates set ${change} where ${theirs}`, values);
}

/** The endpoints that all workers now pause for this tenant, and why. Leaves out those that no worker called for a day. */
export async function currentPauses(database: Database, tenant: string): Promise<readonly Pause[]> {
  return await queryDatabase<Pause>(
    database,
    "Reading pauses",
    `select endpoint, model, coalesce(reason, '') as reason, refusals, paused_at as since, paused_until as until,
       ${left("paused_until")} as "forMs"
     from rates where tenant = $1 and refusals > 0 and paused_until > statement_timestamp() - interval '1 day' order by paused_at`,
    [tenant],
  );
}
