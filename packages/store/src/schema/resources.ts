import { eq, isNotNull, isNull, sql } from "drizzle-orm";
import { boolean, check, index, integer, json, primaryKey, text, uniqueIndex } from "drizzle-orm/pg-core";
import { at, bytea, counter, now } from "./column-types.ts";
import { markmill } from "./runs.ts";

export const calls = markmill.table(
  "calls",
  {
    activityId: counter("activity_id").notNull(),
    callIndex: integer("call_index").notNull(),
    requestHash: text("request_hash").notNull(),
    runId: text("run_id").notNull(),
    rootId: text("root_id").notNull(),
    model: text("model").notNull(),
    request: json("request").notNull(),
    reply: json("reply").notNull(),
    promptTokens: counter("prompt_tokens").notNull(),
    completionTokens: counter("completion_tokens").notNull(),
    characters: counter("characters").notNull(),
    nanodollars: counter("nanodollars").notNull(),
    createdAt: now("created_at"),
    attempt: integer("attempt").notNull().default(1),
  },
  (table) => [
    primaryKey({ name: "calls_pkey", columns: [table.activityId, table.callIndex, table.requestHash] }),
    index("calls_by_root").on(table.rootId),
    index("calls_by_run").on(table.runId),
  ],
);

/** One row per attempt of a tool call: begun before it is performed, ended after. */
export const toolCalls = markmill.table(
  "tool_calls",
  {
    activityId: counter("activity_id").notNull(),
    /** The model call that asked for it. -1: no model did. */
    callIndex: integer("call_index").notNull(),
    /** The hash of the request whose reply asked for the call. Without a model: the hash of the name and the arguments. */
    requestHash: text("request_hash").notNull(),
    position: integer("position").notNull(),
    /** The attempt of the activity. */
    attempt: integer("attempt").notNull(),
    /** The claim under which it was begun. */
    claim: integer("claim").notNull(),
    runId: text("run_id").notNull(),
    rootId: text("root_id").notNull(),
    tenant: text("tenant").notNull(),
    name: text("name").notNull(),
    arguments: text("arguments").notNull(),
    state: text("state").notNull(),
    result: text("result"),
    failure: json("failure"),
    ms: integer("ms"),
    createdAt: now("created_at"),
    /** It acts in the session of its run. */
    inSession: boolean("in_session").notNull().default(false),
    /** Information about the result, for people. */
    note: text("note"),
  },
  (table) => [
    primaryKey({
      name: "tool_calls_pkey",
      columns: [table.activityId, table.callIndex, table.requestHash, table.position, table.attempt],
    }),
    check("tool_calls_state_check", sql`${table.state} in ('begun', 'done', 'failed')`),
    check(
      "tool_calls_end_check",
      sql`(${table.state} = 'done') = (${table.result} is not null) and (${table.state} = 'failed') = (${table.failure} is not null)`,
    ),
    index("tool_calls_by_root").on(table.rootId),
    index("tool_calls_by_run").on(table.runId),
  ],
);

/** Texts that are searched by meaning. A scope belongs to a root run and is deleted with it, or it has a name and belongs to the tenant. */
export const passages = markmill.table(
  "passages",
  {
    id: counter("id").primaryKey().generatedAlwaysAsIdentity(),
    tenant: text("tenant").notNull(),
    scope: text("scope").notNull(),
    /** The run that inserted it. It is deleted with that run, whatever its scope. */
    rootId: text("root_id").notNull(),
    /** Only vectors of the same embedder are compared. */
    embedder: text("embedder").notNull(),
    activityId: counter("activity_id").notNull(),
    position: integer("position").notNull(),
    text: text("text").notNull(),
    /** 32-bit floats, little-endian, of length one. */
    vector: bytea("vector").notNull(),
    createdAt: now("created_at"),
  },
  (table) => [
    uniqueIndex("passages_once").on(table.activityId, table.position),
    index("passages_by_scope").on(table.tenant, table.scope, table.embedder, table.id),
    index("passages_by_root").on(table.rootId),
  ],
);

export const budgets = markmill.table(
  "budgets",
  {
    id: text("id").notNull(),
    capNanodollars: counter("cap_nanodollars"),
    capTokens: counter("cap_tokens"),
    spentNanodollars: counter("spent_nanodollars").notNull().default(0),
    spentTokens: counter("spent_tokens").notNull().default(0),
    reservedNanodollars: counter("reserved_nanodollars").notNull().default(0),
    reservedTokens: counter("reserved_tokens").notNull().default(0),
    /** Characters that are sent and received. Only runs have a cap on them. */
    capCharacters: counter("cap_characters"),
    spentCharacters: counter("spent_characters").notNull().default(0),
    reservedCharacters: counter("reserved_characters").notNull().default(0),
    /**
     * The amount that the callers of the run had set aside for their handlers when it was created. Their budgets keep it; this one does
     * not.
     */
    outerNanodollars: counter("outer_nanodollars").notNull().default(0),
    outerTokens: counter("outer_tokens").notNull().default(0),
    outerCharacters: counter("outer_characters").notNull().default(0),
    createdAt: now("created_at"),
    forRun: boolean("for_run").notNull().default(false),
    tenant: text("tenant").notNull(),
  },
  (table) => [
    primaryKey({ name: "budgets_pkey", columns: [table.tenant, table.id] }),
    index("budgets_of_runs").on(table.createdAt).where(sql`${table.forRun}`),
  ],
);

