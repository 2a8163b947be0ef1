import { eq, sql } from "drizzle-orm";
import { check, index, integer, json, primaryKey, smallint, text, unique } from "drizzle-orm/pg-core";
import { at, counter, now } from "./column-types.ts";
import { markmill } from "./runs.ts";

export const activities = markmill.table(
  "activities",
  {
    id: counter("id").primaryKey().generatedAlwaysAsIdentity(),
    runId: text("run_id").notNull(),
    rootId: text("root_id").notNull(),
    node: text("node").notNull(),
    generation: integer("generation").notNull(),
    /** -1: not part of a map (a null would be distinct from every other null in the unique index). */
    item: integer("item").notNull(),
    attempt: integer("attempt").notNull(),
    kind: text("kind").notNull(),
    queue: text("queue").notNull(),
    epoch: integer("epoch").notNull(),
    state: text("state").notNull(),
    /** Fencing token: every claim raises it. */
    claim: integer("claim").notNull().default(0),
    /** How many claims of this attempt came after one that never ended. */
    takeovers: integer("takeovers").notNull().default(0),
    claimedBy: text("claimed_by"),
    claimedAt: at("claimed_at"),
    leaseUntil: at("lease_until"),
    notBefore: at("not_before"),
    /** How often the activity was enqueued. It is part of the job id, so it never falls. */
    enqueues: integer("enqueues").notNull().default(1),
    /** When the job was enqueued, or is to be enqueued. */
    enqueuedAt: now("enqueued_at"),
    work: json("work").notNull(),
    /** The end of a called run that waits to be folded. */
    outcome: json("outcome"),
    usage: json("usage"),
    /** The event that ended the latest attempt. */
    seq: counter("seq"),
    createdAt: now("created_at"),
    endedAt: at("ended_at"),
    /** When it became ready after its creation. */
    readyAt: at("ready_at"),
    /** The trouble of a model's endpoint that it waits for. */
    trouble: json("trouble"),
  },
  (table) => [
    unique("activities_run_id_node_generation_item_key").on(table.runId, table.node, table.generation, table.item),
    check("activities_state_check", sql`${table.state} in ('ready', 'claimed', 'waiting', 'done', 'void')`),
    index("activities_ready").on(table.enqueuedAt).where(eq(table.state, sql`'ready'`)),
    index("activities_claimed").on(table.leaseUntil).where(eq(table.state, sql`'claimed'`)),
    index("activities_in_trouble")
      .on(table.rootId)
      .where(sql`${table.trouble} is not null and ${table.state} in ('ready', 'claimed', 'waiting')`),
  ],
);

/** Part 0 is the folded event. Later parts are its warnings, for people only. */
export const events = markmill.table(
  "events",
  {
    runId: text("run_id").notNull(),
    seq: counter("seq").notNull(),
    part: smallint("part").notNull().default(0),
    type: text("type").notNull(),
    at: at("at").notNull(),
    body: text("body").notNull(),
    /** For an event that ended an inline activity. */
    activityId: counter("activity_id"),
    kind: text("kind"),
    askedAt: at("asked_at"),
  },
  (table) => [primaryKey({ name: "events_pkey", columns: [table.runId, table.seq, table.part] })],
);

export const asks = markmill.table(
  "asks",
  {
    activityId: counter("activity_id").primaryKey(),
    runId: text("run_id").notNull(),
    question: text("question").notNull(),
    text: text("text").notNull(),
    expiresAt: at("expires_at"),
    /** open: waits for a person. void: the run continued without an answer. */
    state: text("state").notNull(),
    answer: text("answer"),
    answeredBy: text("answered_by"),
    createdAt: now("created_at"),
    closedAt: at("closed_at"),
  },
  (table) => [
    check("asks_state_check", sql`${table.state} in ('open', 'answered', 'expired', 'void')`),
    index("asks_open").on(table.expiresAt).where(eq(table.state, sql`'open'`)),
    index("asks_by_run").on(table.runId),
    index("asks_by_time").on(table.createdAt),
  ],
);
