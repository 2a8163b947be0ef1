/** Batches: a class, its students, their submissions, the runs of the submissions, and the grade events of people. */
import { eq, isNotNull, isNull, sql } from "drizzle-orm";
import {
  boolean,
  check,
  doublePrecision,
  index,
  integer,
  json,
  primaryKey,
  text,
  unique,
  uniqueIndex,
} from "drizzle-orm/pg-core";
import { at, counter, now } from "./column-types.ts";
import { markmill } from "./runs.ts";

export const batches = markmill.table(
  "batches",
  {
    /** Also the id of its budget. */
    id: text("id").primaryKey(),
    tenant: text("tenant").notNull(),
    key: text("key").notNull(),
    name: text("name").notNull(),
    definitionHash: text("definition_hash").notNull(),
    rubric: json("rubric").notNull(),
    rubricHash: text("rubric_hash").notNull(),
    settings: json("settings").notNull(),
    /** The secret from which pseudonyms are computed. */
    secret: text("secret").notNull(),
    state: text("state").notNull().default("open"),
    /** Set for a pause: a person, or the budget. */
    pausedBy: text("paused_by"),
    reason: text("reason").notNull().default(""),
    concurrency: integer("concurrency").notNull(),
    /** Raised whenever a student is added or changed: readers compare it to see whether their copy is current. */
    roster: integer("roster").notNull().default(0),
    createdAt: now("created_at"),
    /** When it ended without the end of a run (batches/settle-batch.ts). */
    settledAt: at("settled_at"),
    /** Set while the batch is being deleted: no grade event is accepted any more. */
    deletingAt: at("deleting_at"),
  },
  (table) => [
    unique("batches_tenant_key").on(table.tenant, table.key),
    check("batches_state_check", sql`${table.state} in ('open', 'paused', 'cancelled')`),
    check("batches_concurrency_check", sql`${table.concurrency} > 0`),
    index("batches_by_settling").on(table.tenant, table.settledAt).where(isNotNull(table.settledAt)),
    index("batches_by_id_end").on(table.tenant, sql`reverse(${table.id}) collate "C"`),
    index("batches_by_time").on(table.tenant, sql`${table.createdAt} desc`, sql`${table.id} desc`),
  ],
);

/** Every rubric that a batch has had, by its hash: marks are compared with the rubric they were given by. */
export const batchRubrics = markmill.table(
  "batch_rubrics",
  {
    batchId: text("batch_id").notNull(),
    hash: text("hash").notNull(),
    rubric: json("rubric").notNull(),
  },
  (table) => [primaryKey({ name: "batch_rubrics_pkey", columns: [table.batchId, table.hash] })],
);

/** Names are stored only here. */
export const batchMembers = markmill.table(
  "batch_members",
  {
    batchId: text("batch_id").notNull(),
    key: text("key").notNull(),
    pseudonym: text("pseudonym").notNull(),
    person: json("person").notNull(),
    /** Other keys that a roster gave to the same person. */
    aliases: text("aliases").array().notNull().default(sql`'{}'`),
  },
  (table) => [
    primaryKey({ name: "batch_members_pkey", columns: [table.batchId, table.key] }),
    unique("batch_members_pseudonym").on(table.batchId, table.pseudonym),
  ],
);

export const batchWorks = markmill.table(
  "batch_works",
  {
    batchId: text("batch_id").notNull(),
    key: text("key").notNull(),
    tenant: text("tenant").notNull(),
    pseudonym: text("pseudonym").notNull(),
    /** Keys of students. */
    members: text("members").array().notNull(),
    groupName: text("group_name"),
    attempt: integer("attempt").notNull(),
    counts: boolean("counts").notNull(),
    /** Keys of students for whom it counts. null: all of them, or none. */
    countsFor: text("counts_for").array(),
    /** Its key in the last upload, if that differs. */
    called: text("called"),
    label: text("label").notNull(),
    sources: text("sources").array().notNull(),
    submittedAt: text("submitted_at"),
    lateness: json("lateness").notNull(),
    /** The blob. null: there is nothing to grade, and `content` contains the reason. */
    hash: text("hash"),
    content: json("content").notNull(),
  },
  (table) => [
    primaryKey({ name: "batch_works_pkey", columns: [table.batchId, table.key] }),
    // The batch is the last column: while the tables are new, Postgres would prefer an index that begins with it to the primary key.
    unique("batch_works_pseudonym").on(table.pseudonym, table.batchId),
  ],
);

