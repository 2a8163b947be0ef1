/** `/healthz` for load balancers and compose: answers by progress, not by being alive. */
import type { Server } from "node:http";

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Port 0: any free one. */
export async function serveHealth(port: number, health: () => { readonly ok: boolean }): Promise<HealthServer> {
  // Most commands serve nothing, and importing it costs 70 ms.
  const { createServer } = await import("node:http");
  const server: Server = createServer((request, response) => {
    const known = request.url === "/healthz";
    const answer = known ? health() : { ok: false, error: "not found" };
    response.writeHead(known ? (answer.ok ? 200 : 503) : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
