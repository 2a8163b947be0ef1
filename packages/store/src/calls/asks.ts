/** Questions to people (asks). An answer is an event like any other. The commit that folds it also closes the ask's row. */

import type { Committed } from "../commit/committer.ts";
import { columnToItem } from "../commit/run-row.ts";
import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import { applyEvent, type Outside } from "../runs/apply-event.ts";
import { admitAtOnce } from "../shares/admit-runs.ts";
import { queuedSql } from "../shares/places-sql.ts";

export interface Ask {
  readonly activityId: number;
  readonly runId: string;
  readonly rootId: string;
  readonly node: string;
  readonly question: string;
  readonly text: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
}

const askColumns = `k.activity_id as "activityId", k.run_id as "runId", a.root_id as "rootId", a.node, k.question, k.text,
       k.created_at as "createdAt", k.expires_at as "expiresAt"`;

/** The open questions of a whole tree of runs, or of a tenant, oldest first. `after`: only questions that are newer than this one. */
export async function openAsks(
  database: Database,
  tenant: string,
  rootId: string | null = null,
  limit = 1_000,
  after = 0,
): Promise<readonly Ask[]> {
  return queryDatabase<Ask>(
    database,
    "Listing questions",
    `select ${askColumns}
     from asks k join activities a on a.id = k.activity_id join runs r on r.id = k.run_id
     where k.state = 'open' and r.tenant = $3 and ($1::text is null or a.root_id = $1) and k.activity_id > $4
     order by k.activity_id limit $2`,
    [rootId, limit, tenant, after],
  );
}

/**
 * The open questions of one run and all runs below it, oldest first. One query, which walks up from the questions of the tree, for any
 * number of calls.
 */
export async function openAsksBelow(
  database: Database,
  tenant: string,
  runId: string,
  limit = 1_000,
): Promise<readonly Ask[]> {
  return queryDatabase<Ask>(
    database,
    "Listing questions below a run",
    `with recursive open as (
       select k.activity_id, k.run_id from asks k join activities a on a.id = k.activity_id
       where k.state = 'open' and a.root_id = (select root_id from runs where id = $1 and tenant = $2)
     ), above(asking, id) as (
       select run_id, run_id from open
       union
       select v.asking, p.run_id from above v join runs r on r.id = v.id join activities p on p.id = r.parent_activity_id
       where v.id <> $1
     )
     select ${askColumns}
     from open o join asks k on k.activity_id = o.activity_id join activities a on a.id = k.activity_id
     where o.run_id in (select asking from above where id = $1)
     order by k.activity_id limit $3`,
    [runId, tenant, limit],
  );
}

export interface FoundAsk {
  readonly activityId: number;
  readonly runId: string;
  readonly state: "open" | "answered" | "expired" | "void";
}

/** Open or closed. null: it does not exist. */
export async function findAsk(database: Database, activityId: number): Promise<FoundAsk | null> {
  const rows = await queryDatabase<FoundAsk>(
    database,
    "Looking for a question",
    `select activity_id as "activityId", run_id as "runId", state from asks where activity_id = $1`,
    [activityId],
  );
  return rows[0] ?? null;
}

/** dropped: it was answered, expired or withdrawn before. */
export async function answerAsk(
  outside: Outside,
  activityId: number,
  text: string,
  by: string | null,
): Promise<Committed> {
  const ask = await openAsk(outside.database, activityId);
  if (ask === null) return { kind: "dropped", jobs: [] };
  return goOn(
    outside,
    ask,
    (_, happened) => ({
      type: "activity.succeeded",
      ...happened,
      epoch: ask.epoch,
      activity: ask.ref,
      outcome: { kind: "answered", text },
      usage: null,
    }),
    by === null ? {} : { by },
  );
}

export async function expireAsk(outside: Outside, activityId: number): Promise<Committed> {
  const ask = await openAsk(outside.database, activityId);
  if (ask === null) return { kind: "dropped", jobs: [] };
  return goOn(outside, ask, (_, happened) => ({
    type: "ask.expired",
    ...happened,
    epoch: ask.epoch,
    activity: ask.ref,
  }));
}

type OpenAsk = NonNullable<Awaited<ReturnType<typeof openAsk>>>;

/**
 * A queued run whose question is closed starts at once, without waiting for a slot. kill -9 between the two: the run has started, and its
 * question is still open.
 */
async function goOn(
  outside: Outside,
  { runId, queued, source }: OpenAsk,
  make: Parameters<typeof applyEvent>[2],
  more: { readonly by?: string } = {},
): Promise<Committed> {
  const begun = queued ? await admitAtOnce(outside, runId) : [];
  const committed = await applyEvent(outside, runId, make, { source, ...more });
  return begun.length === 0 ? committed : { ...committed, jobs: [...begun, ...committed.jobs] };
}

async function openAsk(database: Database, activityId: number) {
  const rows = await queryDatabase<{
    run_id: string;
    node: string;
    generation: number;
    item: number;
    attempt: number;
    epoch: number;
    claim: number;
    queued: boolean;
  }>(
    database,
    "Reading a question",
    `select a.run_id, a.node, a.generation, a.item, a.attempt, a.epoch, a.claim, ${queuedSql("r")} as queued
     from asks k join activities a on a.id = k.activity_id join runs r on r.id = a.run_id where k.activity_id = $1 and k.state = 'open'`,
    [activityId],
  );
  const row = rows[0];
  if (row === undefined) return null;
  const { node, generation, attempt } = row;
  return {
    runId: row.run_id,
    queued: row.queued,
    epoch: row.epoch,
    ref: { node, generation, item: columnToItem(row.item), attempt },
    source: { id: activityId, claim: row.claim },
  };
}
