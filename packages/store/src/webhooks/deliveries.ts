/**
 * Reads due deliveries, and settles them. A delivery is settled after its answer. After kill -9 in between it is sent again under the same
 * id, so the receiver can recognise it.
 */
import type { Database } from "../database/database.ts";
import { neutralText } from "../database/neutral.ts";
import { queryDatabase } from "../database/query-database.ts";

export interface DueDelivery {
  readonly id: number;
  readonly webhookId: string;
  readonly url: string;
  readonly secret: string;
  readonly event: string;
  readonly body: unknown;
  readonly createdAt: Date;
  /** Attempts before this one. */
  readonly attempts: number;
}

/** Deliveries of one webhook at once. */
const mostOfOne = 5;

/** `except`: webhooks with a delivery on its way. */
export async function dueDeliveries(
  database: Database,
  most: number,
  except: readonly string[] = [],
): Promise<readonly DueDelivery[]> {
  return await queryDatabase<DueDelivery>(
    database,
    "Looking for what webhooks are to be told",
    `select d.id, d.webhook_id as "webhookId", w.url, w.secret, d.event, d.body, d.created_at as "createdAt", d.attempts
     from webhooks w cross join lateral (
       select * from webhook_deliveries d where d.webhook_id = w.id and d.state = 'waiting' and d.next_at <= clock_timestamp()
       order by d.next_at limit ${mostOfOne}) d
     where w.enabled and w.id <> all($2::text[]) order by d.next_at limit $1`,
    [most, except],
  );
}

export type Settled =
  | { readonly is: "delivered" }
  | { readonly is: "failed" }
  | { readonly is: "again"; readonly afterMs: number };

export async function settleDelivery(
  database: Database,
  { id, attempts }: Pick<DueDelivery, "id" | "attempts">,
  settled: Settled,
  last: { readonly status: number | null; readonly answer: string },
): Promise<void> {
  await queryDatabase(
    database,
    "Noting what became of a delivery",
    `update webhook_deliveries set state = $2, attempts = $3 + 1, status = $4, answer = $5,
       next_at = clock_timestamp() + $6 * interval '1 millisecond', ended_at = case when $2 = 'waiting' then null else clock_timestamp() end
     where id = $1 and attempts = $3`,
    [
      ...[id, settled.is === "again" ? "waiting" : settled.is, attempts, last.status, neutralText(last.answer)],
      settled.is === "again" ? settled.afterMs : 0,
    ],
  );
}

/** Deletes deliveries that ended this long ago. Returns their number. */
export async function deleteOldDeliveries(database: Database, olderMs: number): Promise<number> {
  const gone = await queryDatabase(
    database,
    "Deleting old deliveries",
    `delete from webhook_deliveries where id in (
       select id from webhook_deliveries where created_at < clock_timestamp() - $1 * interval '1 millisecond' and state <> 'waiting' limit 1000)
     returning id`,
    [olderMs],
  );
  return gone.length;
}
