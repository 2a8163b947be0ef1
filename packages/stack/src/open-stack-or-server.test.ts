import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Config } from "@markmill/config";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openStackOrServer } from "./open-stack-or-server.ts";

/** A server of an older version: its /health/ready has no components. The key has no operator rights. */
const server = createServer((request, response) => {
  const ready = request.url === "/health/ready";
  const forbidden = { type: "about:blank", title: "Forbidden", status: 403, code: "FORBIDDEN" };
  response.writeHead(ready ? 200 : 403, { "content-type": "application/json", connection: "close" });
  response.end(JSON.stringify(ready ? { ok: true, checks: { database: "ok" } } : forbidden));
});
beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => void server.close());

it("a server whose readiness lists no components is treated as able to work", async () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const config = { server: { url, token: "mm_x" } } as Config;
  const { store } = await openStackOrServer({ config, cwd: "/" });
  expect(await store.commandStandings()).toEqual([{ can: "execute" }]);
  expect(await store.workers()).toHaveLength(1);
});
