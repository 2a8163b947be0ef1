/**
 * Sandbox sessions: which worker on which host holds the container of a run tree, until when, and the state of its shell.
 *
 * N1  One worker holds a session at a time. A worker gets it in four cases: the session is new; its lease is over; the worker has it
 *     already; the worker has a later claim of the activity for which the session is held. In the last case the other worker has lost the
 *     activity, and the session with it.
 */
import type { Json } from "@markmill/engine";
import type { Database } from "../database/database.ts";
import { toJson } from "../database/neutral.ts";
import { queryDatabase } from "../database/query-database.ts";
import { type MarkRow, type Marks, marksColumn, toMarks } from "./checkpoints.ts";

export interface Session {
  /** The root run. */
  readonly id: string;
  readonly kind: string;
  readonly host: string;
  readonly worker: string;
  /** Working directory and environment: the start of the next command. */
  readonly state: Json;
}

export type SessionClaim =
  /** `previous`: the last worker that held it, and whether it released it. `marks`: for restoring the session if it is gone. */
  | {
      readonly kind: "held";
      readonly session: Session;
      readonly marks: Marks;
      readonly previous: { readonly host: string; readonly worker: string; readonly gaveBack: boolean } | null;
    }
  | { readonly kind: "busy"; readonly host: string; readonly worker: string; readonly forMs: number };

interface SessionRow {
  readonly id: string;
  readonly kind: string;
  readonly host: string;
  readonly worker: string;
  readonly state: Json;
}

const toSession = (row: SessionRow): Session => ({
  id: row.id,
  kind: row.kind,
  host: row.host,
  worker: row.worker,
  state: row.state,
});

export async function claimSession(
  database: Database,
  want: {
    readonly id: string;
    readonly kind: string;
    readonly host: string;
    readonly worker: string;
    readonly leaseMs: number;
    /** The activity for which the session is held, if it has a claim. */
    readonly activity?: { readonly id: number; readonly claim: number };
  },
): Promise<SessionClaim> {
  const rows = await queryDatabase<
    SessionRow & {
      old_host: string | null;
      old_worker: string | null;
      gave_back: boolean | null;
      marks: readonly MarkRow[] | null;
    }
  >(
    database,
    "Claiming a sandbox session",
    `with old as materialized (select host, worker, activity_id is null as gave_back from sessions where id = $1 for update)
     insert into sessions as s (id, kind, host, worker, lease_until, activity_id, claim)
     select $1, $2, $3, $4, clock_timestamp() + $5::integer * interval '1 millisecond', $6::bigint, $7::integer
     from (select 1) as one left join old on true
     on conflict (id) do update set kind = excluded.kind, host = excluded.host, worker = excluded.worker, lease_until = excluded.lease_until,
         activity_id = excluded.activity_id, claim = excluded.claim
       where s.lease_until <= clock_timestamp() or s.worker = excluded.worker
         or (s.activity_id = excluded.activity_id and s.claim < excluded.claim)
     returning s.id, s.kind, s.host, s.worker, s.state, ${marksColumn},
       (select host from old) as old_host, (select worker from old) as old_worker, (select gave_back from old) as gave_back`,
    [
      ...[want.id, want.kind, want.host, want.worker, want.leaseMs],
      ...[want.activity?.id ?? null, want.activity?.claim ?? null],
    ],
  );
  const row = rows[0];
  if (row !== undefined) {
    const previous =
      row.old_host === null || row.old_worker === null
        ? null
        : { host: row.old_host, worker: row.old_worker, gaveBack: row.gave_back === true };
    return { kind: "held", session: toSession(row), marks: toMarks(row.marks), previous };
  }
  const busy = await queryDatabase<{ host: string; worker: string; for_ms: number }>(
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
  const rows = await queryDatabase<{ id: string }>(
    database,
    "Renewing sandbox sessions",
    "update sessions set lease_until = clock_timestamp() + $3::integer * interval '1 millisecond' where id = any($1) and worker = $2 returning id",
    [ids, worker, leaseMs],
  );
  return new Set(rows.map((row) => row.id));
}

/** false: another worker has it now. */
export async function saveSession(database: Database, id: string, worker: string, state: Json): Promise<boolean> {
  const rows = await queryDatabase(
    database,
    "Saving a sandbox session",
    "update sessions set state = $3 where id = $1 and worker = $2 returning id",
    [id, worker, toJson(state)],
  );
  return rows.length === 1;
}

/** Keeps the state for the next worker. The session is then held for no activity. */
export async function releaseSession(database: Database, id: string, worker: string, clean = true): Promise<void> {
  await queryDatabase(
    database,
    "Releasing a sandbox session",
    `update sessions set lease_until = clock_timestamp(), activity_id = case when not $3::boolean then activity_id end,
       claim = case when not $3::boolean then claim end where id = $1 and worker = $2`,
    [id, worker, clean],
  );
}

/** Sessions of ended trees without a valid lease: their containers can be removed. */
export async function takeDeadSessions(database: Database, host: string, limit = 100): Promise<readonly Session[]> {
  const rows = await queryDatabase<SessionRow>(
    database,
    "Taking dead sandbox sessions",
    `delete from sessions where id in (
       select s.id from sessions s left join runs r on r.id = s.id
       where s.host = $1 and s.lease_until <= clock_timestamp() and (r.id is null or r.ended_at is not null)
       order by s.lease_until limit $2 for update of s skip locked)
     returning id, kind, host, worker, state`,
    [host, limit],
  );
  return rows.map(toSession);
}

/** Returns those whose run has not ended. */
export async function liveSessions(database: Database, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await queryDatabase<{ id: string }>(
    database,
    "Reading sandbox sessions",
    "select id from runs where id = any($1) and ended_at is null",
    [ids],
  );
  return new Set(rows.map((row) => row.id));
}
