/**
 * Turns events into deliveries of webhooks. It finds the events in existing rows, so a step writes nothing extra.
 *
 * N1  Each event after the creation of a webhook is recorded once: the event's key is unique for each webhook.
 * N2  Cycles overlap by a minute: a later cycle finds events that were committed late, by a statement that began before the last cycle. No
 *     statement takes that long.
 * N3  The deliveries and the time of the cycle are one transaction. kill -9 before its commit: the next cycle finds the same events again.
 * N4  A webhook that is enabled again gets no earlier events: `seen_at` is then ahead by the overlap, and no cycle sets it back.
 */

import { batchesThatStand } from "../batches/read-batches.ts";
import type { Database } from "../database/database.ts";
import { translate } from "../database/store-error.ts";
import { inTransaction } from "../database/transaction.ts";

/** See N2. */
export const overlap = "interval '1 minute'";

const iso = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const happenings = `
  select 'run.ended' as event, 'run.ended ' || r.id as key, r.ended_at as at,
    json_build_object('id', r.id, 'status', r.status, 'definition', r.definition_hash, 'name', r.name, 'labels', r.labels,
      'reason', r.reason, 'createdAt', ${iso("r.created_at")}, 'endedAt', ${iso("r.ended_at")}) as body
  from runs r
  where 'run.ended' = any(w.events) and r.tenant = w.tenant and r.root_id = r.id and r.ended_at > w.since
  union all
  select 'batch.ended', 'batch.ended ' || b.id || ' ' || stand.ended_at, stand.ended_at::timestamptz,
    json_build_object('id', b.id, 'key', b.key, 'name', b.name, 'counts', stand.counts, 'endedAt', stand.ended_at)
  from (
      select t.batch_id as id from runs r join batch_runs t on t.run_id = r.id where r.ended_at > w.since
      union select n.id from batches n where n.tenant = w.tenant and n.settled_at > w.since
    ) changed, ${batchesThatStand}
  where 'batch.ended' = any(w.events) and b.id = changed.id and b.tenant = w.tenant and stand.ended_at is not null
  union all
  select 'ask.opened', 'ask.opened ' || k.activity_id, k.created_at,
    json_build_object('id', k.activity_id, 'runId', k.run_id, 'rootId', a.root_id, 'node', a.node, 'question', k.question,
      'text', k.text, 'createdAt', ${iso("k.created_at")})
  from asks k join activities a on a.id = k.activity_id join runs r on r.id = k.run_id
  where 'ask.opened' = any(w.events) and r.tenant = w.tenant and k.created_at > w.since
  union all
  select 'grade.released', 'grade.released ' || v.id, v.at,
    json_build_object('id', v.id, 'batchId', v.batch_id, 'work', v.work, 'by', v.who, 'total', v.points_to, 'at', ${iso("v.at")})
  from grade_events v join batches b on b.id = v.batch_id
  where 'grade.released' = any(w.events) and b.tenant = w.tenant and v.kind = 'released' and v.at > w.since`;

/** false: no webhook wants any event. */
export async function noteHappenings(database: Database): Promise<boolean> {
  try {
    return await inTransaction(database.calm, async (client) => {
      const { rows } = await client.query<{ id: string }>(
        "select id from webhooks where enabled order by id for update",
      );
      if (rows.length === 0) return false;
      await client.query(
        `insert into webhook_deliveries (webhook_id, key, event, body)
         select w.id, h.key, h.event, h.body
         from (select *, greatest(created_at, seen_at - ${overlap}) as since from webhooks where enabled) w
           cross join lateral (${happenings}) h
         where not exists (select 1 from webhook_deliveries d where d.webhook_id = w.id and d.key = h.key)
         order by h.at
         on conflict (webhook_id, key) do nothing`,
      );
      await client.query("update webhooks set seen_at = greatest(seen_at, transaction_timestamp()) where enabled");
      return true;
    });
  } catch (error) {
    throw translate(error, "Noting what webhooks are to be told");
  }
}
