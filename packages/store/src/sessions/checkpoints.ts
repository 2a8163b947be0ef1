/**
 * Checkpoints of sandbox sessions. A checkpoint is the whole workspace, or the changes since the one before it. The submission is the first
 * one. Two marks record the state of a session: `latest`, after the last activity that changed it, and `begun`, before the EXECUTE that
 * began last.
 *
 * K1  Only the worker that holds the session's lease writes: every statement checks it.
 * K2  A mark and the checkpoint it names are written together, or neither is. After kill -9 the previous mark holds.
 * K3  Everything that `begun` needs is kept until the next EXECUTE begins, which happens only after the previous outcome is committed. The
 *     statement that makes a checkpoint unnecessary for both marks also deletes it. So at most two checkpoints of the workspace are stored.
 *     A tool call that acts in a session begins like an EXECUTE; the end of its row commits its outcome.
 * K4  They are deleted with the run: at its end, or a day later if it failed or was cancelled. Any worker's clean-up does this.
 */
import { randomUUID } from "node:crypto";
import type { Json } from "@markmill/engine";
import type { Database } from "../database/database.ts";
import { toJson } from "../database/neutral.ts";
import { queryDatabase } from "../database/query-database.ts";
import { translate } from "../database/store-error.ts";
import { inTransaction } from "../database/transaction.ts";

export interface Mark {
  /** Set for the mark `begun`: the EXECUTE, or the activity of the tool call. */
  readonly activityId: number | null;
  /** Set for the mark `begun`: the tool call. null: the EXECUTE itself. */
  readonly call: string | null;
  readonly position: number;
  readonly problem: string | null;
  readonly settled: boolean;
  readonly state: Json;
  readonly instance: string;
  readonly processes: readonly string[];
  readonly seal: string;
}

export interface Marks {
  readonly latest: Mark | null;
  readonly begun: Mark | null;
}

/** The current state of a session. */
export interface Standing {
  readonly state: Json;
  readonly instance: string;
  readonly processes: readonly string[];
  readonly manifest: Uint8Array;
}

export interface Checkpoint {
  readonly whole: boolean;
  /** Strings of bytes (latin1). */
  readonly removed: readonly string[];
  readonly tar: Uint8Array;
}

/** The checkpoints that `latest` needs. */
export interface Chain {
  readonly count: number;
  readonly bytes: number;
}

/** Postgres returns bytes as text of twice their length, and text has its limits. */
const partBytes = 8 * 1024 * 1024;
/** How long the workspace of a failed run is kept. */
const failedMs = 24 * 3_600_000;

interface MarkRow {
  readonly name: "latest" | "begun";
  readonly activity_id: number | null;
  readonly call: string | null;
  readonly position: number;
  readonly problem: string | null;
  readonly settled: boolean;
  readonly state: Json;
  readonly instance: string;
  readonly processes: readonly string[];
  readonly seal: string;
}

/** For statements that have a session as `s`. */
export const marksColumn = `(select json_agg(json_build_object('name', m.name, 'activity_id', m.activity_id, 'call', m.call, 'position', m.position,
  'problem', m.problem, 'settled', m.settled, 'state', m.state, 'instance', m.instance, 'processes', m.processes, 'seal', m.seal))
  from session_marks m where m.session_id = s.id) as marks`;

export function toMarks(rows: readonly MarkRow[] | null): Marks {
  const find = (name: MarkRow["name"]): Mark | null => {
    const row = rows?.find((one) => one.name === name);
    if (row === undefined) return null;
    const { activity_id, call, position, problem, settled, state, instance, processes, seal } = row;
    return { activityId: activity_id, call, position, problem, settled, state, instance, processes, seal };
  };
  return { latest: find("latest"), begun: find("begun") };
}

export type { MarkRow };

export async function loadManifest(
  database: Database,
  sessionId: string,
  name: "latest" | "begun",
  seal: string,
): Promise<Buffer | null> {
  const rows = await queryDatabase<{ manifest: Buffer }>(
    database,
    "Reading a mark",
    "select manifest from session_marks where session_id = $1 and name = $2 and seal = $3",
    [sessionId, name, seal],
  );
  return rows[0]?.manifest ?? null;
}

