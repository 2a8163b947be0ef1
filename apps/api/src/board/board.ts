/**
 * The place of Bull Board: mounted below `boardPath` of the same server, behind the same login. A route that is none of the contract's is
 * for ops alone (create-api.ts, accessOf): ops:read to look, ops:write for all that is no GET, with the same protection of cookies.
 */
import type { FastifyInstance } from "fastify";
import type { ApiParts } from "../parts.ts";

/** @public */
export const boardPath = "/board";

/**
 * A page of its own, with scripts and styles of its own.
 * @public
 */
export const boardContentPolicy =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

export interface Board {
  mount(app: FastifyInstance, parts: ApiParts): Promise<void>;
}
