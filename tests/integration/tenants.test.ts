import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { classOf, endWithGrade, gradeWith, memberOf } from "../support/class.ts";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import {
  admitWorks,
  beginToolCall,
  endToolCall,
  insertPassages,
  openStore,
  pauseRate,
  type Store,
  saveCall,
  startCall,
  type TenantStore,
  takeRate,
} from "../support/store.ts";
import { chain, claimed, definition, oneAsk, oneCall, onePrompt, only, perform, succeeded } from "./store-programs.ts";

let database: TestDatabase;
let store: Store;
let ours: TenantStore;
let theirs: TenantStore;
/** Ids of things of the first tenant. */
let known: Awaited<ReturnType<typeof fill>>;

beforeAll(async () => {
  database = await freshDatabase();
  store = await openStore({ url: database.url });
  await store.access.createTenant("ours", "Ours");
  await store.access.createTenant("theirs", "Theirs");
  [ours, theirs] = [store.as("ours"), store.as("theirs")];
  known = await fill(ours);
});
afterAll(async () => {
  await store?.close();
  await database?.drop();
});

/** Creates one of everything that a tenant can have. */
async function fill(tenant: TenantStore) {
  const { hash: blob } = await tenant.blobs.save(Buffer.from("what was handed in"));
  await tenant.budgets.open("class", { nanodollars: 1_000, tokens: null });
  const flow = { ...definition({ main: onePrompt }), files: { "main.md": "secret source" } };
  const labels = { class: "7b" };
  const done = await tenant.runs.create({
    definition: flow,
    labels,
    budgets: ["class"],
    submission: { blob },
    idempotencyKey: "key-1",
    caps: { nanodollars: 5_000 },
  });
  const prompt = await claimed(store, only(done.jobs));
  await saveCall(
    store.database,
    { id: done.runId, rootId: done.runId, tenant: tenant.tenant },
    {
      key: { activityId: prompt.activity.id, callIndex: 0, requestHash: "h", claim: prompt.activity.claim },
      model: "m",
      request: null,
      reply: { text: "secret reply", usage: {} },
      usage: { promptTokens: 5, completionTokens: 7, characters: 12, nanodollars: 100 },
    },
  );
  const toolCall = {
    activityId: prompt.activity.id,
    callIndex: 0,
    requestHash: "",
    position: 0,
    attempt: 1,
    claim: prompt.activity.claim,
  };
  const asked = { name: "look_up", arguments: '{"word":"secret argument"}', safe: false, again: false };
  const run = { id: done.runId, rootId: done.runId, tenant: tenant.tenant };
  expect(await beginToolCall(store.database, run, toolCall, asked)).toEqual({ is: "begun" });
  await endToolCall(store.database, toolCall, { result: "secret result", ms: 3, note: "secret note" });
  const found = await beginToolCall(store.database, run, { ...toolCall, attempt: 2 }, asked);
  expect(found).toEqual({ is: "done", result: "secret result", note: "secret note" });
  const scope = { tenant: tenant.tenant, scope: "named:course", rootId: done.runId, embedder: "e" };
  const passage = { text: "secret passage", vector: new Uint8Array(8) };
  expect(await insertPassages(store.database, scope, prompt.activity, [passage])).toBe(true);
  const event = succeeded(store, prompt, { kind: "replied", text: "secret reply" });
  await store.commit({ run: prompt.run, source: prompt.activity, event });
  const asking = await tenant.runs.create({ definition: definition({ main: oneAsk }), labels });
  const [ask] = await tenant.asks.list();
  const calling = await tenant.runs.create({ definition: definition({ main: oneCall, callee: chain(2) }) });
  const call = await claimed(store, only(calling.jobs));
  await startCall(store, call.run, call.activity, null);
  const open = await tenant.runs.create({ definition: definition({ main: chain(3) }), variables: { NAME: "Ada" } });
  const at = { tenant: tenant.tenant, endpoint: "http://models.test/v1", model: "m" };
  await takeRate(store.database, at, { requestsPerMinute: 60, tokensPerMinute: null }, 1, "taker");
  await pauseRate(store.database, at, { wishMs: 60_000, reason: "429", prober: null, mostMs: 300_000 });
  const batch = await tenant.batches.save(await classOf(tenant, flow, 2));
  await admitWorks(store, { most: 10, enqueue: async () => undefined, onSkipped: () => undefined });
  const work = await tenant.batches.work(batch.id, memberOf(1).key);
  await endWithGrade(store, work?.try?.runId ?? "", gradeWith({ tests: 6, style: 4 }));
  await tenant.batches.record(batch.id, {
    work: memberOf(1).key,
    by: "ada",
    kind: "override",
    criterion: "style",
    points: 1,
    reason: "secret reason",
  });
  const [thread] = await tenant.runs.threads(done.runId);
  const [child] = await tenant.runs.children(calling.runId);
  return {
    flow,
    blob,
    batch: batch.id,
    run: done.runId,
    asking: asking.runId,
    calling: calling.runId,
    open: open.runId,
    child: child?.id ?? "",
    ask: ask?.activityId ?? 0,
    thread: thread?.id ?? "",
  };
}