/** Where the chain of a position begins: at the last whole checkpoint, or at the submission. */
const baseOf = (position: string) =>
  `coalesce((select max(b.position) from checkpoints b where b.session_id = $1 and b.whole and b.position <= ${position}), 0)`;

/** In order. The submission comes before them unless the first is whole. */
export async function loadCheckpoints(
  database: Database,
  sessionId: string,
  position: number,
): Promise<readonly Checkpoint[]> {
  const heads = await queryDatabase<{ position: number; whole: boolean; removed: Buffer; parts: number }>(
    database,
    "Reading checkpoints",
    `select c.position, c.whole, c.removed,
       (select count(*)::integer from checkpoint_parts p where p.session_id = $1 and p.position = c.position) as parts
     from checkpoints c where c.session_id = $1 and c.position <= $2::integer and c.position >= ${baseOf("$2::integer")}
     order by c.position`,
    [sessionId, position],
  );
  const found: Checkpoint[] = [];
  for (const head of heads) {
    const chunks: Buffer[] = [];
    for (let part = 0; part < head.parts; part += 1) {
      const rows = await queryDatabase<{ bytes: Buffer }>(
        database,
        "Reading a checkpoint",
        "select bytes from checkpoint_parts where session_id = $1 and position = $2 and part = $3",
        [sessionId, head.position, part],
      );
      if (rows[0] !== undefined) chunks.push(rows[0].bytes);
    }
    const names = head.removed.toString("latin1").split("\0");
    found.push({ whole: head.whole, removed: names.slice(0, -1), tar: Buffer.concat(chunks) });
  }
  return found;
}

export async function chainOf(database: Database, sessionId: string, position: number): Promise<Chain> {
  const rows = await queryDatabase<Chain>(
    database,
    "Reading checkpoints",
    `select count(*)::integer as count, coalesce(sum(size), 0)::float8 as bytes from checkpoints
     where session_id = $1 and position <= $2::integer and position >= ${baseOf("$2::integer")}`,
    [sessionId, position],
  );
  return rows[0] ?? { count: 0, bytes: 0 };
}

export type Begun =
  | { readonly kind: "begun" }
  /** The outcome of another EXECUTE in this session is not committed. */
  | { readonly kind: "waits" }
  | { readonly kind: "lost" };

/** The end of a tool call's row commits its outcome, long before its activity is committed. */
const uncommitted = `select 1 from session_marks m join activities a on a.id = m.activity_id
  where m.session_id = $1 and m.name = 'begun' and m.activity_id <> $3::bigint and a.state in ('ready', 'claimed', 'waiting')
    and (m.call is null or exists (
      select 1 from tool_calls t where t.activity_id = m.activity_id and ${markedCall("t")} = m.call and t.state = 'begun'))`;

/** The name of a tool call in marks. */
export function callOfMark(key: {
  readonly callIndex: number;
  readonly requestHash: string;
  readonly position: number;
}): string {
  return `${key.callIndex}/${key.requestHash}/${key.position}`;
}

export function markedCall(alias: string): string {
  return `concat_ws('/', ${alias}.call_index, ${alias}.request_hash, ${alias}.position)`;
}

/** Makes the latest mark that of the EXECUTE. Earlier checkpoints are no longer needed. */
export async function beginExecute(
  database: Database,
  sessionId: string,
  worker: string,
  activityId: number,
  call: string | null = null,
): Promise<Begun> {
  const rows = await queryDatabase<{ held: boolean; waits: boolean }>(
    database,
    "Beginning commands",
    `with held as materialized (select id from sessions where id = $1 and worker = $2 for update
     ), other as materialized (${uncommitted}
     ), base as materialized (
       select l.position, ${baseOf("l.position")} as base from session_marks l
       where l.session_id = $1 and l.name = 'latest' and exists (select 1 from held) and not exists (select 1 from other)
     ), begun as (
       insert into session_marks (session_id, name, activity_id, call, position, problem, settled, state, instance, processes, manifest, seal)
       select session_id, 'begun', $3::bigint, $4::text, position, problem, true, state, instance, processes, manifest, seal
       from session_marks where session_id = $1 and name = 'latest' and exists (select 1 from base)
       on conflict (session_id, name) do update set activity_id = excluded.activity_id, call = excluded.call,
         position = excluded.position, problem = excluded.problem, settled = true, state = excluded.state, instance = excluded.instance,
         processes = excluded.processes, manifest = excluded.manifest, seal = excluded.seal
     ), unsettled as (
       update session_marks set settled = false where session_id = $1 and name = 'latest' and exists (select 1 from base)
     ), parts as (
       delete from checkpoint_parts p using base b where p.session_id = $1 and (p.position < b.base or p.position > b.position)
     ), gone as (
       delete from checkpoints c using base b where c.session_id = $1 and (c.position < b.base or c.position > b.position)
     ) select exists (select 1 from held) as held, exists (select 1 from other) as waits`,
    [sessionId, worker, activityId, call],
  );
  const { held, waits } = rows[0] ?? { held: false, waits: false };
  return { kind: !held ? "lost" : waits ? "waits" : "begun" };
}

