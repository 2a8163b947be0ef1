// A worker gathers the store requests of many prompts into few statements. Each call gets the answer that it would get alone.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { inContendedTransaction } from "../../packages/store/src/database/transaction.ts";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import {
  createReadConversation,
  findCall,
  getBudget,
  insertRuns,
  openBudget,
  openStore,
  type Store,
} from "../support/store.ts";

let database: TestDatabase;
let store: Store;
/** The statements that were sent, by their names. */
let sent: Map<string, number>;

beforeAll(async () => {
  database = await freshDatabase();
  store = await openStore({ url: database.url, worker: "one" });
  const { hot } = store.database;
  const query = hot.query.bind(hot) as (...given: unknown[]) => unknown;
  hot.query = ((...given: unknown[]) => {
    const { name = "" } = given[0] as { name?: string };
    sent.set(name, (sent.get(name) ?? 0) + 1);
    return query(...given);
  }) as typeof hot.query;
});
afterAll(async () => {
  await store?.close();
  await database?.drop();
});

let first = 0;
let class1 = "";
beforeEach(async () => {
  first += 1_000;
  class1 = `class-${first}`;
  await insertRuns(store.database, numbers(60).map(runOf));
  await store.database.calm.query(
    "insert into budgets (tenant, id, for_run) select t, id, true from unnest($1::text[]) as x(id), unnest($2::text[]) as y(t)",
    [numbers(60).map(runOf), ["default", "other"]],
  );
  sent = new Map();
});

const none = { nanodollars: null, tokens: null };
const want = { nanodollars: 10, tokens: 7 };
const nothingLeft = { nanodollars: 0, tokens: 0 };
const numbers = (count: number) => Array.from({ length: count }, (_, number) => number);
const callOf = (number: number) => ({ activityId: first + number, callIndex: 0, claim: 1 });
const runOf = (number: number) => `run-${first + number}`;
const reserving = (number: number, tenant = "default") => ({
  tenant,
  call: callOf(number),
  budgets: [runOf(number), class1],
  want,
  leave: nothingLeft,
  charge: {
    runId: runOf(number),
    rootId: runOf(number),
    model: "m",
    promptTokens: 4,
    completionTokens: 3,
    characters: 20,
  },
});
const paid = (number: number, more: { readonly text?: string; readonly nanodollars?: number } = {}) => ({
  run: { id: runOf(number), rootId: runOf(number), tenant: "default" },
  call: {
    key: { ...callOf(number), requestHash: "h" },
    model: "m",
    request: null,
    reply: { text: more.text ?? `reply ${number}` },
    usage: { promptTokens: 2, completionTokens: 1, characters: 9, nanodollars: more.nanodollars ?? 6 },
  },
});
const charges = async () => {
  const { rows } = await store.database.calm.query<{ state: string; n: number; nanodollars: number }>(
    `select state, count(*)::integer as n, sum(nanodollars)::integer as nanodollars from charges
     where activity_id between $1 and $1 + 999 group by 1 order by 1`,
    [first],
  );
  return rows;
};
const reservations = async () => {
  const { rows } = await store.database.calm.query<{ n: number }>(
    "select count(*)::integer as n from reservations where activity_id between $1 and $1 + 999",
    [first],
  );
  return rows[0]?.n;
};