export const reservations = markmill.table(
  "reservations",
  {
    activityId: counter("activity_id").notNull(),
    callIndex: integer("call_index").notNull(),
    budgetId: text("budget_id").notNull(),
    nanodollars: counter("nanodollars").notNull(),
    tokens: counter("tokens").notNull(),
    characters: counter("characters").notNull().default(0),
    createdAt: now("created_at"),
    claim: integer("claim").notNull().default(0),
    tenant: text("tenant").notNull(),
    /** It is included in the reserved amount of its budget's row. */
    counted: boolean("counted").notNull().default(true),
  },
  (table) => [
    primaryKey({
      name: "reservations_pkey",
      columns: [table.activityId, table.callIndex, table.budgetId, table.claim],
    }),
    index("reservations_uncounted").on(table.tenant, table.budgetId).where(sql`not ${table.counted}`),
  ],
);

/** The cost of reservations that were not counted, until it is added to the budget's row. */
export const spendings = markmill.table(
  "spendings",
  {
    tenant: text("tenant").notNull(),
    budgetId: text("budget_id").notNull(),
    id: counter("id").notNull().generatedAlwaysAsIdentity(),
    nanodollars: counter("nanodollars").notNull(),
    tokens: counter("tokens").notNull(),
  },
  (table) => [primaryKey({ name: "spendings_pkey", columns: [table.tenant, table.budgetId, table.id] })],
);

export const charges = markmill.table(
  "charges",
  {
    id: counter("id").primaryKey().generatedAlwaysAsIdentity(),
    activityId: counter("activity_id").notNull(),
    callIndex: integer("call_index").notNull(),
    claim: integer("claim").notNull(),
    runId: text("run_id").notNull(),
    rootId: text("root_id").notNull(),
    model: text("model").notNull(),
    state: text("state").notNull(),
    promptTokens: counter("prompt_tokens").notNull(),
    completionTokens: counter("completion_tokens").notNull(),
    characters: counter("characters").notNull(),
    nanodollars: counter("nanodollars").notNull(),
    createdAt: now("created_at"),
    tenant: text("tenant").notNull(),
    /** The definition of the deleted root run: the line then names no run. null: the run exists. */
    deletedDefinition: text("deleted_definition"),
  },
  (table) => [
    check("charges_state_check", sql`${table.state} in ('open', 'paid', 'unsure')`),
    uniqueIndex("charges_open").on(table.activityId, table.callIndex, table.claim).where(eq(table.state, sql`'open'`)),
    index("charges_by_run").on(table.runId),
    index("charges_by_root").on(table.rootId),
    index("charges_by_time").on(table.tenant, table.createdAt),
    index("charges_of_deleted_runs").on(table.tenant, table.id).where(isNotNull(table.deletedDefinition)),
  ],
);

/** The spending of deleted runs (deleted-usage.ts). */
export const deletedUsage = markmill.table(
  "deleted_usage",
  {
    tenant: text("tenant").notNull(),
    hour: at("hour").notNull(),
    definitionHash: text("definition_hash").notNull(),
    model: text("model").notNull(),
    calls: counter("calls").notNull(),
    promptTokens: counter("prompt_tokens").notNull(),
    completionTokens: counter("completion_tokens").notNull(),
    characters: counter("characters").notNull(),
    nanodollars: counter("nanodollars").notNull(),
    unsureCalls: counter("unsure_calls").notNull(),
    unsureTokens: counter("unsure_tokens").notNull(),
    unsureNanodollars: counter("unsure_nanodollars").notNull(),
  },
  (table) => [
    primaryKey({
      name: "deleted_usage_pkey",
      columns: [table.tenant, table.hour, table.definitionHash, table.model],
    }),
  ],
);

export const rates = markmill.table(
  "rates",
  {
    endpoint: text("endpoint").notNull(),
    model: text("model").notNull(),
    requestsUntil: at("requests_until").notNull(),
    tokensUntil: at("tokens_until").notNull(),
    startsAt: at("starts_at").notNull(),
    refusals: integer("refusals").notNull().default(0),
    pausedAt: at("paused_at"),
    pausedUntil: at("paused_until"),
    reason: text("reason"),
    prober: text("prober"),
    probeUntil: at("probe_until"),
    tenant: text("tenant").notNull(),
  },
  (table) => [primaryKey({ name: "rates_pkey", columns: [table.tenant, table.endpoint, table.model] })],
);

export const sessions = markmill.table(
  "sessions",
  {
    id: text("id").primaryKey(),
    kind: text("kind").notNull(),
    host: text("host").notNull(),
    worker: text("worker").notNull(),
    leaseUntil: at("lease_until").notNull(),
    state: json("state").notNull().default({}),
    activityId: counter("activity_id"),
    claim: integer("claim"),
    createdAt: now("created_at"),
  },
  (table) => [index("sessions_by_lease").on(table.leaseUntil)],
);

