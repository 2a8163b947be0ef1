/**
 * Logs a request that failed because of the server. A defect (500) has its own line, because its request id is needed to find it. Trouble
 * of a required server (503) affects every request, so its log lines are limited like other trouble of the process.
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
