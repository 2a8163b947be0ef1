// A client that waits for a batch or a question is notified, and does not need to poll.
import { afterAll, beforeAll, expect, it } from "vitest";
import { readEventStream } from "../../packages/contract/src/read-event-stream.ts";
import { startApi, type TestApi } from "../support/api.ts";
import { memberOf } from "../support/class.ts";
import { gradableClass, gradingScript } from "../support/graded-class.ts";
import { definitionOf, type Mill, startMill, workflow } from "../support/mill.ts";
import { until } from "../support/until.ts";

let mill: Mill;
let api: TestApi;
let headers: Record<string, string>;
beforeAll(async () => {
  mill = await startMill({ backend: "postgres", script: gradingScript() });
  api = await startApi(mill);
  headers = { authorization: `Bearer ${await api.key(["owner"])}` };
});
afterAll(async () => {
  await api?.close();
  await mill?.close();
});

async function stream(path: string, more: Record<string, string> = {}): Promise<Response> {
  return await fetch(`${api.url}${path}`, { headers: { ...headers, ...more } });
}

async function* eventsOf(response: Response) {
  if (response.body === null) throw new Error("The stream has no body.");
  for await (const { event, data, id } of readEventStream(response.body)) yield { event, id, data: JSON.parse(data) };
}

it("a batch that ends records its end, and its event stream ends", async () => {
  const store = mill.store.as("default");
  const owner = await api.client("owner");
  const { id } = await store.batches.save(await gradableClass(store, 3));
  const events = [];
  for await (const one of eventsOf(await stream(`/v1/batches/${id}/stream`))) events.push(one);
  expect(events.length).toBeGreaterThan(1);
  expect(new Set(events.slice(0, -1).map(({ event }) => event))).toEqual(new Set(["message"]));
  expect(events.at(-1)).toMatchObject({
    event: "end",
    id: "end",
    data: { id, state: { is: "ended" }, counts: { succeeded: 3, waiting: 0, running: 0 } },
  });
  const batch = await owner.getBatch({ params: { id } });
  expect(batch).toMatchObject({ state: { is: "ended" }, endedAt: expect.any(String) });
  const runs = await mill.store.database.calm.query("select max(ended_at) as last from runs");
  expect(new Date(batch.endedAt ?? 0).getTime()).toBe((runs.rows[0] as { last: Date }).last.getTime());
  expect((await owner.listBatches({ query: { state: ["ended"] } })).items.map((one) => one.id)).toContain(id);
  expect((await owner.listBatches({ query: { state: ["open"] } })).items.map((one) => one.id)).not.toContain(id);
  expect((await stream(`/v1/batches/${id}/stream`, { "last-event-id": "end" })).status).toBe(204);
  // A regrade opens the batch again.
  await owner.regradeWorks({ params: { id }, body: { keys: [memberOf(1).key] } });
  const again = await until(async () => {
    const found = await owner.getBatch({ params: { id } });
    return found.endedAt !== null && found.endedAt !== batch.endedAt ? found : undefined;
  });
  expect(again.state.is).toBe("ended");
});

it("a cancelled batch and its stream end with the last run, although submissions still wait", async () => {
  const store = mill.store.as("default");
  const owner = await api.client("owner");
  const definition = definitionOf({ "a.md": workflow('  START --> ASK_A["ASK: Go on?"] --> SUCCESS') });
  const asking = { ...(await gradableClass(store, 3)), key: "cancelled", definition, concurrency: 1 };
  const { id } = await store.batches.save(asking);
  await until(async () => (await owner.getBatch({ params: { id } })).counts.running === 1);
  const following = stream(`/v1/batches/${id}/stream`);
  await owner.cancelBatch({ params: { id }, body: { reason: "the wrong class" } });
  const events = [];
  for await (const one of eventsOf(await following)) events.push(one);
  const over = {
    state: { is: "cancelled" },
    endedAt: expect.any(String),
    counts: { running: 0, waiting: 2, failed: 1 },
  };
  expect(events.at(-1)).toMatchObject({ event: "end", data: over });
  expect(await owner.getBatch({ params: { id } })).toMatchObject(over);
});