export const sessionMarks = markmill.table(
  "session_marks",
  {
    sessionId: text("session_id").notNull(),
    name: text("name").notNull(),
    activityId: counter("activity_id"),
    position: integer("position").notNull(),
    problem: text("problem"),
    settled: boolean("settled").notNull(),
    state: json("state").notNull(),
    instance: text("instance").notNull(),
    processes: json("processes").notNull(),
    manifest: bytea("manifest").notNull(),
    seal: text("seal").notNull(),
    /** Set for the mark `begun`: the tool call that began. null: an EXECUTE began. */
    call: text("call"),
  },
  (table) => [primaryKey({ name: "session_marks_pkey", columns: [table.sessionId, table.name] })],
);

export const checkpoints = markmill.table(
  "checkpoints",
  {
    sessionId: text("session_id").notNull(),
    position: integer("position").notNull(),
    whole: boolean("whole").notNull(),
    removed: bytea("removed").notNull(),
    size: counter("size").notNull(),
    createdAt: now("created_at"),
  },
  (table) => [primaryKey({ name: "checkpoints_pkey", columns: [table.sessionId, table.position] })],
);

export const checkpointParts = markmill.table(
  "checkpoint_parts",
  {
    sessionId: text("session_id").notNull(),
    position: integer("position").notNull(),
    part: integer("part").notNull(),
    bytes: bytea("bytes").notNull(),
  },
  (table) => [primaryKey({ name: "checkpoint_parts_pkey", columns: [table.sessionId, table.position, table.part] })],
);

export const workers = markmill.table("workers", {
  id: text("id").primaryKey(),
  host: text("host").notNull(),
  info: json("info").notNull().default({}),
  startedAt: now("started_at"),
  heartbeatAt: now("heartbeat_at"),
  /** When it last renewed all leases that it holds. */
  renewedAt: at("renewed_at"),
  /** How long a prompt stays with it while it is paused, in milliseconds. */
  keepsMs: integer("keeps_ms").notNull().default(0),
});

export const blobs = markmill.table(
  "blobs",
  {
    hash: text("hash").notNull(),
    bytes: bytea("bytes"),
    size: counter("size").notNull(),
    createdAt: now("created_at"),
    tenant: text("tenant").notNull(),
    place: text("place").notNull().default("row"),
    object: text("object"),
  },
  (table) => [
    primaryKey({ name: "blobs_pkey", columns: [table.tenant, table.hash] }),
    index("blobs_by_age").on(table.createdAt),
    check("blobs_place_check", sql`${table.place} in ('row', 'parts', 's3')`),
    check(
      "blobs_have_bytes",
      sql`(${table.place} = 'row') = (${table.bytes} is not null) and (${table.place} = 'row') = (${table.object} is null)`,
    ),
  ],
);

/** Parts of objects that are stored in Postgres. */
export const blobParts = markmill.table(
  "blob_parts",
  {
    object: text("object").notNull(),
    part: integer("part").notNull(),
    bytes: bytea("bytes").notNull(),
  },
  (table) => [primaryKey({ name: "blob_parts_pkey", columns: [table.object, table.part] })],
);

/** Objects that no blob names: being written, or to be deleted. */
export const looseObjects = markmill.table(
  "loose_objects",
  {
    object: text("object").primaryKey(),
    place: text("place").notNull(),
    due: at("due").notNull(),
    doomed: boolean("doomed").notNull().default(false),
  },
  (table) => [index("loose_objects_by_due").on(table.due)],
);

/** Triggers write these rows together with every row that names a blob. */
export const blobReferences = markmill.table(
  "blob_references",
  {
    hash: text("hash").notNull(),
    kind: text("kind").notNull(),
    referrer: text("referrer").notNull(),
    tenant: text("tenant").notNull(),
  },
  (table) => [
    primaryKey({ name: "blob_references_pkey", columns: [table.tenant, table.hash, table.kind, table.referrer] }),
    index("blob_references_by_referrer").on(table.kind, table.referrer),
  ],
);

export const tenants = markmill.table("tenants", {
  id: text("id").primaryKey(),
  name: text("name").notNull(),
  createdAt: now("created_at"),
});

export const idempotencyKeys = markmill.table(
  "idempotency_keys",
  {
    tenant: text("tenant").notNull(),
    key: text("key").notNull(),
    requestHash: text("request_hash"),
    runId: text("run_id").notNull(),
    createdAt: now("created_at"),
  },
  (table) => [
    primaryKey({ name: "idempotency_keys_pkey", columns: [table.tenant, table.key] }),
    index("idempotency_keys_by_run").on(table.runId),
    // Keys that block the creation of runs of a deleted batch (batches/delete-batch.ts), and some of early versions.
    index("idempotency_keys_unasked").on(table.createdAt).where(isNull(table.requestHash)),
  ],
);
