import { index, integer, text, unique } from "drizzle-orm/pg-core";
import { counter, now } from "./column-types.ts";
import { markmill } from "./runs.ts";

export const threads = markmill.table(
  "threads",
  {
    id: text("id").primaryKey(),
    runId: text("run_id").notNull(),
    agent: text("agent").notNull(),
    createdAt: now("created_at"),
  },
  (table) => [index("threads_by_run").on(table.runId)],
);

export const messages = markmill.table(
  "messages",
  {
    id: counter("id").primaryKey().generatedAlwaysAsIdentity(),
    thread: text("thread").notNull(),
    runId: text("run_id").notNull(),
    seq: counter("seq").notNull(),
    position: integer("position").notNull(),
    role: text("role").notNull(),
    text: text("text").notNull(),
    activityId: counter("activity_id"),
  },
  (table) => [
    unique("messages_run_id_seq_position_key").on(table.runId, table.seq, table.position),
    index("messages_by_thread").on(table.thread, table.id),
  ],
);