/** Is the outcome of an EXECUTE in this session, other than this activity, not committed? */
export async function waitsForExecute(database: Database, sessionId: string, activityId: number): Promise<boolean> {
  const rows = await queryDatabase(database, "Reading a mark", uncommitted.replaceAll("$3", "$2"), [
    sessionId,
    activityId,
  ]);
  return rows.length > 0;
}

/**
 * Writes the mark without a new checkpoint. Either only the shell's state changed, or a problem prevents saving the workspace. The last
 * checkpoint stays as the base for later changes. If the session ended because of the processes in it, the same statement removes them from
 * both marks: after kill -9 the next worker restores the session without them. false: another worker has the session.
 */
export async function settleMark(
  database: Database,
  sessionId: string,
  worker: string,
  state: Json,
  { problem, ended }: { readonly problem: string | null; readonly ended: boolean },
): Promise<boolean> {
  const rows = await queryDatabase(
    database,
    "Saving a sandbox session",
    `with held as (update sessions set state = $3 where id = $1 and worker = $2 returning id
     ), latest as (
       update session_marks set settled = true, state = $3, problem = $4,
         processes = case when $5::boolean then '[]' else processes end
       where session_id in (select id from held) and name = 'latest'
     ), begun as (
       update session_marks set processes = '[]'
       where session_id in (select id from held) and name = 'begun' and $5::boolean
     ) select id from held`,
    [sessionId, worker, toJson(state), problem, ended],
  );
  return rows.length === 1;
}

/** The session ended because of the processes in it. Its marks are now restored without these processes. */
export async function forgetMarkedProcesses(database: Database, sessionId: string, worker: string): Promise<void> {
  await queryDatabase(
    database,
    "Saving a sandbox session",
    `update session_marks set processes = '[]' where session_id = $1
       and exists (select 1 from sessions where id = $1 and worker = $2)`,
    [sessionId, worker],
  );
}

const saveText = `
with held as materialized (update sessions set state = $3 where id = $1 and worker = $2 returning id
), checkpoint as (
  insert into checkpoints (session_id, position, whole, removed, size)
  select id, $8::integer, $9::boolean, $10::bytea, $11::bigint from held where $9::boolean is not null
  on conflict (session_id, position) do update set whole = excluded.whole, removed = excluded.removed, size = excluded.size
), first as (
  insert into checkpoint_parts (session_id, position, part, bytes)
  select id, $8::integer, 0, $12::bytea from held where $9::boolean is not null
  on conflict (session_id, position, part) do update set bytes = excluded.bytes
), rest as (
  delete from checkpoint_parts where session_id in (select id from held) and position = $8::integer and part > 0 and $9::boolean is not null
), mark as (
  insert into session_marks (session_id, name, position, problem, settled, state, instance, processes, manifest, seal)
  select id, 'latest', $8::integer, $13::text, true, $3, $4, $5, $6, $7 from held
  on conflict (session_id, name) do update set position = excluded.position, problem = excluded.problem, settled = true,
    state = excluded.state, instance = excluded.instance, processes = excluded.processes, manifest = excluded.manifest,
    seal = excluded.seal
) select id from held`;