/** All existing rows as text, without those of the other tenant. */
async function dump(): Promise<readonly string[]> {
  const { rows: tables } = await store.database.calm.query<{ name: string; tenanted: boolean; batched: boolean }>(
    `select t.table_name as name, coalesce(bool_or(c.column_name = 'tenant'), false) as tenanted,
       coalesce(bool_or(c.column_name = 'batch_id'), false) as batched
     from information_schema.tables t join information_schema.columns c using (table_schema, table_name)
     where t.table_schema = 'markmill' and t.table_type = 'BASE TABLE' group by 1 order by 1`,
  );
  const all: string[] = [];
  const ofTheirBatches = "select id from markmill.batches where tenant = 'theirs'";
  for (const { name, tenanted, batched } of tables) {
    const others = tenanted ? "x.tenant <> 'theirs'" : batched ? `x.batch_id not in (${ofTheirBatches})` : "true";
    const { rows } = await store.database.calm.query<{ line: string }>(
      `select x::text as line from markmill.${name} x where ${others} order by 1`,
    );
    all.push(...rows.map(({ line }) => `${name} ${line}`));
  }
  return all;
}

type Group = Exclude<keyof TenantStore, "tenant">;
type Methods = { [G in Group]: { [M in keyof TenantStore[G]]: () => Promise<unknown> } };

/** Every method, called by the other tenant with ids of the first. Beside it stands the answer for an id that does not exist. */
function foreign(tenant: TenantStore, ids: typeof known): Methods {
  const { definitions, runs, asks, blobs, budgets, usage, models, batches, memory } = tenant;
  const work = memberOf(1).key;
  const cap = { nanodollars: 1, tokens: 1 };
  return {
    definitions: {
      find: () => definitions.find(ids.flow.hash),
      source: () => definitions.source(ids.flow.hash),
      versions: () => definitions.versions(ids.flow.name),
      list: () => definitions.list(),
      // The other tenant stores the same content for itself. The first tenant's copy stays unchanged.
      save: async () => void (await definitions.save({ ...ids.flow, files: { "main.md": "mine" } })),
    },
    runs: {
      create: () => runs.create({ id: ids.run, definition: definition({ main: chain(1) }), caps: { nanodollars: 7 } }),
      get: () => runs.get(ids.run),
      list: async () => [
        await runs.list({ roots: false }, { after: `99999999999999999-${ids.run}` }),
        await runs.list({ search: ids.open }),
        await runs.list({ variables: { NAME: "Ada" } }),
        await runs.list({ labels: { class: "7b" } }),
        await runs.list({ definitionHash: ids.flow.hash }),
      ],
      children: () => runs.children(ids.calling),
      history: () => runs.history(ids.run),
      events: () => runs.events(ids.run),
      activities: () => runs.activities(ids.run),
      doing: () => runs.doing(ids.open),
      calls: () => runs.calls(ids.run),
      threads: () => runs.threads(ids.run),
      messages: () => runs.messages(ids.thread),
      activityPage: () => runs.activityPage(ids.run),
      toolCalls: () => runs.toolCalls(ids.run),
      callPage: () => runs.callPage(ids.run),
      toolCallPage: () => runs.toolCallPage(ids.run),
      messagePage: () => runs.messagePage(ids.run),
      variables: () => runs.variables(ids.open),
      hits: () => runs.hits(ids.run),
      waits: () => runs.waits([ids.run, ids.open]),
      replay: () => runs.replay(ids.run),
      submission: () => runs.submission(ids.run),
      spent: () => runs.spent(ids.run),
      charges: () => runs.charges(ids.run),
      cancel: () => runs.cancel(ids.open, "gone"),
      stop: () => runs.stop(ids.open),
      resume: () => runs.resume(ids.open),
      fork: () => runs.fork({ of: ids.run, from: ["say"] }),
      restart: () => runs.restart({ of: ids.run }),
      delete: () => runs.delete(ids.run),
    },
    asks: {
      list: () => asks.list(ids.asking),
      below: () => asks.below(ids.asking),
      find: () => asks.find(ids.ask),
      answer: () => asks.answer(ids.ask, "mine", "me"),
    },
    blobs: {
      find: () => blobs.find(ids.blob),
      load: () => blobs.load(ids.blob),
      stream: () => blobs.stream(ids.blob),
      save: async () => void (await blobs.save(Buffer.from("what was handed in, by others"))),
    },
    budgets: {
      get: () => budgets.get("class"),
      open: () => budgets.open("class", cap),
      setCap: () => budgets.setCap("class", cap),
    },
    usage: { by: () => usage.by({ kind: "run" }) },
    models: { pauses: () => models.pauses() },
    batches: {
      // The other tenant has its own under the same key. The first tenant's stays unchanged.
      save: async () =>
        void (await batches.save({ ...(await classOf(tenant, ids.flow, 1)), members: [], works: [], name: "mine" })),
      get: () => batches.get(ids.batch),
      summary: () => batches.summary(ids.batch),
      list: () => batches.list({ key: "class", state: ["paused"] }),
      works: () => batches.works(ids.batch),
      work: () => batches.work(ids.batch, work),
      tries: () => batches.tries(ids.batch, work),
      members: () => batches.members(ids.batch),
      pause: () => batches.pause(ids.batch, "mine"),
      resume: () => batches.resume(ids.batch),
      cancel: () => batches.cancel(ids.batch, "mine"),
      retry: () => batches.retry(ids.batch),
      regrade: () => batches.regrade(ids.batch, { keys: [work], definition: ids.flow }),
      record: () => batches.record(ids.batch, { work, by: "me", kind: "released" }),
      events: () => batches.events(ids.batch),
      setRun: () => batches.setRun(ids.batch, {}),
      setBudget: () => batches.setBudget(ids.batch, cap),
      setConcurrency: () => batches.setConcurrency(ids.batch, 3),
      delete: () => batches.delete(ids.batch),
    },
    memory: {
      scopes: () => memory.scopes(),
      passages: () => memory.passages("course"),
      delete: () => memory.delete("course"),
    },
  };
}

