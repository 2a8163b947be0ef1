import { isNotNull, ne, sql } from "drizzle-orm";
import { boolean, index, integer, json, jsonb, pgSchema, primaryKey, text, uniqueIndex } from "drizzle-orm/pg-core";
import { at, counter, now } from "./column-types.ts";

export const markmill = pgSchema("markmill");

/**
 * Ids of activities that have no row. They are far above those of rows, with which they share the queue. They are taken from the sequence
 * in blocks.
 */
export const inlineActivityIds = markmill.sequence("inline_activity_ids", {
  startWith: 1099511627776,
  increment: 1024,
});

export const definitions = markmill.table(
  "definitions",
  {
    hash: text("hash").notNull(),
    dialect: text("dialect").notNull(),
    name: text("name").notNull(),
    root: text("root").notNull(),
    programs: json("programs").notNull(),
    files: json("files").notNull(),
    createdAt: now("created_at"),
    tenant: text("tenant").notNull(),
  },
  (table) => [
    primaryKey({ name: "definitions_pkey", columns: [table.tenant, table.hash] }),
    index("definitions_by_name").on(table.tenant, table.name, sql`${table.createdAt} desc`),
  ],
);

export const runs = markmill.table(
  "runs",
  {
    id: text("id").primaryKey(),
    rootId: text("root_id").notNull(),
    /** The call that created this run. A repeated delivery of the same attempt finds the run; a retry or a resumed run calls anew. */
    parentActivityId: counter("parent_activity_id"),
    parentAttempt: integer("parent_attempt"),
    parentEpoch: integer("parent_epoch"),
    parentJob: text("parent_job"),
    definitionHash: text("definition_hash").notNull(),
    /** Its key in the definition. */
    program: text("program").notNull(),
    name: text("name").notNull(),
    status: text("status").notNull(),
    phase: text("phase").notNull(),
    word: text("word"),
    epoch: integer("epoch").notNull(),
    /** The number of folded events. */
    rev: counter("rev").notNull(),
    /** The state (commit/run-state.ts). */
    kept: text("kept").notNull(),
    depth: integer("depth").notNull(),
    deadline: at("deadline"),
    labels: jsonb("labels").notNull().default({}),
    budgets: text("budgets").array().notNull().default([]),
    options: json("options").notNull().default({}),
    submission: json("submission"),
    forkedFrom: text("forked_from"),
    result: text("result"),
    reason: json("reason"),
    steps: integer("steps").notNull().default(0),
    createdAt: now("created_at"),
    startedAt: at("started_at"),
    endedAt: at("ended_at"),
    /** Its inline activities (commit/inline-activity.ts). */
    inline: json("inline"),
    /**
     * How often its inline activities were enqueued, and when the supervisor last enqueued them or found them in the queue. Infinity: the
     * run is queued, and nothing of it is enqueued before its tenant has a slot for it (shares/admit-runs.ts).
     */
    enqueues: integer("enqueues").notNull().default(1),
    enqueuedAt: now("enqueued_at"),
    tenant: text("tenant").notNull(),
    /**
     * The runs whose step pools count its steps: callers that share their steps, and the run itself if it shares them
     * (commit/step-pools.ts).
     */
    pools: text("pools").array().notNull().default([]),
  },
  (table) => [
    uniqueIndex("runs_by_call")
      .on(table.parentActivityId, table.parentAttempt, table.parentEpoch)
      .where(isNotNull(table.parentActivityId)),
    index("runs_by_status").on(table.status, table.tenant, sql`${table.createdAt} desc`, sql`${table.id} desc`),
    index("runs_by_definition").on(
      table.tenant,
      table.definitionHash,
      sql`${table.createdAt} desc`,
      sql`${table.id} desc`,
    ),
    index("runs_by_time").on(table.tenant, sql`${table.createdAt} desc`, sql`${table.id} desc`),
    // For ids of which a person has only the end.
    index("runs_by_id_end").on(table.tenant, sql`reverse(${table.id}) collate "C"`),
    index("runs_by_root").on(table.rootId).where(ne(table.rootId, table.id)),
    index("runs_by_label").using("gin", sql`${table.labels} jsonb_path_ops`).where(sql`${table.labels} <> '{}'`),
    index("runs_by_deadline").on(table.deadline).where(isNotNull(table.deadline)),
    index("runs_by_end").on(table.endedAt).where(isNotNull(table.endedAt)),
    index("runs_queued")
      .on(table.tenant, table.createdAt, table.id)
      .where(sql`${table.enqueuedAt} = 'infinity' and ${table.status} = 'doing'`),
  ],
);

/** The steps of a run and all runs below it, if it makes calls in parallel with other work (commit/step-pools.ts). */
export const stepPools = markmill.table("step_pools", {
  runId: text("run_id").primaryKey(),
  cap: counter("cap").notNull(),
  used: counter("used").notNull(),
});

export const variables = markmill.table(
  "variables",
  {
    runId: text("run_id").notNull(),
    name: text("name").notNull(),
    /** null: no longer set. */
    value: text("value"),
    /** Its run has ended. */
    final: boolean("final").notNull().default(false),
  },
  (table) => [
    primaryKey({ name: "variables_pkey", columns: [table.runId, table.name] }),
    index("variables_by_value").on(table.name, sql`left(${table.value}, 64)`).where(sql`${table.final}`),
  ],
);

/** A view over the states of runs, so that hits are stored only once. */
export const hits = markmill
  .view("hits", { runId: text("run_id").notNull(), node: text("node").notNull(), hits: integer("hits").notNull() })
  .existing();

/** The variables for readers, wherever they are stored (commit/). */
export const runVariables = markmill
  .view("run_variables", {
    runId: text("run_id").notNull(),
    status: text("status").notNull(),
    name: text("name").notNull(),
    value: text("value").notNull(),
  })
  .existing();
