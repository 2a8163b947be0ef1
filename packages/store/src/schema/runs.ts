import { isNotNull, ne, sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  index,
  integer,
  json,
  jsonb,
  pgSchema,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
} from "drizzle-orm/pg-core";

export const markmill = pgSchema("markmill");
const at = (name: string) => timestamp(name, { withTimezone: true });
const counter = (name: string) => bigint(name, { mode: "number" });

export const definitions = markmill.table(
  "definitions",
  {
    hash: text("hash").notNull(),
    dialect: text("dialect").notNull(),
    name: text("name").notNull(),
    root: text("root").notNull(),
    programs: json("programs").notNull(),
    files: json("files").notNull(),
    createdAt: at("created_at").notNull(),
    tenant: text("tenant").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenant, table.hash] }),
    index("definitions_by_name").on(table.tenant, table.name, table.createdAt.desc()),
  ],
);

export const runs = markmill.table(
  "runs",
  {
    id: text("id").primaryKey(),
    rootId: text("root_id").notNull(),
    parentActivityId: counter("parent_activity_id"),
    parentAttempt: integer("parent_attempt"),
    parentEpoch: integer("parent_epoch"),
    parentJob: text("parent_job"),
    definitionHash: text("definition_hash").notNull(),
    program: text("program").notNull(),
    name: text("name").notNull(),
    status: text("status").notNull(),
    phase: text("phase").notNull(),
    word: text("word"),
    epoch: integer("epoch").notNull(),
    rev: counter("rev").notNull(),
    kept: text("kept").notNull(),
    depth: integer("depth").notNull(),
    deadline: at("deadline"),
    labels: jsonb("labels").notNull(),
    budgets: text("budgets").array().notNull(),
    options: json("options").notNull(),
    submission: json("submission"),
    forkedFrom: text("forked_from"),
    result: text("result"),
    reason: json("reason"),
    steps: integer("steps").notNull(),
    createdAt: at("created_at").notNull(),
    startedAt: at("started_at"),
    endedAt: at("ended_at"),
    light: json("light"),
    rings: integer("rings").notNull(),
    rungAt: at("rung_at").notNull(),
    tenant: text("tenant").notNull(),
  },
  (table) => [
    uniqueIndex("runs_by_call")
      .on(table.parentActivityId, table.parentAttempt, table.parentEpoch)
      .where(isNotNull(table.parentActivityId)),
    index("runs_by_status").on(table.status, table.tenant, table.createdAt.desc(), table.id.desc()),
    index("runs_by_definition").on(table.tenant, table.definitionHash, table.createdAt.desc(), table.id.desc()),
    index("runs_by_time").on(table.tenant, table.createdAt.desc(), table.id.desc()),
    index("runs_by_root").on(table.rootId).where(ne(table.rootId, table.id)),
  ],
);

export const variables = markmill.table(
  "variables",
  {
    runId: text("run_id").notNull(),
    name: text("name").notNull(),
    value: text("value"),
    final: boolean("final").notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.runId, table.name] }),
    index("variables_by_value").on(table.name, sql`left(${table.value}, 64)`).where(sql`${table.final}`),
  ],
);

/** A view over the runs' states: hits have one truth. */
export const hits = markmill
  .view("hits", { runId: text("run_id").notNull(), node: text("node").notNull(), hits: integer("hits").notNull() })
  .existing();

/** What readers read, wherever it stands (commit/). */
export const runVariables = markmill
  .view("run_variables", {
    runId: text("run_id").notNull(),
    status: text("status").notNull(),
    name: text("name").notNull(),
    value: text("value").notNull(),
  })
  .existing();
