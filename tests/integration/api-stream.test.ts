// A client whose connection is cut again and again sees every event once and in order. The cuts are made by a proxy between them.
import { connect, createServer, type Server, type Socket } from "node:net";
import { createClient } from "@markmill/contract";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApi, type TestApi } from "../support/api.ts";
import { type Mill, startMill, workflow } from "../support/mill.ts";

let mill: Mill;
let api: TestApi;
beforeAll(async () => {
  mill = await startMill({ backend: "postgres", script: "default: { reply: ok }\n" });
  api = await startApi(mill);
});
afterAll(async () => {
  await api?.close();
  await mill?.close();
});

/** Passes bytes on, and cuts the connection after so many of them. */
async function cuttingProxy(port: number, cuts: { left: number }): Promise<{ server: Server; port: number }> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    sockets.add(client);
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on("error", end).on("close", end);
    client.pipe(upstream);
    let passed = 0;
    const limit = cuts.left > 0 ? 1_200 + Math.floor(Math.random() * 900) : Number.POSITIVE_INFINITY;
    upstream.on("data", (bytes: Buffer) => {
      // In the middle of an event, mostly.
      const rest = limit - passed;
      passed += bytes.length;
      client.write(bytes.length > rest ? bytes.subarray(0, Math.max(0, rest)) : bytes);
      if (passed > limit) {
        cuts.left -= 1;
        end();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return { server, port: typeof address === "object" && address !== null ? address.port : 0 };
}

it("sees every event once and in order, however often it is cut", async () => {
  const steps = 60;
  const nodes = Array.from({ length: steps }, (_, index) => `SET_${index}["SET: V${index} = ${index}"]`);
  const files = { "long.wf.md": workflow(`  START --> ${nodes.join(" --> ")} --> SUCCESS`) };
  const owner = await api.client("owner");
  const { hash } = await owner.saveDefinition({ body: { root: "long.wf.md", files } });
  const cuts = { left: 20 };
  const proxy = await cuttingProxy(Number(new URL(api.url).port), cuts);
  try {
    const { id } = await owner.startRun({ body: { definition: hash } });
    const client = createClient({ url: `http://127.0.0.1:${proxy.port}`, token: await api.key(["reader"]) });
    const seen: number[] = [];
    const follow = client.follow(id);
    for (;;) {
      const { value, done } = await follow.next();
      if (done === true) break;
      seen.push(value.seq);
    }
    const { rev, status } = await owner.getRun({ params: { id } });
    expect(status).toBe("success");
    expect(seen).toEqual(Array.from({ length: rev }, (_, index) => index + 1));
    expect(cuts.left).toBeLessThanOrEqual(0);
    // A browser that asks again after the end is told to stop.
    const again = await fetch(`${api.url}/v1/runs/${id}/stream`, {
      headers: { authorization: `Bearer ${await api.key(["reader"])}`, "last-event-id": String(rev) },
    });
    expect(again.status).toBe(204);
  } finally {
    proxy.server.close();
  }
});

it("long polling waits for news, and no longer than it was asked to", async () => {
  const owner = await api.client("owner");
  const files = { "ask.wf.md": workflow('  START --> ASK_A["ASK: well?"] --> SUCCESS') };
  const { hash } = await owner.saveDefinition({ body: { root: "ask.wf.md", files } });
  const { id } = await owner.startRun({ body: { definition: hash } });
  const first = await owner.listEvents({ params: { id } });
  const begun = performance.now();
  const none = await owner.listEvents({ params: { id }, query: { after: first.last, waitMs: 400 } });
  expect(none.items).toEqual([]);
  expect(performance.now() - begun).toBeGreaterThan(300);
  const waiting = owner.listEvents({ params: { id }, query: { after: first.last, waitMs: 20_000 } });
  await owner.cancelRun({ params: { id } });
  expect((await waiting).items.map(({ type }) => type)).toContain("run.cancelled");
});
