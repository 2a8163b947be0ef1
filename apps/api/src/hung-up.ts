/**
 * Whether a request failed because its client closed the connection.
 *
 * H1  It did if the body had not come whole when the connection closed, or if the failure says that the connection closed.
 * H2  Any other failure is told as usual, also when the client is gone: a defect must not hide behind a client that hung up.
 */
import type { FastifyRequest } from "fastify";

/** As nginx calls it. Nobody receives it: it stands in the audit log and in the figures. */
export const hungUpStatus = 499;

const closed: ReadonlySet<unknown> = new Set([
  "ECONNRESET",
  "EPIPE",
  "ABORT_ERR",
  "ERR_STREAM_PREMATURE_CLOSE",
  "ERR_STREAM_DESTROYED",
]);

export function hungUp(error: unknown, { raw }: FastifyRequest): boolean {
  if (!raw.socket.destroyed) return false;
  return !raw.complete || saysClosed(error);
}

function saysClosed(error: unknown, depth = 0): boolean {
  if (!(error instanceof Error) || depth > 5) return false;
  if (error.name === "AbortError" || closed.has((error as { readonly code?: unknown }).code)) return true;
  return saysClosed(error.cause, depth + 1);
}