it("the stream of a paused batch ends when its last submission has ended", async () => {
  const store = mill.store.as("default");
  const owner = await api.client("owner");
  const { id } = await store.batches.save({ ...(await gradableClass(store, 1)), key: "paused" });
  await until(async () => (await owner.getBatch({ params: { id } })).endedAt !== null);
  await owner.pauseBatch({ params: { id }, body: { reason: "lunch" } });
  const events = [];
  for await (const one of eventsOf(await stream(`/v1/batches/${id}/stream`))) events.push(one);
  expect(events.at(-1)).toMatchObject({ event: "end", data: { state: { is: "paused" }, endedAt: expect.any(String) } });
});

it("a batch without submissions has not ended", async () => {
  const store = mill.store.as("default");
  const { id } = await store.batches.save({ ...(await gradableClass(store, 1)), key: "empty", works: [] });
  expect(await (await api.client("owner")).getBatch({ params: { id } })).toMatchObject({
    state: { is: "open" },
    endedAt: null,
  });
});

it("the stream of a run reports its questions and those of the runs it called", async () => {
  const owner = await api.client("owner");
  const files = {
    "main.wf.md": workflow('  START --> CALL_A["CALL: asks.wf.md"] --> ASK_OWN["ASK: And now?"] --> SUCCESS'),
    "asks.wf.md": workflow('  START --> ASK_CALLED["ASK: What now?"] --> SUCCESS'),
  };
  const { hash } = await owner.saveDefinition({ body: { root: "main.wf.md", files } });
  const { id } = await owner.startRun({ body: { definition: hash } });
  const asked: { node: string; rootId: string }[] = [];
  for await (const { event, id: eventId, data } of eventsOf(await stream(`/v1/runs/${id}/stream`))) {
    if (event !== "ask") continue;
    asked.push(data);
    expect(data).toMatchObject({ rootId: id, text: expect.any(String), createdAt: expect.any(String) });
    // The event does not change Last-Event-ID, which counts events of the run.
    expect(eventId).not.toContain("ask");
    await owner.answerAsk({ params: { id: data.id }, body: { text: "Go on." } });
  }
  expect(asked.map(({ node }) => node)).toEqual(["ASK_CALLED", "ASK_OWN"]);
  const follow = owner.follow(id);
  const types: string[] = [];
  for (let one = await follow.next(); one.done !== true; one = await follow.next()) types.push(one.value.type);
  expect(types).toEqual(["run.started", "activity.succeeded", "activity.succeeded"]);
});

it("the stream of a called run reports the questions below it", async () => {
  const owner = await api.client("owner");
  const files = {
    "main.wf.md": workflow('  START --> CALL_A["CALL: middle.wf.md"] --> SUCCESS'),
    "middle.wf.md": workflow('  START --> CALL_B["CALL: asks.wf.md"] --> ASK_MIDDLE["ASK: And now?"] --> SUCCESS'),
    "asks.wf.md": workflow('  START --> ASK_DEEP["ASK: What now?"] --> SUCCESS'),
  };
  const { hash } = await owner.saveDefinition({ body: { root: "main.wf.md", files } });
  const { id } = await owner.startRun({ body: { definition: hash } });
  const middle = await until(async () => (await owner.listChildRuns({ params: { id } })).items[0]?.id);
  const asked: string[] = [];
  for await (const { event, data } of eventsOf(await stream(`/v1/runs/${middle}/stream`))) {
    if (event !== "ask") continue;
    asked.push(data.node);
    await owner.answerAsk({ params: { id: data.id }, body: { text: "Go on." } });
  }
  expect(asked).toEqual(["ASK_DEEP", "ASK_MIDDLE"]);
});