/** The answer, or the error's text without the requested id. */
async function told(act: () => Promise<unknown>): Promise<unknown> {
  try {
    return { answer: (await act()) ?? null };
  } catch (error) {
    const { code } = error as { readonly code?: string };
    return { code };
  }
}

/** The methods come from the object itself, so that a new one cannot be forgotten. */
function methodsOf(tenant: TenantStore): readonly string[] {
  return Object.entries(tenant).flatMap(([group, methods]) =>
    typeof methods === "string" ? [] : Object.keys(methods).map((method) => `${group}.${method}`),
  );
}

describe("another tenant in the store", () => {
  const nothing = {
    batch: "00000000-0000-7000-8000-000000000006",
    run: "00000000-0000-7000-8000-000000000001",
    asking: "00000000-0000-7000-8000-000000000002",
    calling: "00000000-0000-7000-8000-000000000003",
    open: "00000000-0000-7000-8000-000000000004",
    child: "00000000-0000-7000-8000-000000000005",
    ask: 987_654_321,
    thread: "no such thread",
    blob: "0".repeat(64),
  };

  it("reads and changes nothing, by any method, and gets the same answer as for missing ids", async () => {
    const all = methodsOf(theirs);
    const cases = foreign(theirs, known);
    expect(
      Object.entries(cases)
        .flatMap(([group, one]) => Object.keys(one).map((m) => `${group}.${m}`))
        .sort(),
    ).toEqual([...all].sort());
    const absent = foreign(theirs, {
      ...known,
      ...nothing,
      flow: { ...known.flow, hash: "no such hash", name: "no such" },
    });
    const before = await dump();
    for (const [group, methods] of Object.entries(cases)) {
      for (const [method, act] of Object.entries(methods)) {
        const answer = await told(act);
        const text = JSON.stringify(answer);
        expect.soft(text, `${group}.${method}`).not.toMatch(/secret|Secretia|Ada|handed in/);
        for (const id of [known.batch, known.run, known.open, known.child, known.thread]) {
          expect.soft(text.includes(id), `${group}.${method} tells ${id}`).toBe(false);
        }
        expect.soft(await dump(), `after ${group}.${method}`).toEqual(before);
        // A used id cannot be given again. In everything else it looks free.
        if (`${group}.${method}` === "runs.create") expect(answer).toEqual({ code: "STORE_ID_TAKEN" });
        else {
          const other = (absent as Record<string, Record<string, () => Promise<unknown>>>)[group]?.[method];
          if (other !== undefined && method !== "save")
            expect.soft(answer, `${group}.${method}`).toEqual(await told(other));
        }
      }
    }
    expect((await ours.memory.scopes()).items).toMatchObject([{ name: "course", passages: 1 }]);
    expect(await ours.definitions.source(known.flow.hash)).toEqual({ "main.md": "secret source" });
    expect(await ours.budgets.get("class")).toMatchObject({ cap: { nanodollars: 1_000, tokens: null } });
  });

  it("has its own keys, budgets, rates and files under the same names", async () => {
    const request = { definition: definition({ main: chain(1) }), idempotencyKey: "key-1" };
    const first = await theirs.runs.create(request);
    expect(first).toMatchObject({ created: true });
    expect(first.runId).not.toBe(known.run);
    expect(await theirs.runs.create(request)).toMatchObject({ runId: first.runId, created: false });
    await expect(theirs.runs.create({ ...request, variables: { X: "other" } })).rejects.toMatchObject({
      code: "STORE_KEY_REUSED",
    });
    const slot = { tenant: "theirs", endpoint: "http://models.test/v1", model: "m" };
    const rate = { requestsPerMinute: 60, tokensPerMinute: null };
    expect(await takeRate(store.database, slot, rate, 1, "mine")).toMatchObject({ kind: "granted" });
    expect(await ours.models.pauses()).toHaveLength(1);
    await expect(
      theirs.runs.create({ definition: request.definition, submission: { blob: known.blob } }),
    ).rejects.toMatchObject({ code: "STORE_NOT_FOUND" });
  });

  it("is never the tenant of a called run or a fork", async () => {
    expect(await ours.runs.get(known.child)).not.toBeNull();
    const { runId } = await ours.runs.fork({ of: known.run, from: ["say"] });
    expect(await ours.runs.get(runId)).not.toBeNull();
    const { rows } = await store.database.calm.query<{ tenant: string }>("select tenant from runs where id = any($1)", [
      [runId, known.child],
    ]);
    expect(rows).toEqual([{ tenant: "ours" }, { tenant: "ours" }]);
  });

  it("has an id that is safe in names", () => {
    for (const id of ["", "a/b", "../x", "a\nb", ".", "x".repeat(64)]) expect(() => store.as(id)).toThrow(/tenant/);
  });
});