/**
 * Each grading attempt of a submission is a run, and the run's row has its state. `admittedAt` and `endSeenAt` only avoid reading all runs:
 * an admitted attempt may have no run yet, and one whose end was not seen may have ended.
 */
export const batchRuns = markmill.table(
  "batch_runs",
  {
    id: counter("id").primaryKey().generatedAlwaysAsIdentity(),
    batchId: text("batch_id").notNull(),
    work: text("work").notNull(),
    try: integer("try").notNull(),
    /** Generated with the attempt, so that every process creates the same run. */
    runId: text("run_id").notNull(),
    definitionHash: text("definition_hash").notNull(),
    /** The hash of the rubric for its grade. */
    rubricHash: text("rubric_hash").notNull(),
    hash: text("hash").notNull(),
    why: text("why").notNull(),
    /** Only this criterion is judged again; the other marks of the previous attempt stay. */
    criterion: text("criterion"),
    createdAt: now("created_at"),
    admittedAt: at("admitted_at"),
    endSeenAt: at("end_seen_at"),
    /** Only its run was deleted. */
    deletedAt: at("deleted_at"),
    /** Why the run could not be created. */
    refusal: json("refusal"),
  },
  (table) => [
    unique("batch_runs_try").on(table.batchId, table.work, table.try),
    uniqueIndex("batch_runs_by_run").on(table.runId),
    index("batch_runs_waiting").on(table.batchId, table.id).where(isNull(table.admittedAt)),
    index("batch_runs_in_flight")
      .on(table.batchId)
      .where(sql`${table.admittedAt} is not null and ${table.endSeenAt} is null`),
    index("batch_runs_again").on(table.batchId).where(sql`${table.try} > 1`),
  ],
);

/** Append-only: a trigger refuses every change, and every deletion except that of a whole batch. */
export const gradeEvents = markmill.table(
  "grade_events",
  {
    id: counter("id").primaryKey().generatedAlwaysAsIdentity(),
    batchId: text("batch_id").notNull(),
    work: text("work").notNull(),
    at: now("at"),
    who: text("who").notNull(),
    kind: text("kind").notNull(),
    criterion: text("criterion"),
    pointsFrom: doublePrecision("points_from"),
    pointsTo: doublePrecision("points_to"),
    reason: text("reason").notNull(),
    comment: text("comment").notNull(),
    rubricHash: text("rubric_hash").notNull(),
    content: text("content"),
    try: integer("try").notNull(),
    /** Id of the event that it takes back. */
    takesBack: counter("takes_back"),
    /** Set for a release: keys of its students. null: from an earlier version, for all students of the submission. */
    students: text("students").array(),
    /** The idempotency key of its request, and the hash of that request. */
    idempotencyKey: text("idempotency_key"),
    requestHash: text("request_hash"),
  },
  (table) => [
    uniqueIndex("grade_events_by_key")
      .on(table.batchId, table.idempotencyKey)
      .where(sql`${table.idempotencyKey} is not null`),
    check("grade_events_kind_check", sql`${table.kind} in ('override', 'reviewed', 'released', 'withdrawn')`),
    check("grade_events_reason_check", sql`${table.reason} <> '' or ${table.kind} not in ('override', 'withdrawn')`),
    index("grade_events_by_work").on(table.batchId, table.work, table.id),
    index("grade_events_released").on(table.at).where(eq(table.kind, sql`'released'`)),
  ],
);
