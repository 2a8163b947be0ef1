// A class over HTTP: the results are those of a local store, and a caller without the scope to read students sees no name.
import { createClient } from "@markmill/contract";
import { afterAll, beforeAll, expect, it } from "vitest";
import { remoteStore } from "../../packages/stack/src/remote-store.ts";
import { startApi, type TestApi } from "../support/api.ts";
import { memberOf } from "../support/class.ts";
import { gradableClass, gradableWork, gradingFlow, gradingScript } from "../support/graded-class.ts";
import { type Mill, startMill } from "../support/mill.ts";
import type { NewBatch, TenantStore } from "../support/store.ts";
import { until } from "../support/until.ts";

let mill: Mill;
let api: TestApi;
let local: TenantStore;
let remote: TenantStore;
let batch: NewBatch;
let id: string;
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };

beforeAll(async () => {
  mill = await startMill({ backend: "postgres", script: gradingScript() });
  api = await startApi(mill, { environment: { SECRET_OF_THE_SERVER: "hidden" } });
  local = mill.store.as("default");
  remote = remoteStore(createClient({ url: api.url, token: await api.key(["owner"]) }), quiet as never);
  batch = await gradableClass(remote, 3);
  ({ id } = await remote.batches.save(batch));
  await until(async () => (await remote.batches.get(id))?.counts.succeeded === 3);
});
afterAll(async () => {
  await api?.close();
  await mill?.close();
});

it("a class is graded, and a remote store returns the same as a local store", async () => {
  expect(await remote.batches.save(batch)).toMatchObject({ id, created: false, added: 0, changed: 0 });
  const [here, there] = [await local.batches.get(id), await remote.batches.get(id)];
  const { settings, spent, ...same } = here ?? ({} as never);
  expect(there).toMatchObject({ ...same, spent: { calls: 3, nanodollars: spent.nanodollars } });
  const listed = await remote.batches.works(id);
  const known = await local.batches.works(id);
  expect(listed.works.map(({ spent: _, ...work }) => work)).toEqual(known.works.map(({ spent: _, ...work }) => work));
  expect(listed.works[0]).toMatchObject({ grade: { outcome: { is: "graded" }, total: 3 }, tries: 1 });
  const key = memberOf(1).key;
  expect(await remote.batches.work(id, key)).toMatchObject({ key, by: [key] });
  expect(await remote.batches.members(id)).toEqual(await local.batches.members(id));
  expect((await remote.batches.tries(id, key)).map(({ spent: _, ...one }) => one)).toEqual(
    (await local.batches.tries(id, key)).map(({ spent: _, ...one }) => one),
  );
  expect((await remote.batches.list({ key: "class" })).batches).toEqual(
    (await local.batches.list({ key: "class" })).batches,
  );
  expect(await remote.batches.list({ key: "no such" })).toEqual({ batches: [], next: null });
});

it("no model request contained the name of a student", () => {
  const texts = mill.requests().flatMap(({ messages }) => messages.map(({ content }) => content));
  expect(texts.length).toBeGreaterThan(2);
  for (const text of texts) expect(text).not.toMatch(/Secretia|Hiddenson|secretia/);
  expect(texts.join("\n")).toContain("Student-");
});

it("overrides, reviews and releases carry the name of the key, and the audit log names no student", async () => {
  const work = memberOf(2).key;
  await expect(
    remote.batches.record(id, { work, by: "x", kind: "override", criterion: "pure", points: 0 }),
  ).rejects.toMatchObject({ code: "GRADE_INVALID", status: 422 });
  const said = await remote.batches.record(id, {
    work,
    by: "somebody else",
    kind: "override",
    criterion: "pure",
    points: 0,
    reason: "of Secretia",
  });
  expect(said).toMatchObject({ by: "default owner", from: 1, to: 0 });
  await remote.batches.record(id, { work, by: "x", kind: "released" });
  expect(await remote.batches.work(id, work)).toMatchObject({
    grade: { total: 2, proposed: { total: 3 }, released: { total: 2 } },
  });
  expect(await remote.batches.events(id, work)).toEqual(await local.batches.events(id, work));
  const log = await (await api.client("owner")).listAudit({ query: { limit: 200 } });
  const entries = log.items.filter(({ action }) => /Batch|Grade|Works/.test(action));
  expect(entries.map(({ action }) => action)).toContain("recordGrade");
  expect(JSON.stringify(entries)).not.toMatch(/Secretia|s0002|A class/);
  expect(entries.find(({ action }) => action === "recordGrade")).toMatchObject({ target: id });
});

