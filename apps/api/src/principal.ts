/**
 * Who asks, and whether they may.
 *
 * A1  A key or a cookie says who somebody is; what they may do is read with every request, so that what is revoked is revoked at once.
 * A2  A cookie is sent by browsers whoever made the page. What changes something therefore needs, with a cookie, our own page's origin or
 *     the session's token, which no other page can read; an origin that is not ours is refused even with the token.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { effectiveScopes, type Role, type Route, roles, type Scope, scopes } from "@markmill/contract";
import type { Key, Login } from "@markmill/store";
import type { FastifyRequest } from "fastify";
import type { ApiParts } from "./parts.ts";
import { Refusal } from "./refusal.ts";

export interface Principal {
  readonly tenant: string;
  readonly kind: "key" | "session";
  readonly id: string;
  /** For the audit log: key:ID or user:ID. */
  readonly actor: string;
  readonly name: string;
  readonly roles: readonly Role[];
  readonly scopes: ReadonlySet<Scope>;
  readonly expiresAt: Date | null;
  /** Of the key that this is, or that the session was opened with; null: never, or it is none. */
  readonly keyExpiresAt: Date | null;
  readonly csrfToken: string | null;
}

export const cookieName = "markmill_session";
const safeMethods = new Set(["GET", "HEAD", "OPTIONS"]);

/** null: nobody we know. */
export async function identify(
  request: FastifyRequest,
  { access }: Pick<ApiParts, "access">,
): Promise<Principal | null> {
  const { authorization } = request.headers;
  if (authorization !== undefined) {
    const [scheme = "", token = ""] = authorization.split(" ");
    if (scheme.toLowerCase() !== "bearer" || token.length > 200) return null;
    const key = await access.findKey(token);
    return key === null ? null : ofKey(key);
  }
  const cookie = request.cookies[cookieName];
  if (cookie === undefined || cookie.length > 200) return null;
  const login = await access.findLogin(cookie);
  return login === null ? null : ofLogin(login, cookie);
}

export function ofKey(key: Key): Principal {
  const held = knownRoles(key.roles);
  return {
    ...{ tenant: key.tenant, kind: "key", id: key.id, actor: `key:${key.id}`, name: key.name, roles: held },
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
    ...{ tenant: login.tenant, kind: "session", id: login.id, actor, name: login.name, roles: held },
    scopes: effectiveScopes(held, knownScopes(login.scopes)),
    expiresAt: login.expiresAt,
    keyExpiresAt: login.keyExpiresAt,
    csrfToken: csrfTokenOf(cookie),
  };
}

/** Known to whoever has the cookie, which scripts of other pages do not. */
export function csrfTokenOf(cookie: string): string {
  return createHash("sha256").update(`csrf ${cookie}`).digest("base64url");
}

/** Throws a Refusal. */
export function permit(
  request: FastifyRequest,
  access: Route["access"],
  principal: Principal | null,
  publicUrl: string | null,
): void {
  if (access === "public") return;
  if (principal === null) {
    throw new Refusal("UNAUTHENTICATED", {
      hint: "Send Authorization: Bearer KEY. `markmill up` prints the first key; an owner makes others with POST /v1/keys.",
    });
  }
  if (access !== "anybody" && !principal.scopes.has(access)) {
    throw new Refusal("FORBIDDEN", {
      detail: `This needs the scope ${access}.`,
      hint: `The roles here are ${principal.roles.join(", ")}; ask an owner for a key that has it.`,
    });
  }
  if (principal.kind === "session" && !safeMethods.has(request.method)) checkOrigin(request, principal, publicUrl);
}

function checkOrigin(request: FastifyRequest, { csrfToken }: Principal, publicUrl: string | null): void {
  const { origin } = request.headers;
  const own = publicUrl === null ? `${request.protocol}://${request.host}` : new URL(publicUrl).origin;
  if (origin !== undefined && origin !== own)
    throw new Refusal("CSRF", { detail: "The request comes from another page." });
  if (origin === own) return;
  const token = request.headers["x-csrf-token"];
  if (typeof token === "string" && csrfToken !== null && same(token, csrfToken)) return;
  throw new Refusal("CSRF", { hint: "Send the csrfToken of GET /v1/session as X-CSRF-Token." });
}

function same(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}

/** Written by another version, perhaps: what we do not know gives no right. */
export function knownRoles(given: readonly string[]): Role[] {
  return roles.filter((role) => given.includes(role));
}

export function knownScopes(given: readonly string[] | null): Scope[] | null {
  return given === null ? null : scopes.filter((scope) => given.includes(scope));
}
