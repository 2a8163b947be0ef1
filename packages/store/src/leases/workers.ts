/** The living workers, by heartbeat. */
import type { Json } from "@markmill/engine";
import type { Database } from "../database/database.ts";
import { toJson } from "../database/neutral.ts";
import { queryDatabase } from "../database/query-database.ts";
import { isPresent } from "./presence.ts";

/** How often a worker beats. */
export const workerBeatMs = 3_000;
/** A worker that missed three heartbeats counts no more, wherever living workers are counted. */
export const silentWorkerMs = 3 * workerBeatMs + 1_000;

export interface WorkerRow {
  readonly id: string;
  readonly host: string;
  readonly info: Json;
  readonly startedAt: Date;
  readonly heartbeatAt: Date;
  /** It has not been silent for long, by the clock of the database. */
  readonly alive: boolean;
}

export async function beat(
  database: Database,
  worker: {
    readonly id: string;
    readonly host: string;
    readonly info: Json;
    /** How long a prompt stays with the worker while the worker is paused (presence.ts). */
    readonly keepsMs?: number;
  },
) {
  await queryDatabase(
    database,
    "Beating",
    `insert into workers (id, host, info, keeps_ms) values ($1, $2, $3, $4)
     on conflict (id) do update set info = excluded.info, keeps_ms = excluded.keeps_ms, heartbeat_at = clock_timestamp()`,
    [worker.id, worker.host, toJson(worker.info), Math.min(Math.ceil(worker.keepsMs ?? 0), 2 ** 31 - 1)],
  );
}

/** Removes a worker that shuts down normally. */
export async function leave(database: Database, id: string): Promise<void> {
  await queryDatabase(database, "Leaving", "delete from workers where id = $1", [id]);
}

export async function listWorkers(database: Database): Promise<readonly WorkerRow[]> {
  return queryDatabase<WorkerRow>(
    database,
    "Listing workers",
    `select id, host, info, started_at as "startedAt", heartbeat_at as "heartbeatAt",
       heartbeat_at > clock_timestamp() - $1::integer * interval '1 millisecond' as alive
     from workers order by started_at, id`,
    [silentWorkerMs],
  );
}

/**
 * Removes workers that have been silent for this time, and ends their leases. A worker that is only paused is removed when it has been
 * silent for as long as it may keep a prompt. Returns their ids.
 */
export async function buryWorkers(database: Database, silentMs = silentWorkerMs): Promise<readonly string[]> {
  const rows = await queryDatabase<{ id: string }>(
    database,
    "Burying workers",
    `with dead as (
       delete from workers where heartbeat_at < clock_timestamp() - $1::integer * interval '1 millisecond'
         and (heartbeat_at < clock_timestamp() - ($1::integer + keeps_ms) * interval '1 millisecond' or not ${isPresent("workers.id")})
       returning id
     ), freed as (
       update activities set lease_until = clock_timestamp() where state = 'claimed' and claimed_by in (select id from dead)
     ), left_behind as (
       update sessions set lease_until = clock_timestamp() where worker in (select id from dead)
     ) select id from dead`,
    [silentMs],
  );
  return rows.map((row) => row.id);
}
