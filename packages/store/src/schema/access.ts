import { bigint, boolean, customType, integer, json, text, timestamp } from "drizzle-orm/pg-core";
import { markmill } from "./runs.ts";

const at = (name: string) => timestamp(name, { withTimezone: true });
const counter = (name: string) => bigint(name, { mode: "number" });
const bytea = customType<{ data: Buffer }>({ dataType: () => "bytea" });

export const users = markmill.table("users", {
  id: text("id").primaryKey(),
  tenant: text("tenant").notNull(),
  name: text("name").notNull(),
  password: text("password").notNull(),
  roles: text("roles").array().notNull(),
  disabled: boolean("disabled").notNull(),
  createdAt: at("created_at").notNull(),
});

export const apiKeys = markmill.table("api_keys", {
  id: text("id").primaryKey(),
  tenant: text("tenant").notNull(),
  name: text("name").notNull(),
  secretHash: bytea("secret_hash").notNull(),
  roles: text("roles").array().notNull(),
  scopes: text("scopes").array(),
  createdBy: text("created_by").notNull(),
  createdAt: at("created_at").notNull(),
  expiresAt: at("expires_at"),
  revokedAt: at("revoked_at"),
  lastUsedAt: at("last_used_at"),
  first: boolean("first").notNull(),
});

/** Sessions of browsers. */
export const logins = markmill.table("logins", {
  id: text("id").primaryKey(),
  tenant: text("tenant").notNull(),
  secretHash: bytea("secret_hash").notNull(),
  userId: text("user_id"),
  keyId: text("key_id"),
  createdAt: at("created_at").notNull(),
  expiresAt: at("expires_at").notNull(),
});

export const audit = markmill.table("audit", {
  id: counter("id").primaryKey().generatedAlwaysAsIdentity(),
  tenant: text("tenant").notNull(),
  at: at("at").notNull(),
  actor: text("actor").notNull(),
  actorName: text("actor_name").notNull(),
  action: text("action").notNull(),
  target: text("target"),
  requestId: text("request_id").notNull(),
  address: text("address").notNull(),
  details: json("details").notNull(),
});

export const auditOutcomes = markmill.table("audit_outcomes", {
  auditId: counter("audit_id").primaryKey(),
  at: at("at").notNull(),
  status: integer("status").notNull(),
  target: text("target"),
});
