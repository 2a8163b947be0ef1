import { isNotNull, sql } from "drizzle-orm";
import { boolean, check, index, integer, json, text, unique, uniqueIndex } from "drizzle-orm/pg-core";
import { at, bytea, counter, now } from "./column-types.ts";
import { markmill } from "./runs.ts";

export const users = markmill.table(
  "users",
  {
    id: text("id").primaryKey(),
    tenant: text("tenant").notNull(),
    name: text("name").notNull(),
    password: text("password").notNull(),
    roles: text("roles").array().notNull(),
    disabled: boolean("disabled").notNull().default(false),
    createdAt: now("created_at"),
  },
  (table) => [unique("users_tenant_name_key").on(table.tenant, table.name)],
);

export const apiKeys = markmill.table(
  "api_keys",
  {
    id: text("id").primaryKey(),
    tenant: text("tenant").notNull(),
    name: text("name").notNull(),
    secretHash: bytea("secret_hash").notNull(),
    roles: text("roles").array().notNull(),
    /** null: all that the roles allow. */
    scopes: text("scopes").array(),
    createdBy: text("created_by").notNull(),
    createdAt: now("created_at"),
    expiresAt: at("expires_at"),
    revokedAt: at("revoked_at"),
    lastUsedAt: at("last_used_at"),
    /** The first key of the installation. */
    first: boolean("first").notNull().default(false),
  },
  (table) => [
    index("api_keys_by_tenant").on(table.tenant, table.createdAt),
    uniqueIndex("api_keys_first").on(table.first).where(sql`${table.first}`),
  ],
);

/** Sessions of browsers. */
export const logins = markmill.table(
  "logins",
  {
    id: text("id").primaryKey(),
    tenant: text("tenant").notNull(),
    secretHash: bytea("secret_hash").notNull(),
    userId: text("user_id"),
    keyId: text("key_id"),
    createdAt: now("created_at"),
    expiresAt: at("expires_at").notNull(),
  },
  (table) => [
    check("logins_check", sql`(${table.userId} is null) <> (${table.keyId} is null)`),
    index("logins_by_expiry").on(table.expiresAt),
    index("logins_by_user").on(table.userId).where(isNotNull(table.userId)),
    index("logins_by_key").on(table.keyId).where(isNotNull(table.keyId)),
  ],
);

export const audit = markmill.table(
  "audit",
  {
    id: counter("id").primaryKey().generatedAlwaysAsIdentity(),
    tenant: text("tenant").notNull(),
    at: now("at"),
    actor: text("actor").notNull(),
    actorName: text("actor_name").notNull(),
    action: text("action").notNull(),
    target: text("target"),
    requestId: text("request_id").notNull(),
    address: text("address").notNull(),
    details: json("details").notNull().default({}),
  },
  (table) => [index("audit_by_tenant").on(table.tenant, table.id)],
);

export const auditOutcomes = markmill.table("audit_outcomes", {
  auditId: counter("audit_id").primaryKey(),
  at: now("at"),
  status: integer("status").notNull(),
  target: text("target"),
});
