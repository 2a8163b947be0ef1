/**
 * Detects whether a request failed because its client closed the connection.
 *
 * H1  It did if the connection closed before the body was complete, or if the error reports a closed connection.
 * H2  Any other failure is reported as usual, even if the client has disconnected: a disconnect must not hide a defect.
 */
import type { FastifyRequest } from "fastify";

/** The status that nginx uses. No client receives it; it appears in the audit log and in the metrics. */
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