it("a grade request answers 428 without If-Match, 412 with an old one, and once per Idempotency-Key", async () => {
  const work = memberOf(3).key;
  const say = async (
    role: "owner" | "grader",
    points: number | null,
    headers: Record<string, string> = {},
    more = {},
  ) => {
    const response = await fetch(`${api.url}/v1/batches/${id}/grades`, {
      method: "POST",
      headers: { authorization: `Bearer ${await api.key([role])}`, "content-type": "application/json", ...headers },
      body: JSON.stringify({ work, kind: "override", criterion: "pure", points, reason: "so", ...more }),
    });
    return {
      status: response.status,
      etag: response.headers.get("etag") ?? "",
      body: (await response.json()) as never,
    };
  };
  const tag = async () => `"${(await remote.batches.work(id, work))?.etag}"`;
  const unmarked = await tag();
  const first = await say("owner", 0, { "idempotency-key": "once" });
  expect(first.status).toBe(201);
  expect(first.etag).toBe(await tag());
  expect(await say("owner", 0, { "idempotency-key": "once" })).toEqual(first);
  expect(await say("owner", 1, { "idempotency-key": "once" })).toMatchObject({
    status: 409,
    body: { code: "IDEMPOTENCY_KEY_REUSED" },
  });
  expect(await say("grader", 1)).toMatchObject({ status: 428, body: { code: "GRADE_UNSEEN" } });
  for (const old of [unmarked, `W/${first.etag}`, `"x", ${unmarked}`]) {
    expect(await say("grader", 1, { "if-match": old })).toMatchObject({ status: 412, body: { code: "GRADE_CHANGED" } });
  }
  expect(await say("grader", 1, { "if-match": "no quotes" })).toMatchObject({ status: 400, body: { code: "INVALID" } });
  const second = await say("grader", 1, { "if-match": `"x", ${first.etag}` });
  expect(second.status).toBe(201);
  expect((await remote.batches.events(id, work)).events).toHaveLength(2);
  // The owner's undo removes the owner's mark. The grader's mark stays.
  expect(await say("owner", null)).toMatchObject({
    status: 201,
    body: { takesBack: (first.body as { id: number }).id },
  });
  expect(await remote.batches.work(id, work)).toMatchObject({
    grade: { total: 3, overrides: [{ points: 1 }] },
    marks: [{ fate: { is: "taken back" } }, { fate: { is: "stands" } }],
  });
  const { id: other } = second.body as { id: number };
  expect(await say("owner", null, {}, { takesBack: other })).toMatchObject({ status: 428 });
  expect(await say("owner", null, { "if-match": await tag() }, { takesBack: other })).toMatchObject({ status: 201 });
  expect(await remote.batches.work(id, work)).toMatchObject({ grade: { total: 3, overrides: [] } });
});

it("a key without the scope to read students sees pseudonyms and pages by them", async () => {
  const reader = await api.client("reader");
  const first = await reader.listWorks({ params: { id }, query: { limit: 2 } });
  const rest = await reader.listWorks({ params: { id }, query: { limit: 2, cursor: first.next ?? "" } });
  const all = [...first.items, ...rest.items];
  expect(all).toHaveLength(3);
  expect(new Set(all.map(({ key }) => key)).size).toBe(3);
  expect(JSON.stringify([first, rest, await reader.getBatch({ params: { id } })])).not.toMatch(
    /Secretia|Hiddenson|s000/,
  );
  for (const ask of [
    () => reader.listMembers({ params: { id } }),
    () => reader.listGradeEvents({ params: { id } }),
    () => reader.listTries({ params: { id }, query: { work: memberOf(1).key } }),
    () => reader.listWorks({ params: { id }, query: { key: [memberOf(1).key] } }),
  ]) {
    await expect(ask()).rejects.toMatchObject({ status: 403 });
  }
  const ops = createClient({ url: api.url, token: await api.key(["ops"]) });
  for (const ask of [
    () => ops.listBatches(),
    () => ops.listWorks({ params: { id } }),
    () => ops.getBatch({ params: { id } }),
  ]) {
    await expect(ask()).rejects.toMatchObject({ status: 403 });
  }
  expect(JSON.stringify(await (await api.client("owner")).getBatch({ params: { id } }))).not.toContain("SECRET_OF");
});

