import { bigint, integer, json, smallint, text, timestamp } from "drizzle-orm/pg-core";
import { markmill } from "./runs.ts";

const at = (name: string) => timestamp(name, { withTimezone: true });
const counter = (name: string) => bigint(name, { mode: "number" });

export const activities = markmill.table("activities", {
  id: counter("id").primaryKey().generatedAlwaysAsIdentity(),
  runId: text("run_id").notNull(),
  rootId: text("root_id").notNull(),
  node: text("node").notNull(),
  generation: integer("generation").notNull(),
  item: integer("item").notNull(),
  attempt: integer("attempt").notNull(),
  kind: text("kind").notNull(),
  queue: text("queue").notNull(),
  epoch: integer("epoch").notNull(),
  state: text("state").notNull(),
  claim: integer("claim").notNull(),
  takeovers: integer("takeovers").notNull(),
  claimedBy: text("claimed_by"),
  claimedAt: at("claimed_at"),
  leaseUntil: at("lease_until"),
  notBefore: at("not_before"),
  rings: integer("rings").notNull(),
  rungAt: at("rung_at").notNull(),
  work: json("work").notNull(),
  outcome: json("outcome"),
  usage: json("usage"),
  seq: counter("seq"),
  createdAt: at("created_at").notNull(),
  endedAt: at("ended_at"),
  readyAt: at("ready_at"),
  trouble: json("trouble"),
});

export const events = markmill.table("events", {
  runId: text("run_id").notNull(),
  seq: counter("seq").notNull(),
  part: smallint("part").notNull(),
  type: text("type").notNull(),
  at: at("at").notNull(),
  body: text("body").notNull(),
  activityId: counter("activity_id"),
  kind: text("kind"),
  askedAt: at("asked_at"),
});

export const asks = markmill.table("asks", {
  activityId: counter("activity_id").primaryKey(),
  runId: text("run_id").notNull(),
  question: text("question").notNull(),
  text: text("text").notNull(),
  expiresAt: at("expires_at"),
  state: text("state").notNull(),
  answer: text("answer"),
  answeredBy: text("answered_by"),
  createdAt: at("created_at").notNull(),
  closedAt: at("closed_at"),
});
