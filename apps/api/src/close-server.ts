/**
 * Closes a server: it accepts no new requests, answers the open ones, and then closes the connections. A client that does not read its
 * answer, or does not finish its request, gets a limited time.
 */
import type { Server } from "node:http";
import type { FastifyInstance } from "fastify";

const patienceMs = 15_000;
const lookMs = 50;

/** Counts the open requests. A connection without a request counts as none. */
export function countUnderWay(server: Server): () => number {
  let count = 0;
  server.on("request", (_request, response) => {
    count += 1;
    response.once("close", () => {
      count -= 1;
    });
  });
  return () => count;
}

export async function closeServer(app: FastifyInstance, underWay: () => number): Promise<void> {
  const { server } = app;
  const deadline = performance.now() + patienceMs;
  const sweep = setInterval(() => {
    if (server.listening) return;
    if (underWay() === 0 || performance.now() > deadline) server.closeAllConnections();
    else server.closeIdleConnections();
  }, lookMs);
  try {
    await app.close();
  } finally {
    clearInterval(sweep);
  }
}