it("another tenant finds and changes nothing of a batch", async () => {
  const stranger = remoteStore(
    createClient({ url: api.url, token: await api.key(["owner"], "strangers") }),
    quiet as never,
  );
  expect(await stranger.batches.get(id)).toBeNull();
  expect(await stranger.batches.works(id)).toEqual({ works: [], next: null });
  expect(await stranger.batches.members(id)).toEqual({ members: [], next: null });
  for (const act of [
    () => stranger.batches.pause(id, "mine"),
    () => stranger.batches.resume(id),
    () => stranger.batches.cancel(id, "mine"),
    () => stranger.batches.retry(id),
    () => stranger.batches.regrade(id, { keys: [memberOf(1).key] }),
    () => stranger.batches.record(id, { work: memberOf(1).key, by: "x", kind: "released" }),
    () => stranger.batches.setConcurrency(id, 1),
    () => stranger.batches.setBudget(id, { nanodollars: 0, tokens: 0 }),
  ]) {
    await expect(act()).rejects.toMatchObject({ code: "NOT_FOUND" });
  }
  expect(await stranger.batches.delete(id)).toBe(false);
  expect((await remote.batches.get(id))?.state).toEqual({ is: "open" });
});

it("a changed rubric is refused with a list of the grades it voids, until the request confirms exactly that list", async () => {
  const strict = gradingFlow("Judge it", undefined, { pure: "No side effects at all" });
  const changed: NewBatch = {
    ...batch,
    definition: strict,
    rubric: strict.programs[strict.root]?.rubric as unknown as NewBatch["rubric"],
  };
  const refusal = async (request: NewBatch) =>
    await remote.batches.save(request).then(
      () => null,
      (error: { code: string; status: number; problem: { confirm?: string; errors?: unknown } }) => error,
    );
  const before = await remote.batches.get(id);
  const refused = await refusal(changed);
  expect(refused).toMatchObject({
    code: "RUBRIC_VOIDS",
    status: 409,
    problem: {
      confirm: expect.stringMatching(/^[0-9a-f]{64}$/),
      errors: [
        { path: "rubric.pure", message: "changed: voids the points of 3 students, 1 mark by people, 1 released grade" },
      ],
    },
  });
  expect(await remote.batches.get(id)).toEqual(before);
  expect(JSON.stringify(refused?.problem)).not.toMatch(/Secretia|Hiddenson|s000/);
  // A mark was added in between, so another confirmation is needed.
  const work = memberOf(1).key;
  await remote.batches.record(id, { work, by: "x", kind: "override", criterion: "pure", points: 0, reason: "so" });
  const seen = refused?.problem.confirm ?? "";
  const again = await refusal({ ...changed, confirmedVoids: seen });
  expect(again).toMatchObject({ code: "RUBRIC_VOIDS" });
  const saved = await remote.batches.save({ ...changed, confirmedVoids: again?.problem.confirm ?? "" });
  expect(saved).toMatchObject({ id, created: false });
  expect((await remote.batches.get(id))?.rubricHash).not.toBe(before?.rubricHash);
  // Criteria in another order void nothing, and need no confirmation.
  const swapped = { criteria: [...changed.rubric.criteria].reverse() };
  expect(await remote.batches.save({ ...changed, rubric: swapped })).toMatchObject({ id });
  const back = await refusal(batch);
  if (back !== null) await remote.batches.save({ ...batch, confirmedVoids: back.problem.confirm ?? "" });
  expect((await remote.batches.get(id))?.rubricHash).toBe(before?.rubricHash);
});

it("every submission without a paid reply takes a corrected model, and a model outside the catalogue is refused", async () => {
  const model = "gpt-5-mini";
  const misspelt = { ...batch.settings, run: { variables: { AI_MODEL_NAME: "gpt-5-mimi" } } };
  const wrong = { ...(await gradableClass(remote, 2, { key: "wrong start" })), settings: misspelt };
  const { id: begun } = await remote.batches.save(wrong);
  await until(async () => ((await remote.batches.get(begun))?.troubles.length ?? 0) > 0);
  await expect(remote.batches.setRun(begun, { variables: { AI_MODEL_NAME: "gpt-5-mimi" } })).rejects.toMatchObject({
    code: "BATCH_REFUSED",
  });
  expect(await remote.batches.setRun(begun, { variables: { AI_MODEL_NAME: model } })).toEqual({
    restarted: 2,
    kept: 0,
  });
  await until(async () => (await remote.batches.get(begun))?.counts.succeeded === 2);
  expect((await remote.batches.get(begun))?.settings.run.variables).toEqual({ AI_MODEL_NAME: model });
  expect(await remote.batches.setRun(begun, { variables: { AI_MODEL_NAME: model } })).toEqual({
    restarted: 0,
    kept: 0,
  });
  await remote.batches.delete(begun);
});

