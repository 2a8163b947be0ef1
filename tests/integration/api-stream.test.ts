// A client whose connection is cut many times receives every event once and in order. A proxy between client and server cuts it.
import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@markmill/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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

/** Forwards bytes, and cuts the connection after a number of bytes. */
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
      // Most cuts are in the middle of an event.
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

it("a client receives every event once and in order, however often its stream is cut", async () => {
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
    // A client that saw the last event may not have seen the end. A browser that asks again after the end is told to stop.
    const authorization = `Bearer ${await api.key(["reader"])}`;
    const ask = (seen: string) =>
      fetch(`${api.url}/v1/runs/${id}/stream`, { headers: { authorization, "last-event-id": seen } });
    expect(await (await ask(String(rev))).text()).toContain(`id: ${rev}-end\nevent: end\n`);
    expect((await ask(`${rev}-end`)).status).toBe(204);
    expect((await client.follow(id, { after: rev }).next()).value).toMatchObject({ status: "success", rev });
  } finally {
    proxy.server.close();
  }
});

it("a long poll waits for new events, and no longer than requested", async () => {
  const owner = await api.client("owner");
  const files = { "ask.wf.md": workflow('  START --> ASK_A["ASK: well?"] --> SUCCESS') };
  const { hash } = await owner.saveDefinition({ body: { root: "ask.wf.md", files } });
  const { id } = await owner.startRun({ body: { definition: hash } });
  const first = await owner.listEvents({ params: { id } });
  const none = await owner.listEvents({ params: { id }, query: { after: first.last, waitMs: 400 } });
  expect(none.items).toEqual([]);
  const waiting = owner.listEvents({ params: { id }, query: { after: first.last, waitMs: 20_000 } });
  await owner.cancelRun({ params: { id } });
  expect((await waiting).items.map(({ type }) => type)).toContain("run.cancelled");
});

describe("an event stream", () => {
  async function askingRun(): Promise<string> {
    const owner = await api.client("owner");
    const files = { "ask.wf.md": workflow('  START --> ASK_A["ASK: well?"] --> SUCCESS') };
    const { hash } = await owner.saveDefinition({ body: { root: "ask.wf.md", files } });
    return (await owner.startRun({ body: { definition: hash } })).id;
  }
  const json = { "content-type": "application/json" };

  it("ends when its caller loses access: by logout, removal, revocation or expiry", async () => {
    const id = await askingRun();
    const quick = await startApi(mill, { aliveMs: 300 });
    try {
      const owner = await quick.client("owner");
      const password = "correct horse battery";
      const cookieOf = async (body: object) => {
        const url = `${quick.url}/v1/session`;
        const response = await fetch(url, { method: "POST", headers: json, body: JSON.stringify(body) });
        return { cookie: (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "" };
      };
      const open = async (headers: Record<string, string>) => {
        const response = await fetch(`${quick.url}/v1/runs/${id}/stream`, { headers });
        expect(response.status).toBe(200);
        return response.text();
      };
      const made = (name: string) => owner.createUser({ body: { name, password, roles: ["reader"] } });
      const [leaving, shut] = [await made("leaving"), await made("shut")];
      const key = await owner.createKey({ body: { name: "stream", roles: ["reader"] } });
      const expiresAt = new Date(Date.now() + 1_500).toISOString();
      const short = await owner.createKey({ body: { name: "short", roles: ["reader"], expiresAt } });
      const over = open({ authorization: `Bearer ${short.secret}` });
      const out = await cookieOf({ name: leaving.name, password });
      const streams = [over, open(out), open(await cookieOf({ name: shut.name, password }))];
      streams.push(open({ authorization: `Bearer ${key.secret}` }));
      const stays = new AbortController();
      const kept = fetch(`${quick.url}/v1/runs/${id}/stream`, {
        headers: { authorization: `Bearer ${await quick.key(["reader"])}` },
        signal: stays.signal,
      }).then((response) => response.text());
      await sleep(700);
      await fetch(`${quick.url}/v1/session`, { method: "DELETE", headers: { ...out, origin: quick.url } });
      await owner.updateUser({ params: { id: shut.id }, body: { disabled: true } });
      await owner.revokeKey({ params: { id: key.id } });
      for (const text of await Promise.all(streams)) expect(text).not.toContain("event: end");
      expect(await Promise.race([kept, sleep(1_000, "open")])).toBe("open");
      stays.abort();
      await kept.catch(() => null);
    } finally {
      await quick.close();
    }
  });

  it("frees its slot when the client disconnects; a long poll uses a slot too", async () => {
    const id = await askingRun();
    const tight = await startApi(mill, { mostStreamsEach: 2 });
    try {
      const authorization = `Bearer ${await tight.key(["reader"])}`;
      // The client disconnects at once, usually before the response starts.
      for (let i = 0; i < 30; i += 1) {
        const going = new AbortController();
        const asked = fetch(`${tight.url}/v1/runs/${id}/stream`, { headers: { authorization }, signal: going.signal });
        setTimeout(() => going.abort(), i % 10);
        await asked.then((response) => response.text()).catch(() => null);
      }
      await sleep(300);
      const poll = (waitMs: number) =>
        fetch(`${tight.url}/v1/runs/${id}/events?after=1000&waitMs=${waitMs}`, { headers: { authorization } });
      const waiting = [poll(1_500), poll(1_500)];
      await sleep(500);
      expect((await poll(1_500)).status).toBe(429);
      expect((await poll(0)).status).toBe(200);
      expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200]);
      expect((await poll(1)).status).toBe(200);
    } finally {
      await tight.close();
    }
  });
});

it("a server that stops answers open requests and cuts no upload", async () => {
  const ending = await startApi(mill);
  const authorization = `Bearer ${await ending.key(["owner"])}`;
  // One connection sends no request, and one is kept alive after its request.
  const silent = connect(Number(new URL(ending.url).port), "127.0.0.1");
  await fetch(`${ending.url}/health/live`);
  let closed: Promise<void> | null = null;
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(new TextEncoder().encode("first "));
      await sleep(500);
      closed = ending.close();
      await sleep(700);
      controller.enqueue(new TextEncoder().encode("and last"));
      controller.close();
    },
  });
  const headers = { authorization, "content-type": "application/octet-stream" };
  const response = await fetch(`${ending.url}/v1/files`, {
    method: "POST",
    headers,
    body,
    duplex: "half",
  } as RequestInit);
  expect([response.status, await response.json()]).toMatchObject([201, { size: 14 }]);
  // The server closes it far earlier than its keep-alive time. Otherwise the test reaches its own time limit.
  await closed;
  silent.destroy();
});
