import { z } from "zod";
import { named } from "./named.ts";
import { roleSchema, scopeSchema } from "./roles-and-scopes.ts";
import { count, cursor, limit, page, text, time } from "./values.ts";

const tenantId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/);
const personName = text(200, 1).regex(/^[^\p{Cc}]+$/u, "must not contain control characters");
const password = z.string().min(12).max(200);
const roleList = z.array(roleSchema).min(1).max(4);
const accessId = z.string().regex(/^[0-9a-z]{10,40}$/);
export const accessParams = z.object({ id: accessId.describe("the id of a user or a key") });

export const loginBody = named(
  "Login",
  z.union([
    z.strictObject({ tenant: tenantId.default("default"), name: personName, password: z.string().max(200) }),
    z.strictObject({ key: z.string().max(200) }),
  ]),
);
export const passwordChange = named("PasswordChange", z.strictObject({ current: z.string().max(200), password }));
export const principal = named(
  "Principal",
  z.object({
    tenant: z.string(),
    kind: z.enum(["key", "session"]),
    id: z.string(),
    name: z.string(),
    roles: z.array(roleSchema),
    scopes: z.array(scopeSchema),
    expiresAt: time.nullable(),
    csrfToken: z
      .string()
      .optional()
      .describe("for a session: send it as X-CSRF-Token with every request that changes something"),
  }),
);

export const user = named(
  "User",
  z.object({ id: accessId, name: z.string(), roles: z.array(roleSchema), disabled: z.boolean(), createdAt: time }),
);
export const userList = named("UserList", page(user));
export const newUser = named("NewUser", z.strictObject({ name: personName, password, roles: roleList }));
export const userChange = named(
  "UserChange",
  z.strictObject({ password: password.optional(), roles: roleList.optional(), disabled: z.boolean().optional() }),
);

const key = named(
  "Key",
  z.object({
    id: accessId,
    name: z.string(),
    start: z.string().describe("first characters of the key, to recognise it"),
    roles: z.array(roleSchema),
    scopes: z.array(scopeSchema).nullable().describe("null: all scopes of the roles"),
    createdAt: time,
    createdBy: z.string(),
    expiresAt: time.nullable(),
    revokedAt: time.nullable(),
    lastUsedAt: time.nullable(),
  }),
);
export const keyList = named("KeyList", page(key));
export const newKey = named(
  "NewKey",
  z.strictObject({
    name: personName,
    roles: roleList,
    scopes: z.array(scopeSchema).max(20).optional(),
    expiresAt: time.optional(),
  }),
);
export const madeKey = named(
  "MadeKey",
  key.extend({ secret: z.string().describe("the secret key; shown only in this answer") }),
);

const tenant = named("Tenant", z.object({ id: tenantId, name: z.string(), createdAt: time }));
export const tenantList = named("TenantList", page(tenant));
export const newTenant = named("NewTenant", z.strictObject({ id: tenantId, name: personName }));
export const madeTenant = named("MadeTenant", tenant.extend({ key: madeKey.describe("the key of its first owner") }));

const auditEntry = named(
  "AuditEntry",
  z.object({
    id: count,
    at: time,
    actor: z.string(),
    actorName: z.string(),
    action: z.string().describe("the operationId in the OpenAPI document"),
    target: z.string().nullable(),
    requestId: z.string(),
    address: z.string(),
    outcome: z.int().nullable().describe("HTTP status; null: unknown, because the server stopped during the request"),
    details: z.record(z.string(), z.unknown()),
  }),
);
export const auditQuery = z.object({
  action: text(100).optional().describe("only this operation, such as startRun"),
  actor: text(100).optional().describe("only actions of this actor, such as key:… or user:…"),
  target: text(200).optional().describe("only actions on this id"),
  from: time.optional().describe("at this time or later"),
  before: time.optional().describe("before this time"),
  limit,
  cursor: cursor.optional(),
});
export const auditPage = named("AuditPage", page(auditEntry));
