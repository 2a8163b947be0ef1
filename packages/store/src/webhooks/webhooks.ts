/** Webhooks of a tenant, as people read and change them. note-happenings.ts creates deliveries, deliveries.ts reads and settles them. */
import { randomBytes } from "node:crypto";
import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import { StoreError } from "../database/store-error.ts";
import { overlap } from "./note-happenings.ts";

type WebhookEvent = "run.ended" | "batch.ended" | "ask.opened" | "grade.released";

export interface Webhook {
  readonly id: string;
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly enabled: boolean;
  readonly createdBy: string;
  readonly createdAt: Date;
}

interface WebhookChange {
  readonly url?: string;
  readonly events?: readonly WebhookEvent[];
  readonly enabled?: boolean;
}

export interface Delivery {
  readonly id: number;
  readonly event: string;
  readonly body: unknown;
  readonly state: "waiting" | "delivered" | "failed";
  readonly attempts: number;
  readonly nextAt: Date;
  readonly createdAt: Date;
  readonly endedAt: Date | null;
  readonly status: number | null;
  readonly answer: string | null;
}

export interface TenantWebhooks {
  /** The secret is shown only this once. */
  create(wanted: {
    readonly url: string;
    readonly events: readonly WebhookEvent[];
    readonly createdBy: string;
  }): Promise<{ readonly webhook: Webhook; readonly secret: string }>;
  list(): Promise<readonly Webhook[]>;
  /** null: the webhook does not exist. Events from the time while it was disabled are not sent later. */
  change(id: string, change: WebhookChange): Promise<Webhook | null>;
  delete(id: string): Promise<boolean>;
  /** Newest first. null: the webhook does not exist. */
  deliveries(
    id: string,
    page: { readonly limit: number; readonly after?: number },
  ): Promise<readonly Delivery[] | null>;
  /** Creates a test delivery. null: the webhook does not exist. */
  test(id: string): Promise<Delivery | null>;
  /** Sends the delivery again, whatever its result was. null: it does not exist. */
  redeliver(delivery: number): Promise<Delivery | null>;
}

const columns = `id, url, events, enabled, created_by as "createdBy", created_at as "createdAt"`;
const deliveryColumns = `d.id, d.event, d.body, d.state, d.attempts, d.next_at as "nextAt", d.created_at as "createdAt",
  d.ended_at as "endedAt", d.status, d.answer`;

export function tenantWebhooks(database: Database, tenant: string): TenantWebhooks {
  const ask = <Row extends object>(doing: string, text: string, values: readonly unknown[]) =>
    queryDatabase<Row>(database, doing, text, values);
  return {
    async create({ url, events, createdBy }) {
      const secret = `whsec_${randomBytes(32).toString("base64")}`;
      const [webhook] = await ask<Webhook>(
        "Making a webhook",
        `insert into webhooks (id, tenant, url, events, secret, created_by) values ($1, $2, $3, $4, $5, $6) returning ${columns}`,
        [randomBytes(10).toString("hex"), tenant, url, events, secret, createdBy],
      );
      if (webhook === undefined) throw new StoreError("STORE_BUG", "A webhook was neither made nor refused.");
      return { webhook, secret };
    },
    list: () =>
      ask<Webhook>("Listing webhooks", `select ${columns} from webhooks where tenant = $1 order by created_at, id`, [
        tenant,
      ]),
    async change(id, { url, events, enabled }) {
      const [changed] = await ask<Webhook>(
        "Changing a webhook",
        `update webhooks set url = coalesce($3, url), events = coalesce($4, events), enabled = coalesce($5, enabled),
           seen_at = case when not enabled and coalesce($5, enabled) then clock_timestamp() + ${overlap} else seen_at end
         where tenant = $1 and id = $2 returning ${columns}`,
        [tenant, id, url ?? null, events ?? null, enabled ?? null],
      );
      return changed ?? null;
    },
    async delete(id) {
      const gone = await ask("Deleting a webhook", "delete from webhooks where tenant = $1 and id = $2 returning id", [
        tenant,
        id,
      ]);
      return gone.length > 0;
    },
    async deliveries(id, { limit, after }) {
      const known = await ask("Looking for a webhook", "select 1 from webhooks where tenant = $1 and id = $2", [
        tenant,
        id,
      ]);
      if (known.length === 0) return null;
      return await ask<Delivery>(
        "Listing deliveries",
        `select ${deliveryColumns} from webhook_deliveries d
         where d.webhook_id = $1 and ($2::bigint is null or d.id < $2) order by d.id desc limit $3`,
        [id, after ?? null, limit],
      );
    },
    async test(id) {
      const [made] = await ask<Delivery>(
        "Making a delivery",
        `insert into webhook_deliveries as d (webhook_id, key, event, body)
         select w.id, 'webhook.test ' || gen_random_uuid(), 'webhook.test', json_build_object('webhookId', w.id)
         from webhooks w where w.tenant = $1 and w.id = $2 returning ${deliveryColumns}`,
        [tenant, id],
      );
      return made ?? null;
    },
    async redeliver(delivery) {
      const [again] = await ask<Delivery>(
        "Sending a delivery again",
        `update webhook_deliveries d set state = 'waiting', attempts = 0, next_at = clock_timestamp(), ended_at = null
         from webhooks w where w.id = d.webhook_id and w.tenant = $1 and d.id = $2 returning ${deliveryColumns}`,
        [tenant, delivery],
      );
      return again ?? null;
    },
  };
}
