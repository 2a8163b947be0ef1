/**
 * Identifies the caller of a request. A key or a cookie identifies the caller. The rights are read with every request, so that a revocation
 * has effect at once. permit.ts decides whether the caller may make the request.
 */
import { createHash } from "node:crypto";
import { effectiveScopes, type Role, roles, type Scope, scopes } from "@markmill/contract";
import type { Key, Login } from "@markmill/store";
import type { FastifyRequest } from "fastify";
import type { ApiParts } from "./parts.ts";

export interface Principal {
  readonly tenant: string;
  readonly kind: "key" | "session";
  readonly id: string;
  /** The name in the audit log: key:ID or user:ID. */
  readonly actor: string;
  readonly name: string;
  /** null: the caller is a key, or a session that was opened with one. */
  readonly userId: string | null;
  readonly roles: readonly Role[];
  readonly scopes: ReadonlySet<Scope>;
  readonly expiresAt: Date | null;
  /** The expiry of the caller's key, or of the key that opened the session. null: it never expires, or there is no key. */
  readonly keyExpiresAt: Date | null;
  readonly csrfToken: string | null;
}

/** Over https the name has a prefix that makes browsers accept the cookie only from this exact host and for all of its paths. */
export function cookieName(secure: boolean): string {
  return secure ? "__Host-markmill_session" : "markmill_session";
}

export function isSecure(request: FastifyRequest, publicUrl: string | null): boolean {
  return request.protocol === "https" || publicUrl?.startsWith("https:") === true;
}

/** null: the caller is unknown. */
export async function identify(
  request: FastifyRequest,
  { access, settings }: Pick<ApiParts, "access" | "settings">,
): Promise<Principal | null> {
  const { authorization } = request.headers;
  if (authorization !== undefined) {
    const [scheme = "", token = ""] = authorization.split(" ");
    if (scheme.toLowerCase() !== "bearer" || token.length > 200) return null;
    const key = await access.findKey(token);
    return key === null ? null : ofKey(key);
  }
  const cookie = request.cookies[cookieName(isSecure(request, settings.publicUrl))];
  if (cookie === undefined || cookie.length > 200) return null;
  const login = await access.findLogin(cookie);
  return login === null ? null : ofLogin(login, cookie);
}

export function ofKey(key: Key): Principal {
  const held = knownRoles(key.roles);
  return {
    tenant: key.tenant,
    kind: "key",
    id: key.id,
    actor: `key:${key.id}`,
    name: key.name,
    roles: held,
    userId: null,
    scopes: effectiveScopes(held, knownScopes(key.scopes)),
    expiresAt: key.expiresAt,
    keyExpiresAt: key.expiresAt,
    csrfToken: null,
  };
}

export function ofLogin(login: Login, cookie: string): Principal {
  const held = knownRoles(login.roles);
  const actor = login.userId === null ? `key:${login.keyId}` : `user:${login.userId}`;
  return {
    tenant: login.tenant,
    kind: "session",
    id: login.id,
    actor,
    name: login.name,
    roles: held,
    userId: login.userId,
    scopes: effectiveScopes(held, knownScopes(login.scopes)),
    expiresAt: login.expiresAt,
    keyExpiresAt: login.keyExpiresAt,
    csrfToken: csrfTokenOf(cookie),
  };
}

/** Can be computed by the holder of the cookie, but not by scripts of other pages. */
export function csrfTokenOf(cookie: string): string {
  return createHash("sha256").update(`csrf ${cookie}`).digest("base64url");
}

/** The roles may come from another version. Unknown roles give no rights. */
export function knownRoles(given: readonly string[]): Role[] {
  return roles.filter((role) => given.includes(role));
}

export function knownScopes(given: readonly string[] | null): Scope[] | null {
  return given === null ? null : scopes.filter((scope) => given.includes(scope));
}
