import { bigint, integer, text, timestamp } from "drizzle-orm/pg-core";
import { markmill } from "./runs.ts";

const counter = (name: string) => bigint(name, { mode: "number" });

export const threads = markmill.table("threads", {
  id: text("id").primaryKey(),
  runId: text("run_id").notNull(),
  agent: text("agent").notNull(),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull(),
});

export const messages = markmill.table("messages", {
  id: counter("id").primaryKey().generatedAlwaysAsIdentity(),
  thread: text("thread").notNull(),
  runId: text("run_id").notNull(),
  seq: counter("seq").notNull(),
  position: integer("position").notNull(),
  role: text("role").notNull(),
  text: text("text").notNull(),
  activityId: counter("activity_id"),
});
