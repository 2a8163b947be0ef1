/**
 * Writes refused changes to the audit log, with the status that the client received.
 *
 * N1  A change by a known caller that was refused before its handler began has an entry. Reasons are missing rights, a foreign page, a body
 *     that cannot be read or does not fit, or an id in a wrong form.
 * N2  An unknown caller (401) belongs to no tenant, so there is no log to write to. A caller over the rate limit (429) gets no entry,
 *     because writing entries would defeat the limit.
 * N3  No part of a refused body is written, because its content was not checked.
 *
 * The answer does not wait for the entry. kill -9 before it is written loses it; nothing was changed.
 */
import { type Route, type RouteName, routes } from "@markmill/contract";
import type { FastifyRequest } from "fastify";
import type { ApiParts } from "./parts.ts";

/** Whether the audit log records this route. Routes outside the contract are the board's. */
export function isAudited(name: RouteName): boolean {
  const { method, access }: Route = routes[name];
  return method !== "GET" && access !== "public" && name !== "validateDefinition";
}

/** Records a refused request to one of the contract's routes. */
export function noteRefusedRoute(parts: ApiParts, request: FastifyRequest, status: number): void {
  const name = request.routeOptions.config.contract;
  if (name === undefined || !isAudited(name)) return;
  const route: Route = routes[name];
  const params = route.params?.safeParse(request.params);
  noteRefused(parts, request, status, name, params?.success === true ? targetOf(params.data) : null);
}

/** The object that a request names in its path. */
export function targetOf(params: unknown): string | null {
  const values = Object.values((params ?? {}) as Record<string, unknown>);
  return values.length === 0 ? null : String(values[0]);
}

/** `action` and `target`: the values that the entry would have if the request were not refused. */
export function noteRefused(
  { access, tell }: ApiParts,
  request: FastifyRequest,
  status: number,
  action: string,
  target: string | null,
): void {
  const { principal } = request;
  if (principal === null || request.audited || status === 401 || status === 429) return;
  request.audited = true;
  const { tenant, actor, name: actorName } = principal;
  access.log
    .asked({
      tenant,
      actor,
      actorName,
      action,
      target,
      requestId: request.id,
      address: request.address,
      details: {},
    })
    .then((id) => access.log.done(id, status))
    .catch((error: unknown) => tell.warn({ err: error }, "the audit log"));
}
