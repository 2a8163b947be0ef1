/**
 * Decides whether a caller may use a route.
 *
 * P1  The contract's table states for each route who may use it: every client, every known caller, or callers with a scope.
 * P2  Browsers send a cookie with requests from any page. Therefore a change with a cookie also needs our own page's origin, or the
 *     session's token, which no other page can read. A foreign origin is refused even with the token.
 */
import { timingSafeEqual } from "node:crypto";
import type { Route } from "@markmill/contract";
import type { FastifyRequest } from "fastify";
import type { Principal } from "./principal.ts";
import { Refusal } from "./refusal.ts";

const safeMethods = new Set(["GET", "HEAD", "OPTIONS"]);

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
      hint: "Send the header Authorization: Bearer KEY. `markmill up` prints the first key. An owner creates more keys with POST /v1/keys.",
    });
  }
  if (access !== "anybody" && !principal.scopes.has(access)) {
    throw new Refusal("FORBIDDEN", {
      detail: `This request needs the scope ${access}.`,
      hint: `Your roles are ${principal.roles.join(", ")}. Ask an owner for a key with this scope.`,
    });
  }
  if (principal.kind === "session" && !safeMethods.has(request.method)) checkOrigin(request, principal, publicUrl);
}

function checkOrigin(request: FastifyRequest, { csrfToken }: Principal, publicUrl: string | null): void {
  const { origin } = request.headers;
  const own = publicUrl === null ? `${request.protocol}://${request.host}` : new URL(publicUrl).origin;
  if (origin !== undefined && origin !== own)
    throw new Refusal("CSRF", { detail: "The request comes from another website." });
  if (origin === own) return;
  const token = request.headers["x-csrf-token"];
  if (typeof token === "string" && csrfToken !== null && same(token, csrfToken)) return;
  throw new Refusal("CSRF", { hint: "Send the csrfToken of GET /v1/session as X-CSRF-Token." });
}

function same(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
