/** Serves `/health/live` and `/health/ready` on a separate port, for load balancers, compose and Kubernetes (health.ts explains them). */
import type { Server } from "node:http";
import { type HealthAnswer, liveAnswer } from "./health.ts";

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Port 0: any free port. */
export async function serveHealth(port: number, ready: () => Promise<HealthAnswer>): Promise<HealthServer> {
  // Imported on use: most commands serve nothing, and the import takes 70 ms.
  const { createServer } = await import("node:http");
  const answers: Readonly<Record<string, () => Promise<HealthAnswer>>> = {
    "/health/live": async () => liveAnswer,
    "/health/ready": ready,
  };
  const server: Server = createServer(async ({ method, url = "" }, response) => {
    const path = url.split("?")[0] ?? "";
    const ask = Object.hasOwn(answers, path) ? answers[path] : undefined;
    const send = (status: number, body: object, headers: Readonly<Record<string, string>> = {}) => {
      const text = JSON.stringify(body);
      const length = String(Buffer.byteLength(text));
      const common = { "content-type": "application/json", "content-length": length, "cache-control": "no-store" };
      response.writeHead(status, { ...common, ...headers });
      response.end(method === "HEAD" ? undefined : text);
    };
    if (ask === undefined) return send(404, { ok: false, error: "GET /health/live or /health/ready" });
    if (method !== "GET" && method !== "HEAD")
      return send(405, { ok: false, error: "GET or HEAD" }, { allow: "GET, HEAD" });
    const answer = await ask();
    send(answer.ok ? 200 : 503, answer);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        // A load balancer keeps its connection open for its next request.
        server.closeAllConnections();
      }),
  };
}
