/**
 * Sandbox sessions: which worker on which host holds the container of a run tree, until when, and where its shell stood.
 *
 * N1  One holder at a time: a session is taken when it is new, when its lease is over, or by the worker that has it.
 */
import type { Json } from "@markmill/engine";
import { askDatabase } from "./ask-database.ts";
import type { Database } from "./database.ts";
import { toJson } from "./neutral.ts";

export interface Session {
  /** The root run. */
  readonly id: string;
  readonly kind: string;
  readonly host: string;
  readonly worker: string;
  /** Working directory, environment: what a rebuilt session starts from. */
  readonly state: Json;
  readonly checkpointHash: string | null;
}

export type SessionClaim =
  /** `previous`: who held it last; a different host or worker means that the container is to be rebuilt from state and checkpoint. */
  | {
      readonly kind: "held";
      readonly session: Session;
      readonly previous: { readonly host: string; readonly worker: string } | null;
    }
  | { readonly kind: "busy"; readonly host: string; readonly worker: string; readonly forMs: number };

interface SessionRow {
  readonly id: string;
  readonly kind: string;
  readonly host: string;
  readonly worker: string;
  readonly state: Json;
  readonly checkpoint_hash: string | null;
}

const toSession = (row: SessionRow): Session => ({
  id: row.id,
  kind: row.kind,
  host: row.host,
  worker: row.worker,
  state: row.state,
  checkpointHash: row.checkpoint_hash,
});

export async function claimSession(
  database: Database,
  want: {
    readonly id: string;
    readonly kind: string;
    readonly host: string;
    readonly worker: string;
    readonly leaseMs: number;
  },
): Promise<SessionClaim> {
  const rows = await askDatabase<SessionRow & { old_host: string | null; old_worker: string | null }>(
    database,
    "Claiming a sandbox session",
    `with old as materialized (select host, worker from sessions where id = $1 for update)
     insert into sessions as s (id, kind, host, worker, lease_until)
     select $1, $2, $3, $4, clock_timestamp() + $5::integer * interval '1 millisecond' from (select 1) as one left join old on true
     on conflict (id) do update set kind = excluded.kind, host = excluded.host, worker = excluded.worker, lease_until = excluded.lease_until
       where s.lease_until <= clock_timestamp() or s.worker = excluded.worker
     returning s.*, (select host from old) as old_host, (select worker from old) as old_worker`,
    [want.id, want.kind, want.host, want.worker, want.leaseMs],
  );
  const row = rows[0];
  if (row !== undefined) {
    const previous =
      row.old_host === null || row.old_worker === null ? null : { host: row.old_host, worker: row.old_worker };
    return { kind: "held", session: toSession(row), previous };
  }
  const busy = await askDatabase<{ host: string; worker: string; for_ms: number }>(
    database,
    "Reading a sandbox session",
    "select host, worker, greatest(0, ceil(extract(epoch from lease_until - clock_timestamp()) * 1000))::float8 as for_ms from sessions where id = $1",
    [want.id],
  );
  return { kind: "busy", host: busy[0]?.host ?? "", worker: busy[0]?.worker ?? "", forMs: busy[0]?.for_ms ?? 0 };
}

/** Returns the sessions this worker still holds. */
export async function renewSessions(
  database: Database,
  ids: readonly string[],
  worker: string,
  leaseMs: number,
): Promise<ReadonlySet<string>> {
  const rows = await askDatabase<{ id: string }>(
    database,
    "Renewing sandbox sessions",
    "update sessions set lease_until = clock_timestamp() + $3::integer * interval '1 millisecond' where id = any($1) and worker = $2 returning id",
    [ids, worker, leaseMs],
  );
  return new Set(rows.map((row) => row.id));
}

/** false: another worker has it now. Without a checkpoint the last one stays. */
export async function saveSession(
  database: Database,
  id: string,
  worker: string,
  saved: { readonly state: Json; readonly checkpointHash: string | null },
): Promise<boolean> {
  const rows = await askDatabase(
    database,
    "Saving a sandbox session",
    "update sessions set state = $3, checkpoint_hash = coalesce($4, checkpoint_hash) where id = $1 and worker = $2 returning id",
    [id, worker, toJson(saved.state), saved.checkpointHash],
  );
  return rows.length === 1;
}

/** Keeps state and checkpoint for the next holder. */
export async function releaseSession(database: Database, id: string, worker: string): Promise<void> {
  await askDatabase(
    database,
    "Releasing a sandbox session",
    "update sessions set lease_until = clock_timestamp() where id = $1 and worker = $2",
    [id, worker],
  );
}

/** Sessions of trees that have ended, and of which nobody holds the lease: their containers can go. */
export async function takeDeadSessions(database: Database, host: string, limit = 100): Promise<readonly Session[]> {
  const rows = await askDatabase<SessionRow>(
    database,
    "Taking dead sandbox sessions",
    `delete from sessions where id in (
       select s.id from sessions s left join runs r on r.id = s.id
       where s.host = $1 and s.lease_until <= clock_timestamp() and (r.id is null or r.ended_at is not null)
       order by s.lease_until limit $2 for update of s skip locked)
     returning *`,
    [host, limit],
  );
  return rows.map(toSession);
}

/** Of these, the ones whose run has not ended. */
export async function liveSessions(database: Database, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await askDatabase<{ id: string }>(
    database,
    "Reading sandbox sessions",
    "select id from runs where id = any($1) and ended_at is null",
    [ids],
  );
  return new Set(rows.map((row) => row.id));
}
