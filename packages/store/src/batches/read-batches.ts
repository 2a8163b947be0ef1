/** Reads batches for people, with counts that Postgres computes. */

import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import { StoreError } from "../database/store-error.ts";
import { type Budget, spentOrReserved } from "../money/budgets.ts";
import { noCalls, sumOf } from "../money/charges.ts";
import { idsWith } from "../read/ids-with.ts";
import type { PageRequest } from "../read/list-definitions.ts";
import type { BatchDetail, BatchFilter, BatchPage, BatchState, BatchSummary, MemberPage } from "./batch.ts";
import { standing, worksWithRuns } from "./standing-sql.ts";

interface SummaryRow extends Omit<BatchSummary, "state" | "endedAt"> {
  readonly endedAt: string | null;
  readonly state: BatchState["is"];
  readonly pausedBy: "person" | "budget" | null;
  readonly reason: string;
  readonly micros: string;
}

/**
 * Whole trees of runs in trouble, found by the small index of activities in trouble. An activity that is being retried (claimed) counts:
 * the trouble is over only when it is answered. A held activity is never claimed.
 */
const inTrouble = `select 1 from activities a
  where a.root_id = r.id and a.trouble is not null and a.state in ('ready', 'claimed', 'waiting')`;

/**
 * One row: `counts`, and `ended_at` as text, which is null while a submission waits or runs. Submissions of a cancelled batch do not wait:
 * the batch ends with its last run. A deleted run keeps the time of its end (delete-runs.ts). `settled_at`: the batch ended without the end
 * of a run (settle-batch.ts). An older batch whose submissions never ran ended when it was created.
 */
const standOf = `(
  select case when (count(*) > 0 or b.settled_at is not null) and count(*) filter (where s = 'running' or (s = 'waiting' and b.state <> 'cancelled')) = 0
      then to_char(greatest(max(ended), coalesce(b.settled_at, case when max(ended) is null then b.created_at end)) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') end as ended_at,
    json_build_object(
    'works', count(*),
    'waiting', count(*) filter (where s = 'waiting'),
    'running', count(*) filter (where s = 'running'),
    'parked', count(*) filter (where s = 'running' and parked),
    'succeeded', count(*) filter (where s = 'succeeded'),
    'failed', count(*) filter (where s in ('failed', 'refused')),
    'ungradable', count(*) filter (where s = 'ungradable'),
    'notCounted', count(*) filter (where s = 'not counted'),
    'deleted', count(*) filter (where s = 'deleted')) as counts
  from (
    select ${standing} as s, coalesce(r.ended_at, case when l.deleted_at is not null then l.end_seen_at end) as ended, case when r.id is not null and r.ended_at is null then exists (${inTrouble}) else false end as parked
    from ${worksWithRuns} where w.batch_id = b.id
  ) works)`;

/** Batches `b` with the status of their submissions. */
export const batchesThatStand = `batches b cross join lateral ${standOf} stand`;

const summaryColumns = `b.id, b.key, b.name, b.definition_hash as "definitionHash", b.state, b.paused_by as "pausedBy", b.reason,
  b.concurrency, b.created_at as "createdAt", (extract(epoch from b.created_at) * 1000000)::bigint::text as micros,
  stand.counts, stand.ended_at as "endedAt"`;

function toSummary({ state, pausedBy, reason, endedAt, micros: _, ...row }: SummaryRow): BatchSummary {
  return {
    ...row,
    state: toState(state, pausedBy, reason),
    endedAt: endedAt === null ? null : new Date(endedAt),
  };
}

function toState(is: BatchState["is"], by: "person" | "budget" | null, reason: string): BatchState {
  switch (is) {
    case "open":
      return { is };
    case "paused":
      return { is, by: by ?? "person", reason };
    case "cancelled":
      return { is, reason };
  }
}

const mostRunTimes = 200;

const detailText = `select ${summaryColumns}, b.rubric, b.rubric_hash as "rubricHash", b.settings,
  (select count(*)::integer from batch_members m where m.batch_id = b.id) as members,
  (select json_build_object('id', g.id, 'cap', json_build_object('nanodollars', g.cap_nanodollars, 'tokens', g.cap_tokens),
      'spent', json_build_object('nanodollars', u.spent_nanodollars, 'tokens', u.spent_tokens),
      'reserved', json_build_object('nanodollars', u.reserved_nanodollars, 'tokens', u.reserved_tokens))
    from budgets g cross join lateral ${spentOrReserved("g")} u where g.tenant = b.tenant and g.id = b.id) as budget,
  ${sumOf("c.root_id in (select t.run_id from markmill.batch_runs t where t.batch_id = b.id)")} as spent,
  array(select ms from (
    select r.ended_at, (extract(epoch from r.ended_at - r.created_at) * 1000)::float8 as ms
    from batch_runs t join runs r on r.id = t.run_id where t.batch_id = b.id and r.ended_at is not null
    order by r.ended_at desc limit ${mostRunTimes}) ended order by ended_at) as "runMs",
  (select coalesce(json_agg(json_build_object('reason', reason, 'works', works, 'held', held) order by works desc, reason), '[]')
    from (
      select coalesce(a.trouble -> 'trouble' ->> 'reason', a.trouble -> 'failure' ->> 'message') as reason,
        (a.trouble ->> 'held')::boolean as held, count(distinct a.root_id)::integer as works
      from batch_runs t join activities a on a.root_id = t.run_id
      where t.batch_id = b.id and t.admitted_at is not null and t.end_seen_at is null
        and not exists (select 1 from batch_runs n where n.batch_id = t.batch_id and n.work = t.work and n.try > t.try)
        and a.trouble is not null and a.state in ('ready', 'claimed', 'waiting')
      group by 1, 2 order by 3 desc limit 20) reasons) as troubles
from ${batchesThatStand} where b.tenant = $1 and b.id = $2`;