it("usage is reported by run, definition, model, label and day", async () => {
  const spent = { calls: 1, promptTokens: 5, completionTokens: 7, nanodollars: 100, runs: 1 };
  const today = new Date().toISOString().slice(0, 10);
  expect(await ours.usage.by({ kind: "run" })).toMatchObject([{ key: known.run, ...spent }]);
  expect(await ours.usage.by({ kind: "definition" })).toMatchObject([{ key: known.flow.hash, ...spent }]);
  expect(await ours.usage.by({ kind: "model" })).toMatchObject([{ key: "m", ...spent }]);
  expect(await ours.usage.by({ kind: "label", name: "class" })).toMatchObject([{ key: "7b", ...spent }]);
  expect(await ours.usage.by({ kind: "day" })).toMatchObject([{ key: today, ...spent }]);
  expect(await ours.usage.by({ kind: "day" }, { labels: { class: "8a" } })).toEqual([]);
});

it("events are read in order without gaps, and a reader waits for new ones", async () => {
  const { runId, jobs } = await ours.runs.create({ definition: definition({ main: chain(3) }) });
  const first = await ours.runs.events(runId, { limit: 1 });
  expect(first).toMatchObject({ last: 1, rev: 1, ended: false });
  const waiting = ours.runs.events(runId, { after: 1, waitMs: 20_000 });
  let next = (await perform(store, only(jobs))).jobs;
  expect((await waiting)?.entries.map(({ seq }) => seq)).toEqual([2]);
  while (next.length > 0) next = (await perform(store, only(next))).jobs;
  const rest = await ours.runs.events(runId, { after: 2 });
  expect(rest).toMatchObject({ last: 4, rev: 4, ended: true, status: "success" });
  expect(await ours.runs.events(runId, { after: 4, waitMs: 20_000 })).toMatchObject({ entries: [], ended: true });
  await expect(ours.runs.delete(known.open)).rejects.toMatchObject({ code: "STORE_RUN_OPEN" });
  expect(await ours.runs.delete(runId)).toBe(true);
  expect(await ours.runs.delete(runId)).toBe(false);
  expect(await ours.runs.get(runId)).toBeNull();
});
