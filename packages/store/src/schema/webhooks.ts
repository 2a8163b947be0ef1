import { eq, sql } from "drizzle-orm";
import { boolean, check, index, integer, json, text, unique } from "drizzle-orm/pg-core";
import { at, counter, now } from "./column-types.ts";
import { markmill } from "./runs.ts";

/** Addresses of a tenant that receive events. */
export const webhooks = markmill.table(
  "webhooks",
  {
    id: text("id").primaryKey(),
    tenant: text("tenant").notNull(),
    url: text("url").notNull(),
    events: text("events").array().notNull(),
    /** Signs each delivery. The receiver has the same secret. */
    secret: text("secret").notNull(),
    enabled: boolean("enabled").notNull().default(true),
    createdBy: text("created_by").notNull(),
    createdAt: now("created_at"),
    /** Every event before this time, except those that may have been committed late, has its delivery. */
    seenAt: now("seen_at"),
  },
  (table) => [index("webhooks_by_tenant").on(table.tenant, table.createdAt)],
);

/** The events to send, and the result of sending. */
export const webhookDeliveries = markmill.table(
  "webhook_deliveries",
  {
    id: counter("id").primaryKey().generatedAlwaysAsIdentity(),
    webhookId: text("webhook_id")
      .notNull()
      .references(() => webhooks.id, { onDelete: "cascade" }),
    /** Identifies the event: the same event never gets two deliveries. */
    key: text("key").notNull(),
    event: text("event").notNull(),
    body: json("body").notNull(),
    state: text("state").notNull().default("waiting"),
    attempts: integer("attempts").notNull().default(0),
    nextAt: now("next_at"),
    createdAt: now("created_at"),
    endedAt: at("ended_at"),
    /** The HTTP status of the last attempt. null: there was no answer. */
    status: integer("status"),
    /** The beginning of the last attempt's answer, or why there was none. */
    answer: text("answer"),
  },
  (table) => [
    check("webhook_deliveries_state_check", sql`${table.state} in ('waiting', 'delivered', 'failed')`),
    unique("webhook_deliveries_key").on(table.webhookId, table.key),
    index("webhook_deliveries_due").on(table.nextAt).where(eq(table.state, sql`'waiting'`)),
    index("webhook_deliveries_by_webhook").on(table.webhookId, sql`${table.id} desc`),
    index("webhook_deliveries_by_time").on(table.createdAt),
  ],
);