it("a batch is paused, changed, resumed, regraded with another definition, cancelled and deleted", async () => {
  await remote.batches.pause(id, "look first");
  const changed = { ...batch, works: [await gradableWork(remote, 1, "better")] };
  expect(await remote.batches.save(changed)).toMatchObject({ changed: 1 });
  expect(await remote.batches.get(id)).toMatchObject({
    state: { is: "paused", by: "person", reason: "look first" },
    counts: { waiting: 1, succeeded: 2 },
  });
  await remote.batches.resume(id);
  await until(async () => (await remote.batches.get(id))?.counts.succeeded === 3);
  expect(await remote.batches.retry(id)).toEqual({ works: [] });
  const other = gradingFlow("Judge it otherwise");
  expect(await remote.batches.regrade(id, { keys: [memberOf(3).key], definition: other })).toEqual({
    works: [memberOf(3).key],
  });
  await until(async () => (await remote.batches.get(id))?.counts.succeeded === 3);
  expect((await remote.batches.tries(id, memberOf(3).key)).map((one) => one.why)).toEqual(["first", "regrade"]);
  await remote.batches.setConcurrency(id, 3);
  await remote.batches.setBudget(id, { nanodollars: 5_000_000_000, tokens: null });
  expect(await remote.batches.get(id)).toMatchObject({
    concurrency: 3,
    budget: { cap: { nanodollars: 5_000_000_000 } },
  });
  expect(await remote.batches.cancel(id, "over")).toBe(0);
  expect(await remote.batches.delete(id)).toBe(true);
  expect(await remote.batches.get(id)).toBeNull();
});

it("a batch that refers to missing things is refused", async () => {
  const [work] = batch.works;
  const lost = { ...work, content: { ...work?.content, hash: "0".repeat(64) } } as never;
  await expect(remote.batches.save({ ...batch, key: "x", works: [lost] })).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(
    remote.batches.save({ ...batch, key: "x", works: [{ ...work, by: ["nobody"] } as never] }),
  ).rejects.toMatchObject({ code: "BATCH_REFUSED" });
  const owner = await api.client("owner");
  const body = { key: "x", name: "x", late: null, aiConsent: "any" as const, language: null, members: [], works: [] };
  await expect(owner.saveBatch({ body: { ...body, definition: "0".repeat(64) } })).rejects.toMatchObject({
    code: "START_REFUSED",
  });
});

it("withdrawn submissions of a class of any size are reported over several requests", async () => {
  // Some keys have letters that bytes and JavaScript sort differently.
  const names = ["a-first", "k-gone", "m-in-the-middle", "\u{1f600}-last", "\ufffd-gone"];
  const works = names.map((key) => ({
    key,
    by: [key],
    group: null,
    attempt: 1,
    counts: true,
    label: key,
    sources: [key],
    submittedAt: null,
    lateness: { is: "on time" as const },
    content: { is: "empty" as const },
  }));
  const large = { ...batch, key: "large", name: "Large", members: names.map((key) => ({ key, name: key })), works };
  const saved = await remote.batches.save(large);
  const staying = names.filter((name) => !name.endsWith("gone"));
  const whole = [...Array.from({ length: 45_000 }, (_, index) => `${"bgmt"[index % 4]}-${index}`), ...staying];
  const kept = works.filter(({ key }) => staying.includes(key));
  expect(await remote.batches.save({ ...large, works: kept, whole })).toMatchObject({ id: saved.id, dropped: 2 });
  const listed = await local.batches.works(saved.id);
  expect(listed.works.flatMap(({ key, counts }) => (counts ? [key] : [])).sort()).toEqual([...staying].sort());
  await expect(
    local.batches.save({ ...large, works: [], whole: ["b"], span: { after: "c", upTo: null } }),
  ).rejects.toMatchObject({ code: "STORE_BATCH_REFUSED" });
  await local.batches.delete(saved.id);
});
