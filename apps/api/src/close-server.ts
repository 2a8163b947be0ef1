/**
 * Ends a server: nothing new is taken, what is under way is answered, and then the connections are closed. A client that does not take
 * its answer, or does not finish its request, is waited for so long and no longer.
 */
import type { Server } from "node:http";
import type { FastifyInstance } from "fastify";

const patienceMs = 15_000;
const lookMs = 50;

/** How many requests are under way. A connection that has asked for nothing has none. */
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