/** The status of a batch without its details, for clients that poll. */
export async function batchSummary(database: Database, tenant: string, id: string): Promise<BatchSummary | null> {
  const [row] = await queryDatabase<SummaryRow>(
    database,
    "Reading how a batch stands",
    `select ${summaryColumns} from ${batchesThatStand} where b.tenant = $1 and b.id = $2`,
    [tenant, id],
  );
  return row === undefined ? null : toSummary(row);
}

interface DetailRow extends SummaryRow, Omit<BatchDetail, keyof BatchSummary | "budgetNearlySpent"> {}

export async function getBatch(database: Database, tenant: string, id: string): Promise<BatchDetail | null> {
  const [row] = await queryDatabase<DetailRow>(database, "Reading a batch", detailText, [tenant, id]);
  if (row === undefined) return null;
  const { rubric, rubricHash, settings, members, budget, spent, runMs, troubles, ...summary } = row;
  return {
    ...toSummary(summary),
    rubric,
    rubricHash,
    settings,
    members,
    budget,
    spent: spent ?? noCalls,
    troubles,
    runMs: runMs.map((ms) => Math.round(ms)),
    budgetNearlySpent: budget !== null && nearlySpent(budget),
  };
}

/** The used part of a budget from which a warning is shown. */
const nearly = 0.8;

function nearlySpent({ cap, spent, reserved }: Budget): boolean {
  const used = (what: "nanodollars" | "tokens") => spent[what] + reserved[what];
  return (["nanodollars", "tokens"] as const).some((what) => {
    const most = cap[what];
    return most !== null && used(what) > 0 && used(what) >= nearly * most;
  });
}

export async function listBatches(
  database: Database,
  tenant: string,
  { key, state, idPart }: BatchFilter = {},
  page: PageRequest = {},
): Promise<BatchPage> {
  const limit = Math.max(1, Math.min(page.limit ?? 50, 200));
  const after = readKey(page.after);
  const ids = idPart === undefined ? null : await idsWith(database, "batches", tenant, idPart);
  if (ids?.length === 0) return { batches: [], next: null };
  const rows = await queryDatabase<SummaryRow>(
    database,
    "Listing batches",
    `select ${summaryColumns} from ${batchesThatStand}
     where b.tenant = $1 and ($2::text is null or b.key = $2) and ($7::text[] is null or b.id = any($7))
       and ($3::text[] is null or case when b.state = 'open' and stand.ended_at is not null then 'ended' else b.state end = any($3))
       and ($4::text is null
         or (b.created_at, b.id) < (timestamptz 'epoch' + $4::bigint * interval '1 microsecond', $5::text))
     order by b.created_at desc, b.id desc limit $6`,
    [tenant, key ?? null, state ?? null, after?.micros ?? null, after?.id ?? null, limit + 1, ids],
  );
  const found = rows.slice(0, limit);
  const last = rows.length > limit ? found.at(-1) : undefined;
  return { batches: found.map(toSummary), next: last === undefined ? null : `${last.micros}-${last.id}` };
}

function readKey(key: string | undefined): { readonly micros: string; readonly id: string } | null {
  if (key === undefined) return null;
  const [, micros, id] = /^(\d{1,17})-(.+)$/.exec(key) ?? [];
  if (micros !== undefined && id !== undefined) return { micros, id };
  throw new StoreError("STORE_PAGE_KEY", `${JSON.stringify(key)} is not a page key of this list.`);
}

export async function listMembers(
  database: Database,
  tenant: string,
  id: string,
  page: PageRequest = {},
): Promise<MemberPage> {
  const limit = Math.max(1, Math.min(page.limit ?? 200, 1_000));
  const rows = await queryDatabase<{ pseudonym: string; person: MemberPage["members"][number] }>(
    database,
    "Listing members",
    `select m.pseudonym, m.person from batch_members m join batches b on b.id = m.batch_id
     where b.tenant = $1 and b.id = $2 and ($3::text is null or m.key > $3) order by m.key limit $4`,
    [tenant, id, page.after ?? null, limit + 1],
  );
  const members = rows.slice(0, limit).map(({ person, pseudonym }) => ({ ...person, pseudonym }));
  return { members, next: rows.length > limit ? (members.at(-1)?.key ?? null) : null };
}

/** Answers the same for a batch that does not exist and for one of another tenant. */
export async function requireBatch(database: Database, tenant: string, id: string): Promise<void> {
  const rows = await queryDatabase(
    database,
    "Looking for a batch",
    "select 1 from batches where tenant = $1 and id = $2",
    [tenant, id],
  );
  if (rows.length === 0) throw noBatch(id);
}

export function noBatch(id: string): StoreError {
  return new StoreError("STORE_NOT_FOUND", `There is no batch ${id}.`);
}
