/**
 * Tells the log of a request that failed by our side. A defect (500) has its own line, because its request's id is needed to find it. Trouble
 * of a server that we need (503) meets every request alike: it is told at the pace of the process's trouble.
 */
import type { Problem } from "@markmill/contract";
import type { FastifyRequest } from "fastify";
import type { ApiParts } from "./parts.ts";
import { pathOf } from "./path-of.ts";

export function tellFailure(
  { tell }: Pick<ApiParts, "tell">,
  error: unknown,
  request: FastifyRequest,
  problem: Problem,
) {
  if (problem.status < 500) return;
  const about = { err: error, requestId: request.id, path: pathOf(request) };
  if (problem.status === 500) request.log.error(about, problem.title);
  else tell.error(about, problem.title);
}