/**
 * Writes the latest mark, with its checkpoint if there is a new one, or with the problem that prevented it. Returns its seal. null: another
 * worker has the session.
 */
export async function saveMark(
  database: Database,
  sessionId: string,
  worker: string,
  standing: Standing,
  position: number,
  checkpoint: Checkpoint | null,
  problem: string | null = null,
): Promise<string | null> {
  const seal = randomUUID();
  const bytes = checkpoint === null ? null : bufferOf(checkpoint.tar);
  const names = Buffer.from((checkpoint?.removed ?? []).map((path) => `${path}\0`).join(""), "latin1");
  const values = [
    ...[sessionId, worker, toJson(standing.state), ...standingValues(standing), seal, position],
    ...[checkpoint?.whole ?? null, names, names.length + (bytes?.length ?? 0), bytes?.subarray(0, partBytes) ?? null],
    problem,
  ];
  if (bytes === null || bytes.length <= partBytes) {
    const rows = await queryDatabase(database, "Saving a checkpoint", saveText, values);
    return rows.length === 1 ? seal : null;
  }
  try {
    return await inTransaction(database.calm, async (client) => {
      if ((await client.query(saveText, values)).rows.length === 0) return null;
      for (let part = 1; part * partBytes < bytes.length; part += 1) {
        await client.query("insert into checkpoint_parts (session_id, position, part, bytes) values ($1, $2, $3, $4)", [
          sessionId,
          position,
          part,
          bytes.subarray(part * partBytes, (part + 1) * partBytes),
        ]);
      }
      return seal;
    });
  } catch (error) {
    throw translate(error, "Saving a checkpoint");
  }
}

/**
 * Records that the session was restored to the state of the mark, in place or as a new one. After a return to `begun`, later marks are
 * void, and `latest` is the same mark, not settled. Returns the seal. null: another worker has the session.
 */
export async function saveRewound(
  database: Database,
  sessionId: string,
  worker: string,
  name: "latest" | "begun",
  standing: Standing,
): Promise<string | null> {
  const seal = randomUUID();
  const rows = await queryDatabase(
    database,
    "Saving a sandbox session",
    `with held as materialized (update sessions set state = $3 where id = $1 and worker = $2 returning id
     ), target as materialized (
       select position, problem, state from session_marks where session_id in (select id from held) and name = $8
     ), marks as (
       update session_marks m set position = t.position, problem = t.problem, state = t.state, instance = $4, processes = $5,
         manifest = $6, seal = $7, settled = m.name <> 'latest' or $8 <> 'begun'
       from target t where m.session_id = $1 and (m.name = $8 or $8 = 'begun')
     ), parts as (
       delete from checkpoint_parts p using target t where p.session_id = $1 and p.position > t.position and $8 = 'begun'
     ), gone as (
       delete from checkpoints c using target t where c.session_id = $1 and c.position > t.position and $8 = 'begun'
     ) select id from held`,
    [sessionId, worker, toJson(standing.state), ...standingValues(standing), seal, name],
  );
  return rows.length === 1 ? seal : null;
}

const standingValues = ({ instance, processes, manifest }: Standing) => [
  instance,
  JSON.stringify(processes),
  bufferOf(manifest),
];

const bufferOf = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Deletes the checkpoints of ended or deleted runs, for this session or for all. Returns the number of cleared sessions. */
export async function deleteEndedCheckpoints(database: Database, sessionId: string | null = null): Promise<number> {
  const rows = await queryDatabase<{ cleared: number }>(
    database,
    "Deleting checkpoints",
    `with over as materialized (
       select m.session_id from session_marks m left join runs r on r.id = m.session_id
       where m.name = 'latest' and ($1::text is null or m.session_id = $1)
         and (r.id is null or (r.ended_at is not null
           and (r.status = 'success' or r.ended_at < clock_timestamp() - $2::float8 * interval '1 millisecond')))
       limit 100
     ), parts as (delete from checkpoint_parts where session_id in (select session_id from over)
     ), gone as (delete from checkpoints where session_id in (select session_id from over)
     ), marks as (delete from session_marks where session_id in (select session_id from over))
     select count(*)::integer as cleared from over`,
    [sessionId, failedMs],
  );
  return rows[0]?.cleared ?? 0;
}
