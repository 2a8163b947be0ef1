import { bigint, boolean, customType, integer, json, text, timestamp } from "drizzle-orm/pg-core";
import { markmill } from "./runs.ts";

const at = (name: string) => timestamp(name, { withTimezone: true });
const counter = (name: string) => bigint(name, { mode: "number" });
const bytea = customType<{ data: Buffer }>({ dataType: () => "bytea" });

export const calls = markmill.table("calls", {
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
  createdAt: at("created_at").notNull(),
  attempt: integer("attempt").notNull(),
});

export const budgets = markmill.table("budgets", {
  id: text("id").notNull(),
  capNanodollars: counter("cap_nanodollars"),
  capTokens: counter("cap_tokens"),
  spentNanodollars: counter("spent_nanodollars").notNull(),
  spentTokens: counter("spent_tokens").notNull(),
  reservedNanodollars: counter("reserved_nanodollars").notNull(),
  reservedTokens: counter("reserved_tokens").notNull(),
  createdAt: at("created_at").notNull(),
  forRun: boolean("for_run").notNull(),
  tenant: text("tenant").notNull(),
});

export const reservations = markmill.table("reservations", {
  activityId: counter("activity_id").notNull(),
  callIndex: integer("call_index").notNull(),
  budgetId: text("budget_id").notNull(),
  nanodollars: counter("nanodollars").notNull(),
  tokens: counter("tokens").notNull(),
  createdAt: at("created_at").notNull(),
  claim: integer("claim").notNull(),
  tenant: text("tenant").notNull(),
});

export const charges = markmill.table("charges", {
  id: counter("id").notNull(),
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
  createdAt: at("created_at").notNull(),
  tenant: text("tenant").notNull(),
});

export const rates = markmill.table("rates", {
  endpoint: text("endpoint").notNull(),
  model: text("model").notNull(),
  requestsUntil: at("requests_until").notNull(),
  tokensUntil: at("tokens_until").notNull(),
  startsAt: at("starts_at").notNull(),
  refusals: integer("refusals").notNull(),
  pausedAt: at("paused_at"),
  pausedUntil: at("paused_until"),
  reason: text("reason"),
  prober: text("prober"),
  probeUntil: at("probe_until"),
  tenant: text("tenant").notNull(),
});

export const sessions = markmill.table("sessions", {
  id: text("id").primaryKey(),
  kind: text("kind").notNull(),
  host: text("host").notNull(),
  worker: text("worker").notNull(),
  leaseUntil: at("lease_until").notNull(),
  state: json("state").notNull(),
  activityId: counter("activity_id"),
  claim: integer("claim"),
  createdAt: at("created_at").notNull(),
});

export const sessionMarks = markmill.table("session_marks", {
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
});

export const checkpoints = markmill.table("checkpoints", {
  sessionId: text("session_id").notNull(),
  position: integer("position").notNull(),
  whole: boolean("whole").notNull(),
  removed: bytea("removed").notNull(),
  size: counter("size").notNull(),
  createdAt: at("created_at").notNull(),
});

export const checkpointParts = markmill.table("checkpoint_parts", {
  sessionId: text("session_id").notNull(),
  position: integer("position").notNull(),
  part: integer("part").notNull(),
  bytes: bytea("bytes").notNull(),
});

export const workers = markmill.table("workers", {
  id: text("id").primaryKey(),
  host: text("host").notNull(),
  info: json("info").notNull(),
  startedAt: at("started_at").notNull(),
  heartbeatAt: at("heartbeat_at").notNull(),
});

export const blobs = markmill.table("blobs", {
  hash: text("hash").notNull(),
  bytes: bytea("bytes"),
  size: counter("size").notNull(),
  createdAt: at("created_at").notNull(),
  tenant: text("tenant").notNull(),
  place: text("place").notNull(),
  object: text("object"),
});

/** Of objects that are kept in Postgres. */
export const blobParts = markmill.table("blob_parts", {
  object: text("object").notNull(),
  part: integer("part").notNull(),
  bytes: bytea("bytes").notNull(),
});

/** Objects that no blob names: on their way, or to be deleted. */
export const looseObjects = markmill.table("loose_objects", {
  object: text("object").primaryKey(),
  place: text("place").notNull(),
  due: at("due").notNull(),
  doomed: boolean("doomed").notNull(),
});

/** Written by triggers, with what names a blob. */
export const blobReferences = markmill.table("blob_references", {
  hash: text("hash").notNull(),
  kind: text("kind").notNull(),
  referrer: text("referrer").notNull(),
  tenant: text("tenant").notNull(),
});

export const tenants = markmill.table("tenants", {
  id: text("id").primaryKey(),
  name: text("name").notNull(),
  createdAt: at("created_at").notNull(),
});

export const idempotencyKeys = markmill.table("idempotency_keys", {
  tenant: text("tenant").notNull(),
  key: text("key").notNull(),
  requestHash: text("request_hash"),
  runId: text("run_id").notNull(),
  createdAt: at("created_at").notNull(),
});
