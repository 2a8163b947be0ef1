/**
 * Roles and scopes. A role is a set of scopes. A key may have fewer scopes than its roles, never more. The scope that a route requires is
 * its `access` in routes.ts.
 */
import { z } from "zod";
import { named } from "./named.ts";

export const scopes = [
  "definitions:read",
  "definitions:write",
  "runs:read",
  "runs:write",
  "runs:delete",
  "asks:answer",
  "batches:read",
  "batches:write",
  "members:read",
  "grades:write",
  "files:read",
  "files:write",
  "models:read",
  "usage:read",
  "audit:read",
  "access:manage",
  "ops:read",
  "ops:write",
] as const;
export type Scope = (typeof scopes)[number];
export const scopeSchema = named("Scope", z.enum(scopes));

export const roles = ["owner", "grader", "reader", "ops"] as const;
export type Role = (typeof roles)[number];
export const roleSchema = named("Role", z.enum(roles));

const reading = ["definitions:read", "runs:read", "batches:read", "files:read", "models:read", "usage:read"] as const;
/** Reading the person behind a pseudonym is a separate right. */
const grading = ["batches:write", "members:read", "grades:write"] as const;

/**
 * ops belongs to the installation: queues, workers, metrics, tenants. It sees ids and counts, but no names, texts or files of any tenant.
 */
const scopesOf: Readonly<Record<Role, readonly Scope[]>> = {
  owner: [
    ...reading,
    ...(["definitions:write", "runs:write", "runs:delete", "asks:answer", "files:write"] as const),
    ...grading,
    ...(["audit:read", "access:manage"] as const),
  ],
  grader: [...reading, ...grading, "runs:write", "asks:answer", "files:write"],
  reader: reading,
  ops: ["models:read", "ops:read", "ops:write"],
};

/** The scopes of the roles, restricted if a key names its scopes. */
export function effectiveScopes(held: readonly Role[], narrowed: readonly Scope[] | null): ReadonlySet<Scope> {
  const all = new Set(held.flatMap((role) => scopesOf[role]));
  return narrowed === null ? all : new Set(narrowed.filter((scope) => all.has(scope)));
}