describe("calls that reserve money in one statement", () => {
  it.each(["with a cap", "without a cap"])(
    "are reserved with few statements, each under its run and its class %s",
    async (how) => {
      await openBudget(store.database, class1, how === "with a cap" ? { nanodollars: 1_000, tokens: null } : none);
      for (const number of numbers(40)) await openBudget(store.database, runOf(number), none, "run");
      const answers = await Promise.all(numbers(40).map((number) => store.reserve(reserving(number))));
      expect(answers.every(({ kind }) => kind === "reserved")).toBe(true);
      expect(sent.get("reserve")).toBeLessThan(8);
      expect((await getBudget(store.database, class1))?.reserved).toEqual({ nanodollars: 400, tokens: 280 });
      expect((await getBudget(store.database, runOf(7)))?.reserved).toEqual(want);
      expect(await reservations()).toBe(80);
      expect(await charges()).toEqual([{ state: "open", n: 40, nanodollars: 400 }]);
    },
  );

  it("pass a limit only as far as it reaches, and each refused call learns which limit refused it", async () => {
    await openBudget(store.database, class1, { nanodollars: 105, tokens: null });
    const answers = await Promise.all(numbers(30).map((number) => store.reserve(reserving(number))));
    const refused = answers.filter(({ kind }) => kind === "refused");
    expect(refused).toHaveLength(20);
    expect(refused[0]).toMatchObject({ code: "LIMIT_COST", budget: { id: class1 } });
    expect((await getBudget(store.database, class1))?.reserved.nanodollars).toBe(100);
    expect(await charges()).toEqual([{ state: "open", n: 10, nanodollars: 100 }]);
  });

  it("leave the reserve for handlers, also if only all calls together would use it", async () => {
    await openBudget(store.database, class1, { nanodollars: 100, tokens: null }, "run");
    const leave = { nanodollars: 75, tokens: 0 };
    const careful = numbers(4).map((number) => store.reserve({ ...reserving(number), leave }));
    const answers = (await Promise.all(careful)).map(({ kind }) => kind);
    expect(answers.toSorted()).toEqual(["refused", "refused", "reserved", "reserved"]);
    // This call is of a handler, for which the rest was reserved.
    expect(await store.reserve(reserving(9))).toEqual({ kind: "reserved" });
  });

  it("do not book a reservation again that one of them already has", async () => {
    await openBudget(store.database, class1, none);
    await store.reserve(reserving(3));
    const answers = await Promise.all(numbers(10).map((number) => store.reserve(reserving(number))));
    expect(answers.every(({ kind }) => kind === "reserved")).toBe(true);
    expect((await getBudget(store.database, class1))?.reserved.nanodollars).toBe(100);
    expect(await charges()).toEqual([{ state: "open", n: 10, nanodollars: 100 }]);
  });

  it("use separate budgets for two tenants with the same budget ids", async () => {
    await openBudget(store.database, class1, { nanodollars: 30, tokens: null });
    await store.as("other").budgets.open(class1, { nanodollars: 30, tokens: null });
    const both = numbers(6).map((number) => store.reserve(reserving(number, number % 2 === 0 ? "default" : "other")));
    expect((await Promise.all(both)).every(({ kind }) => kind === "reserved")).toBe(true);
    expect((await getBudget(store.database, class1))?.reserved.nanodollars).toBe(30);
  });

  it("delay no other tenant if one tenant's budget is locked", async () => {
    await openBudget(store.database, class1, none);
    await store.as("other").budgets.open(class1, none);
    const changing = await store.database.calm.connect();
    await changing.query("begin");
    await changing.query("select 1 from markmill.budgets where tenant = 'default' and id = $1 for update", [class1]);
    let reserved = false;
    const held = store.reserve(reserving(1)).then(() => {
      reserved = true;
    });
    expect(await store.reserve(reserving(2, "other"))).toEqual({ kind: "reserved" });
    await store.saveCall({ ...paid(2), run: { ...paid(2).run, tenant: "other" } });
    expect(reserved).toBe(false);
    await changing.query("commit");
    changing.release();
    await held;
  });

  it("fail alone if one of them cannot be written", async () => {
    await openBudget(store.database, class1, none);
    const broken = { ...reserving(2), want: { nanodollars: 0.5, tokens: 1 } };
    const answers = await Promise.allSettled([
      store.reserve(reserving(1)),
      store.reserve(broken),
      store.reserve(reserving(3)),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect((await getBudget(store.database, class1))?.reserved.nanodollars).toBe(20);
  });
});

describe("replies that are stored in one statement", () => {
  it.each(["with a cap", "without a cap"])(
    "are stored and booked with few statements under a class %s",
    async (how) => {
      await openBudget(store.database, class1, how === "with a cap" ? { nanodollars: 1_000, tokens: null } : none);
      await Promise.all(numbers(40).map((number) => store.reserve(reserving(number))));
      await Promise.all(numbers(40).map((number) => store.saveCall(paid(number))));
      expect(sent.get("save-call")).toBeLessThan(8);
      for (const number of [0, 17, 39]) {
        const found = await findCall(store.database, { ...callOf(number), requestHash: "h" });
        expect(found).toMatchObject({ reply: { text: `reply ${number}` }, usage: { nanodollars: 6 } });
      }
      expect(await reservations()).toBe(0);
      expect(await getBudget(store.database, class1)).toMatchObject({
        spent: { nanodollars: 240, tokens: 120 },
        reserved: { nanodollars: 0, tokens: 0 },
      });
      expect(await charges()).toEqual([{ state: "paid", n: 40, nanodollars: 240 }]);
    },
  );

  it("leave an earlier stored reply unchanged, and book each call once", async () => {
    await openBudget(store.database, class1, none);
    await Promise.all(numbers(5).map((number) => store.reserve(reserving(number))));
    await store.saveCall(paid(2, { text: "the first" }));
    await Promise.all([...numbers(5), 2].map((number) => store.saveCall(paid(number))));
    const found = await findCall(store.database, { ...callOf(2), requestHash: "h" });
    expect(found?.reply).toEqual({ text: "the first" });
    expect((await getBudget(store.database, class1))?.spent).toEqual({ nanodollars: 30, tokens: 15 });
    expect(await charges()).toEqual([{ state: "paid", n: 5, nanodollars: 30 }]);
  });

  it("without a reservation are recorded in the account too", async () => {
    await Promise.all(numbers(3).map((number) => store.saveCall(paid(number))));
    expect(await charges()).toEqual([{ state: "paid", n: 3, nanodollars: 18 }]);
  });

  it("fail alone if one of them cannot be written", async () => {
    const all = [paid(1), paid(2, { nanodollars: 0.5 }), paid(3)];
    const answers = await Promise.allSettled(all.map((one) => store.saveCall(one)));
    expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(await charges()).toEqual([{ state: "paid", n: 2, nanodollars: 12 }]);
  });

  it("are stored without NUL and lone surrogates", async () => {
    await Promise.all([store.saveCall(paid(1, { text: "a\0b\ud800" })), store.saveCall(paid(2))]);
    const found = await findCall(store.database, { ...callOf(1), requestHash: "h" });
    expect(found?.reply).toEqual({ text: "a\ufffdb\ufffd" });
  });
});

describe("conversations that are read in one statement", () => {
  const say = (thread: string, text: string, seq = 1) =>
    store.database.calm.query(
      "insert into messages (thread, seq, position, role, text, run_id) values ($1, $3, 0, 'user', $2, $1)",
      [thread, text, seq],
    );
  const texts = async (read: (thread: string) => Promise<readonly { readonly text: string }[]>, thread: string) =>
    (await read(thread)).map(({ text }) => text);

  it("stay separate, in their own order, with few statements", async () => {
    const threads = numbers(20).map((number) => `thread-${first + number}`);
    for (const thread of threads) await say(thread, `${thread} one`);
    for (const thread of threads) await say(thread, `${thread} two`, 2);
    const read = createReadConversation(store.database, 1_000_000);
    const said = await Promise.all([...threads, "nobody's"].map((thread) => texts(read, thread)));
    expect(said).toEqual([...threads.map((thread) => [`${thread} one`, `${thread} two`]), []]);
    expect(sent.get("conversations")).toBeLessThan(5);
  });

  it("are read one by one if they are too long together, and only one that is too long alone is refused", async () => {
    const threads = numbers(4).map((number) => `long-${first + number}`);
    for (const [number, thread] of threads.entries()) await say(thread, "x".repeat(number === 2 ? 1_001 : 600));
    const read = createReadConversation(store.database, 1_000);
    const said = await Promise.allSettled(threads.map((thread) => texts(read, thread)));
    expect(said.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    expect(said[2]).toMatchObject({ reason: { code: "STORE_TOO_LARGE" } });
  });
});

it("two transactions that block each other both finish", async () => {
  await openBudget(store.database, `${class1}-a`, none);
  await openBudget(store.database, `${class1}-b`, none);
  const both = Promise.withResolvers<void>();
  let begun = 0;
  const tries: string[] = [];
  const change = (first: string, second: string) =>
    inContendedTransaction(store.database.calm, async (client) => {
      const lock = (id: string) => client.query("select 1 from budgets where id = $1 for update", [`${class1}-${id}`]);
      tries.push(first);
      await lock(first);
      begun += 1;
      if (begun === 2) both.resolve();
      await both.promise;
      await lock(second);
      return first;
    });
  expect(await Promise.all([change("a", "b"), change("b", "a")])).toEqual(["a", "b"]);
  expect(tries).toHaveLength(3);
});
