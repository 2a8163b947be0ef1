// Webhooks over real HTTP: signed, retried, logged, and limited to the addresses that tools may reach.
import { createHmac } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tellWebhooks } from "@markmill/worker/supervisor";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { webhookBodies } from "../../packages/contract/src/webhook-schemas.ts";
import { webhookSender } from "../../packages/stack/src/send-webhook.ts";
import { startApi, type TestApi } from "../support/api.ts";
import { memberOf } from "../support/class.ts";
import { gradableClass, gradingScript } from "../support/graded-class.ts";
import { type Mill, startMill, workflow } from "../support/mill.ts";
import { until } from "../support/until.ts";

interface Received {
  readonly id: string;
  readonly signed: boolean;
  readonly type: string;
  readonly data: Record<string, unknown>;
  readonly whole: unknown;
}

let mill: Mill;
let api: TestApi;
let server: Server;
let url: string;
let secret = "";
let answers: number[] = [];
const received: Received[] = [];
const loopback = webhookSender([{ network: "127.0.0.0", bits: 8, port: null }]);

beforeAll(async () => {
  mill = await startMill({ backend: "postgres", script: gradingScript() });
  api = await startApi(mill);
  server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const body = Buffer.concat(pieces).toString();
      const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": signature } = request.headers;
      const key = Buffer.from(secret.slice("whsec_".length), "base64");
      const wanted = `v1,${createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64")}`;
      const whole = JSON.parse(body) as Received;
      const { type, data } = whole;
      received.push({ id: String(id), signed: signature === wanted, type, data, whole });
      response.statusCode = answers.shift() ?? 204;
      response.end(response.statusCode === 204 ? undefined : "not now");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
});
afterAll(async () => {
  await loopback.close();
  await api?.close();
  await mill?.close();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(async () => {
  await mill.store.database.calm.query("delete from webhooks");
  received.length = 0;
  answers = [];
});

const look = () => tellWebhooks(mill.store.database, loopback.send, () => Date.now());
/** Makes deliveries that wait for their next attempt due now. */
const hurry = () => mill.store.database.calm.query("update webhook_deliveries set next_at = clock_timestamp()");

async function makeWebhook(events: readonly ("run.ended" | "batch.ended" | "ask.opened" | "grade.released")[]) {
  const owner = await api.client("owner");
  const made = await owner.createWebhook({ body: { url, events: [...events] } });
  ({ secret } = made);
  return { owner, id: made.id };
}

it("webhooks report ended runs and batches, opened questions and released grades, each once and signed", async () => {
  const { owner, id } = await makeWebhook(["run.ended", "batch.ended", "ask.opened", "grade.released"]);
  const files = { "a.wf.md": workflow('  START --> ASK_B["ASK: What now?"] --> SUCCESS') };
  const { hash } = await owner.saveDefinition({ body: { root: "a.wf.md", files } });
  const run = await owner.startRun({ body: { definition: hash } });
  const ask = await until(async () => (await owner.listAsks({ query: { run: run.id } })).items[0]);
  await look();
  await owner.answerAsk({ params: { id: ask.id }, body: { text: "Go on." } });
  await mill.ended(run.id);
  const store = mill.store.as("default");
  const batch = await store.batches.save(await gradableClass(store, 2));
  await until(async () => (await store.batches.get(batch.id))?.endedAt != null);
  const work = memberOf(1).key;
  await owner.recordGrade({ params: { id: batch.id }, body: { work, kind: "released" } });
  for (let turn = 0; turn < 4; turn += 1) await look();
  const types = received.map(({ type }) => type).sort();
  expect(types).toEqual(["ask.opened", "batch.ended", "grade.released", "run.ended", "run.ended", "run.ended"]);
  expect(received.every(({ signed }) => signed)).toBe(true);
  expect(new Set(received.map((one) => one.id)).size).toBe(6);
  // The payload conforms to the OpenAPI document and has no unknown field.
  for (const { type, whole } of received) {
    expect(webhookBodies[type as keyof typeof webhookBodies].parse(whole), type).toEqual(whole);
  }
  const of = (type: string) => received.find((one) => one.type === type)?.data;
  expect(of("ask.opened")).toMatchObject({ id: ask.id, runId: run.id, question: "What now?" });
  expect(of("batch.ended")).toMatchObject({ id: batch.id, counts: { succeeded: 2 } });
  expect(of("grade.released")).toMatchObject({ batchId: batch.id, work });
  expect(received.filter(({ type }) => type === "run.ended").map(({ data }) => data.id)).toContain(run.id);
  const { items } = await owner.listDeliveries({ params: { id } });
  expect(items).toHaveLength(6);
  for (const one of items) expect(one).toMatchObject({ state: "delivered", attempts: 1, status: 204 });
  const page = await owner.listDeliveries({ params: { id }, query: { limit: 4 } });
  const rest = await owner.listDeliveries({ params: { id }, query: { limit: 4, cursor: page.next ?? "" } });
  expect([...page.items, ...rest.items].map((one) => one.id)).toEqual(items.map((one) => one.id));
});

it("a webhook is sent again under the same id until it succeeds, and each response is logged", async () => {
  const { owner, id } = await makeWebhook(["run.ended"]);
  answers = [500, 302, 204];
  await owner.testWebhook({ params: { id } });
  await look();
  const [first] = (await owner.listDeliveries({ params: { id } })).items;
  expect(first).toMatchObject({ state: "waiting", attempts: 1, status: 500, answer: "not now" });
  await look();
  expect(received).toHaveLength(1);
  await hurry();
  await look();
  await hurry();
  await look();
  expect(received.map((one) => one.id)).toEqual(Array(3).fill(received[0]?.id));
  expect((await owner.listDeliveries({ params: { id } })).items).toMatchObject([{ state: "delivered", attempts: 3 }]);
});

it("a webhook is sent again under the same id after a crash before its result was stored, and status 410 ends it", async () => {
  const { owner, id } = await makeWebhook(["run.ended"]);
  const { id: delivery } = await owner.testWebhook({ params: { id } });
  // The process is killed after the answer and before the answer is stored.
  await expect(
    tellWebhooks(
      mill.store.database,
      async (request) => {
        await loopback.send(request);
        throw new Error("killed");
      },
      () => Date.now(),
    ),
  ).rejects.toThrow("killed");
  await look();
  expect(received.map((one) => one.id)).toEqual(Array(2).fill(received[0]?.id));
  answers = [410];
  await owner.retryDelivery({ params: { id: delivery } });
  await look();
  expect((await owner.listDeliveries({ params: { id } })).items).toMatchObject([{ state: "failed", status: 410 }]);
});

it("webhooks reach no address that tools may not reach", async () => {
  const { owner, id } = await makeWebhook(["run.ended"]);
  await owner.testWebhook({ params: { id } });
  const strict = webhookSender([]);
  await tellWebhooks(mill.store.database, strict.send, () => Date.now());
  await strict.close();
  expect(received).toEqual([]);
  expect((await owner.listDeliveries({ params: { id } })).items).toMatchObject([
    { state: "failed", attempts: 1, status: null, answer: expect.stringContaining("TOOL_ALLOW") },
  ]);
});

it("a disabled or deleted webhook gets nothing, and no webhook gets anything of another tenant", async () => {
  const { owner, id } = await makeWebhook(["run.ended"]);
  const stranger = await api.client("owner", "other");
  const theirs = await stranger.createWebhook({ body: { url, events: ["run.ended"] } });
  await owner.updateWebhook({ params: { id }, body: { enabled: false } });
  const files = { "a.wf.md": workflow('  START --> SET_A["SET: A = 1"] --> SUCCESS') };
  const { hash } = await owner.saveDefinition({ body: { root: "a.wf.md", files } });
  const run = await owner.startRun({ body: { definition: hash } });
  await mill.ended(run.id);
  await look();
  expect(received).toEqual([]);
  expect((await stranger.listDeliveries({ params: { id: theirs.id } })).items).toEqual([]);
  for (const refused of [
    () => stranger.listDeliveries({ params: { id } }),
    () => stranger.updateWebhook({ params: { id }, body: { enabled: true } }),
    () => stranger.testWebhook({ params: { id } }),
    () => stranger.deleteWebhook({ params: { id } }),
  ]) {
    await expect(refused()).rejects.toMatchObject({ code: "NOT_FOUND" });
  }
  expect(JSON.stringify(await owner.listWebhooks())).not.toContain("whsec_");
  await owner.deleteWebhook({ params: { id } });
  expect((await owner.listWebhooks()).items).toEqual([]);
});

it("a webhook that is enabled again gets nothing from the time in which it was disabled", async () => {
  const { owner, id } = await makeWebhook(["run.ended"]);
  const files = { "a.wf.md": workflow('  START --> SET_A["SET: A = 1"] --> SUCCESS') };
  const { hash } = await owner.saveDefinition({ body: { root: "a.wf.md", files } });
  const runToEnd = async () => {
    const run = await owner.startRun({ body: { definition: hash } });
    await mill.ended(run.id);
    return run.id;
  };
  await owner.updateWebhook({ params: { id }, body: { enabled: false } });
  await runToEnd();
  await owner.updateWebhook({ params: { id }, body: { enabled: true } });
  await look();
  const later = await runToEnd();
  await look();
  await look();
  expect(received.map(({ data }) => data.id)).toEqual([later]);
});

it("a webhook reports a run and a batch that are deleted as soon as they have ended", async () => {
  const { owner } = await makeWebhook(["run.ended", "batch.ended"]);
  const files = { "a.wf.md": workflow('  START --> SET_A["SET: A = 1"] --> SUCCESS') };
  const { hash } = await owner.saveDefinition({ body: { root: "a.wf.md", files } });
  const run = await owner.startRun({ body: { definition: hash } });
  await mill.ended(run.id);
  await owner.deleteRun({ params: { id: run.id } });
  const store = mill.store.as("default");
  const batch = await store.batches.save({ ...(await gradableClass(store, 1)), key: "soon deleted" });
  await until(async () => (await store.batches.get(batch.id))?.endedAt != null);
  await owner.deleteBatch({ params: { id: batch.id } });
  await look();
  await look();
  expect(received.map(({ type }) => type).sort()).toEqual(["batch.ended", "run.ended", "run.ended"]);
  expect(received.map(({ data }) => data.id)).toEqual(expect.arrayContaining([run.id, batch.id]));
});

it("webhooks are sent to other addresses while one address does not answer", async () => {
  const slow = await makeWebhook(["run.ended"]);
  const quick = await makeWebhook(["run.ended"]);
  const answer = Promise.withResolvers<void>();
  const sent: string[] = [];
  const waiting = { busy: new Set<string>(), patienceMs: 1 };
  const impatientLook = () =>
    tellWebhooks(
      mill.store.database,
      async ({ headers }) => {
        const to = String(headers["webhook-id"]).startsWith(slow.id) ? "slow" : "quick";
        sent.push(to);
        if (to === "slow") await answer.promise;
        return { is: "answered", status: 204, text: "" };
      },
      () => Date.now(),
      waiting,
    );
  await slow.owner.testWebhook({ params: { id: slow.id } });
  await impatientLook();
  await quick.owner.testWebhook({ params: { id: quick.id } });
  await impatientLook();
  await until(async () => waiting.busy.size === 1);
  await impatientLook();
  expect(sent).toEqual(["slow", "quick"]);
  answer.resolve();
  await until(async () => waiting.busy.size === 0);
  const { items } = await slow.owner.listDeliveries({ params: { id: slow.id } });
  expect(items).toMatchObject([{ state: "delivered", attempts: 1 }]);
});

it("a webhook uses the status as the answer of a server whose body never ends", async () => {
  const endless = createServer((_, response) => {
    response.writeHead(200);
    response.write("thank you");
  });
  await new Promise<void>((resolve) => endless.listen(0, "127.0.0.1", resolve));
  const { port } = endless.address() as AddressInfo;
  const to = { url: `http://127.0.0.1:${port}/`, headers: {}, body: "{}", timeoutMs: 300 };
  expect(await loopback.send(to)).toEqual({ is: "answered", status: 200, text: "thank you" });
  endless.closeAllConnections();
  await new Promise((resolve) => endless.close(resolve));
});
