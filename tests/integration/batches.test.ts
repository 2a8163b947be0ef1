// Batches on a real store, without workers: the test starts the runs and ends them.
import { describe, expect, it } from "vitest";
import { classOf, endWithGrade, gradeWith, memberOf, workOf } from "../support/class.ts";
import { admit as admitAll, openStoreForEach } from "../support/class-store.ts";
import { migratedDatabase, type TestDatabase } from "../support/postgres.ts";
import {
  admitWorks,
  cancelRun,
  deleteOrphans,
  getRun,
  type NewBatch,
  type NewWork,
  openStore,
  type Store,
  type TenantStore,
} from "../support/store.ts";
import { chain, definition, onePrompt } from "./store-programs.ts";

let database: TestDatabase;
let store: Store;
let tenant: TenantStore;
const flow = definition({ main: onePrompt });

openStoreForEach((made) => {
  ({ database, store, tenant } = made);
}, migratedDatabase);

const admit = (most?: number, more?: Parameters<typeof admitAll>[2]) => admitAll(store, most, more);

async function rows<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
  return (await store.database.calm.query<Row>(text, values)).rows;
}
const count = async (table: string) => (await rows<{ n: number }>(`select count(*)::integer as n from ${table}`))[0]?.n;
const runsOf = async (id: string) =>
  (await tenant.batches.works(id, {}, { limit: 200 })).works.map((work) => work.try?.runId ?? "");
const countsOf = async (id: string) => (await tenant.batches.get(id))?.counts;

describe("saving a batch", () => {
  it("a batch that is saved twice exists once", async () => {
    const batch = await classOf(tenant, flow, 5);
    const first = await tenant.batches.save(batch);
    expect(first).toMatchObject({ created: true, added: 5, changed: 0, otherDefinition: 0 });
    const before = await rows("select * from batch_runs order by id");
    const names = await rows("select * from batch_members order by key");
    expect(await tenant.batches.save(batch)).toEqual({ ...first, created: false, added: 0 });
    expect(await rows("select * from batch_runs order by id")).toEqual(before);
    expect(await rows("select * from batch_members order by key")).toEqual(names);
    expect(await count("batches")).toBe(1);
  });

  it("a batch that is saved five times in parallel exists once", async () => {
    const batch = await classOf(tenant, flow, 20);
    const saved = await Promise.all(Array.from({ length: 5 }, () => tenant.batches.save(batch)));
    expect(new Set(saved.map(({ id }) => id)).size).toBe(1);
    expect(saved.filter(({ created }) => created)).toHaveLength(1);
    expect(await count("batch_runs")).toBe(20);
  });

  it("a changed submission gets one new grading attempt, and no other submission does", async () => {
    const batch = await classOf(tenant, flow, 4);
    const { id } = await tenant.batches.save(batch);
    await admit();
    for (const runId of await runsOf(id)) await endWithGrade(store, runId, gradeWith({ tests: 6, style: 3 }));
    const changed = await workOf(tenant, 2, "better");
    const again = { ...batch, works: [changed] };
    expect(await tenant.batches.save(again)).toMatchObject({ id, added: 0, changed: 1 });
    expect(await tenant.batches.save(again)).toMatchObject({ id, added: 0, changed: 0 });
    expect(await countsOf(id)).toMatchObject({ works: 4, waiting: 1, succeeded: 3 });
    const tries = await tenant.batches.tries(id, memberOf(2).key);
    expect(tries.map((one) => [one.try, one.why, one.standing.is, one.grade?.total ?? null])).toEqual([
      [1, "first", "succeeded", 9],
      [2, "content", "waiting", null],
    ]);
    // Results for the old content do not count for the new content.
    expect(await tenant.batches.work(id, memberOf(2).key)).toMatchObject({ proposal: null, grade: null, tries: 2 });
  });

  it("a waiting grading attempt takes the changed content, and a running attempt is cancelled and replaced", async () => {
    const batch = await classOf(tenant, flow, 2, { concurrency: 1 });
    const { id } = await tenant.batches.save(batch);
    await admit();
    await tenant.batches.save({
      ...batch,
      works: [await workOf(tenant, 1, "new 1"), await workOf(tenant, 2, "new 2")],
    });
    const [running, waiting] = [
      await tenant.batches.tries(id, memberOf(1).key),
      await tenant.batches.tries(id, memberOf(2).key),
    ];
    expect(running.map(({ standing }) => standing.is)).toEqual(["running", "waiting"]);
    expect(waiting.map(({ standing }) => standing.is)).toEqual(["waiting"]);
    await admit();
    await admit();
    expect((await tenant.batches.tries(id, memberOf(1).key))[0]).toMatchObject({
      standing: { is: "failed", status: "cancelled" },
    });
    const [blob] = await rows<{ blob: string }>(
      "select submission ->> 'blob' as blob from runs where ended_at is null",
    );
    expect([(await workOf(tenant, 1, "new 1")).content, (await workOf(tenant, 2, "new 2")).content]).toContainEqual(
      expect.objectContaining({ hash: blob?.blob }),
    );
  });

  it("a submission without content is ungradable and gets no run, and one that does not count gets no run", async () => {
    const batch = await classOf(tenant, flow, 4);
    const [one, two, three, four] = batch.works as [never, never, never, never];
    const { id } = await tenant.batches.save({
      ...batch,
      works: [
        one,
        { ...(two as object), content: { is: "empty" } },
        {
          ...(three as object),
          content: { is: "refused", code: "SUBMISSION_ARCHIVE_BOMB", message: "It is a bomb.", fix: "None." },
        },
        { ...(four as object), counts: false },
      ] as never,
    });
    expect(await admit()).toMatchObject({ admitted: 1 });
    expect(await countsOf(id)).toMatchObject({ works: 4, running: 1, ungradable: 2, notCounted: 1 });
    expect(await tenant.batches.work(id, memberOf(3).key)).toMatchObject({
      standing: { is: "ungradable", why: "It is a bomb." },
      grade: { outcome: { is: "ungradable", why: "It is a bomb." }, total: null, points: null },
    });
  });

  it("a batch is refused if a blob or a student that it names does not exist", async () => {
    const batch = await classOf(tenant, flow, 1);
    const [work] = batch.works;
    const lost = { ...work, content: { ...work?.content, hash: "0".repeat(64) } };
    await expect(tenant.batches.save({ ...batch, works: [lost as never] })).rejects.toMatchObject({
      code: "STORE_NOT_FOUND",
    });
    for (const by of [[], ["nobody"]]) {
      await expect(tenant.batches.save({ ...batch, works: [{ ...work, by } as never] })).rejects.toMatchObject({
        code: "STORE_BATCH_REFUSED",
      });
    }
    for (const concurrency of [0, -1, 1.5, 1e9, Number.NaN]) {
      await expect(tenant.batches.save({ ...batch, concurrency })).rejects.toMatchObject({
        code: "STORE_BATCH_REFUSED",
      });
    }
    expect(await count("batches")).toBe(0);
  });

  it("hostile text in names and keys is stored and found again", async () => {
    const hostile = 'Robert\0"); drop table runs;-- \ud800 \u202e';
    const batch = await classOf(tenant, flow, 1);
    const members = [{ ...memberOf(1), name: hostile }];
    const { id } = await tenant.batches.save({ ...batch, key: hostile, name: hostile, members });
    expect((await tenant.batches.members(id)).members[0]?.name).toContain("drop table runs");
    expect(await tenant.batches.save({ ...batch, key: hostile, name: hostile, members })).toMatchObject({
      id,
      added: 0,
    });
  });

  it("another definition applies to waiting submissions, and the number graded by the old one is reported", async () => {
    const batch = await classOf(tenant, flow, 3, { concurrency: 1 });
    const { id } = await tenant.batches.save(batch);
    await admit();
    await endWithGrade(
      store,
      (await tenant.batches.works(id)).works[0]?.try?.runId ?? "",
      gradeWith({ tests: 6, style: 3 }),
    );
    const other = definition({ main: chain(2) });
    expect(await tenant.batches.save({ ...batch, definition: other })).toMatchObject({ otherDefinition: 1 });
    const hashes = (await tenant.batches.works(id)).works.map((work) => work.try?.definitionHash);
    expect(hashes).toEqual([flow.hash, other.hash, other.hash]);
  });

  it("students who are added later get new pseudonyms, and no other pseudonym changes", async () => {
    const batch = await classOf(tenant, flow, 3);
    const { id } = await tenant.batches.save(batch);
    const before = (await tenant.batches.members(id)).members;
    await tenant.batches.save({ ...(await classOf(tenant, flow, 5)), key: batch.key });
    const after = (await tenant.batches.members(id)).members;
    expect(after.slice(0, 3)).toEqual(before);
    expect(new Set(after.map(({ pseudonym }) => pseudonym)).size).toBe(5);
  });

  it("the blobs of a batch are kept until it is deleted", async () => {
    const { id } = await tenant.batches.save(await classOf(tenant, flow, 3));
    await store.database.calm.query("update blobs set created_at = created_at - interval '3 days'");
    await deleteOrphans(store, 86_400_000);
    expect(await count("blobs")).toBe(3);
    await tenant.batches.delete(id);
    await deleteOrphans(store, 86_400_000);
    expect(await count("blobs")).toBe(0);
  });
});

describe("starting runs of a batch", () => {
  it("runs have labels, options and budget of the batch, and no name of a student anywhere", async () => {
    const { id } = await tenant.batches.save(await classOf(tenant, flow, 2));
    await admit();
    const { works } = await tenant.batches.works(id);
    for (const work of works) {
      const run = await getRun(store.database, work.try?.runId ?? "");
      expect(run).toMatchObject({
        labels: { batch: id, work: work.pseudonym },
        options: { grading: { batch: id, work: work.pseudonym } },
      });
    }
    const texts = await rows<{ text: string }>(
      "select r::text as text from runs r union all select a::text from activities a union all select e::text from events e",
    );
    expect(texts.length).toBeGreaterThan(2);
    for (const { text } of texts) expect(text).not.toMatch(/Secretia|Hiddenson|s000/);
  });

  it("a row of a table starts with its own definition and values, without files and without a student", async () => {
    const other = definition({ main: chain(2) });
    await tenant.definitions.save(other);
    const rowOf = async (number: number, variables: Record<string, string>, hash: string): Promise<NewWork> => {
      const work = await workOf(tenant, number, JSON.stringify(variables));
      return { ...work, content: { ...work.content, start: { definition: hash, variables } } as NewWork["content"] };
    };
    const rowsOf = async (second: string) => [
      await rowOf(1, { LABEL: "one", TOPIC: "a" }, flow.hash),
      await rowOf(2, { LABEL: "two", TOPIC: second }, other.hash),
    ];
    const settings = { run: { variables: { TOPIC: "x", SHARED: "y" } }, late: null, aiConsent: "any", language: null };
    const batch = { ...(await classOf(tenant, flow, 2)), settings, works: await rowsOf("b") } as NewBatch;
    const { id } = await tenant.batches.save(batch);
    await admit();
    const { works } = await tenant.batches.works(id);
    const runs = await Promise.all(works.map((work) => getRun(store.database, work.try?.runId ?? "")));
    expect(runs.map((run) => run?.definitionHash)).toEqual([flow.hash, other.hash]);
    expect(runs.map((run) => run?.variables)).toEqual([
      expect.objectContaining({ LABEL: "one", TOPIC: "a", SHARED: "y" }),
      expect.objectContaining({ LABEL: "two", TOPIC: "b", SHARED: "y" }),
    ]);
    expect(runs.map((run) => run?.options)).toEqual([{}, {}]);
    for (const run of runs) expect(await tenant.runs.submission(run?.id ?? "")).toBeNull();
    expect(await tenant.batches.save(batch)).toMatchObject({ added: 0, changed: 0, otherDefinition: 0 });

    for (const run of runs) await endWithGrade(store, run?.id ?? "", null);
    await tenant.batches.save({ ...batch, works: await rowsOf("c") });
    await admit();
    const [, changed] = (await tenant.batches.works(id)).works;
    expect(changed).toMatchObject({ tries: 2, try: { definitionHash: other.hash, why: "content" } });
    await endWithGrade(store, changed?.try?.runId ?? "", null);
    await tenant.batches.regrade(id, { keys: [changed?.key ?? ""] });
    expect((await tenant.batches.work(id, changed?.key ?? ""))?.try).toMatchObject({ definitionHash: other.hash });

    const nowhere = await rowOf(1, {}, "0".repeat(64));
    await expect(tenant.batches.save({ ...batch, works: [nowhere] })).rejects.toThrow("There is no definition 000");
  });

  it("the concurrency is never exceeded, although several processes start runs in parallel", async () => {
    const { id } = await tenant.batches.save(await classOf(tenant, flow, 40, { concurrency: 7 }));
    const other = await openStore({ url: database.url });
    const looks = [store, other, store, other].map((one) =>
      admitWorks(one, { most: 1_000, enqueue: async () => undefined, onSkipped: () => undefined }),
    );
    await Promise.all(looks);
    expect(await count("runs")).toBe(7);
    for (let left = 33; left > 0; left -= 1) {
      const [open] = await rows<{ id: string }>("select id from runs where ended_at is null limit 1");
      await endWithGrade(store, open?.id ?? "", null);
      await Promise.all([
        admit(),
        admitWorks(other, { most: 1_000, enqueue: async () => undefined, onSkipped: () => undefined }),
      ]);
      expect(await countsOf(id)).toMatchObject({ running: 7 });
    }
    await other.close();
    expect(await count("runs")).toBe(40);
  });

  it("a batch of 5 that is saved after one of 500 does not wait for it", async () => {
    const large = await tenant.batches.save(await classOf(tenant, flow, 100, { key: "large", concurrency: 500 }));
    await admit(8);
    const small = await tenant.batches.save(await classOf(tenant, flow, 5, { key: "small", concurrency: 500 }));
    const endOne = async (batch: string) => {
      const [open] = await rows<{ id: string }>(
        "select id from runs where ended_at is null and labels ->> 'batch' = $1 limit 1",
        [batch],
      );
      await endWithGrade(store, open?.id ?? "", null);
      await admit(8);
      expect((await rows("select 1 from runs where ended_at is null")).length).toBe(8);
    };
    // Each free slot goes to the small batch, until both have the same number.
    for (let ended = 1; ended <= 4; ended += 1) {
      await endOne(large.id);
      expect(await countsOf(small.id)).toMatchObject({ running: ended });
    }
    await endOne(large.id);
    await endOne(small.id);
    expect(await countsOf(small.id)).toMatchObject({ waiting: 0, running: 4, succeeded: 1 });
    expect(await countsOf(large.id)).toMatchObject({ running: 4, succeeded: 5, waiting: 91 });
  });

  it("a run that was scheduled but not created, or created but not enqueued, is found by the next pass", async () => {
    await tenant.batches.save(await classOf(tenant, flow, 3, { concurrency: 2 }));
    const killed = (point: string) => ({
      failPoint: (at: string) => {
        if (at === point) throw new Error("killed");
      },
    });
    await expect(admit(100, killed("admitted"))).rejects.toThrow("killed");
    expect(await count("runs")).toBe(0);
    const reserved = await rows<{ run_id: string }>(
      "select run_id from batch_runs where admitted_at is not null order by id",
    );
    await admit();
    expect(await rows("select id as run_id from runs order by id")).toEqual(
      reserved.toSorted((a, b) => (a.run_id < b.run_id ? -1 : 1)),
    );
    await admit();
    expect(await count("runs")).toBe(2);
  });

  it("a run that cannot be created is reported with its submission and holds no slot", async () => {
    const batch = await classOf(tenant, flow, 2, { concurrency: 1 });
    const { id } = await tenant.batches.save(batch);
    await store.database.calm.query("delete from blobs where hash = $1", [
      batch.works[0]?.content.is === "taken" ? batch.works[0].content.hash : "",
    ]);
    const skipped: string[] = [];
    const onSkipped = (error: { code: string }) => void skipped.push(error.code);
    await admit(10, { onSkipped });
    await admit(10, { onSkipped });
    expect(skipped).toEqual(["STORE_NOT_FOUND"]);
    expect(await countsOf(id)).toMatchObject({ failed: 1, running: 1, waiting: 0 });
    expect(await tenant.batches.work(id, memberOf(1).key)).toMatchObject({
      standing: { is: "refused", code: "STORE_NOT_FOUND" },
      grade: { outcome: { is: "grader error" } },
    });
    expect(await tenant.batches.retry(id)).toEqual({ works: [memberOf(1).key] });
  });
});

describe("a run that Postgres refuses to create", () => {
  /** What the server says when a run is inserted. */
  const serverSays = (state: string, words: string) =>
    rows(`create or replace function markmill.says() returns trigger language plpgsql as
      $$ begin raise exception '${words}' using errcode = '${state}'; end $$`);
  const begin = () => rows("create trigger says before insert on runs for each row execute function markmill.says()");
  const end = () => rows("drop trigger says on runs");

  it("for a temporary reason is created later, and no submission is refused", async () => {
    const { id } = await tenant.batches.save(await classOf(tenant, flow, 1));
    const hasty = await openStore({ url: database.url, patienceMs: 0 });
    await serverSays("40001", "begin");
    await begin();
    const codes: Record<string, string> = {};
    for (const state of [
      "40001",
      "40P01",
      "55P03",
      "53100",
      "53300",
      "57P01",
      "57014",
      "25006",
      "58030",
      "XX000",
      "42501",
    ]) {
      await serverSays(state, `trouble ${state}`);
      const note = ({ code }: { readonly code: string }) => {
        codes[state] = code;
      };
      await admitAll(hasty, 10, { onSkipped: note }).catch(note);
      expect(await countsOf(id), state).toMatchObject({ waiting: 1, failed: 0 });
    }
    expect(codes).toEqual({
      "40001": "STORE_BUSY",
      "40P01": "STORE_BUSY",
      "55P03": "STORE_BUSY",
      "53300": "STORE_BUSY",
      "53100": "STORE_FULL",
      "58030": "STORE_FULL",
      "57P01": "STORE_UNREACHABLE",
      "57014": "STORE_UNREACHABLE",
      "25006": "STORE_READ_ONLY",
      XX000: "STORE_SERVER_FAULT",
      "42501": "STORE_REFUSED",
    });
    await hasty.close();
    await end();
    await admit();
    expect(await countsOf(id)).toMatchObject({ running: 1 });
  });

  it("for another reason is refused with a code and a message for the teacher; the log has the server's message", async () => {
    const { id } = await tenant.batches.save(await classOf(tenant, flow, 1));
    await serverSays("22P02", 'invalid input syntax for type json: "}"');
    await begin();
    const logged: string[] = [];
    await admit(10, { onSkipped: (error) => void logged.push(error.message) });
    expect(logged).toEqual([expect.stringContaining("invalid input syntax")]);
    const work = await tenant.batches.work(id, memberOf(1).key);
    expect(work).toMatchObject({
      standing: { is: "refused", code: "STORE_BUG", message: expect.stringMatching(/could not be started.*try/i) },
      grade: { outcome: { is: "grader error" } },
    });
    expect(JSON.stringify(work)).not.toMatch(/invalid input|json:|Making a run/);
    await end();
    expect(await tenant.batches.retry(id)).toEqual({ works: [memberOf(1).key] });
    await admit();
    expect(await countsOf(id)).toMatchObject({ running: 1 });
  });
});

describe("changes to a started batch", () => {
  const end = async (runId: string | undefined) => endWithGrade(store, runId ?? "", gradeWith({ tests: 5, style: 2 }));

  it("a paused batch starts nothing, running submissions finish, and a resume starts the rest", async () => {
    const { id } = await tenant.batches.save(await classOf(tenant, flow, 4, { concurrency: 2 }));
    await admit();
    await tenant.batches.pause(id, "wait for the new rubric");
    for (const { id: run } of await rows<{ id: string }>("select id from runs")) await end(run);
    await admit();
    expect(await tenant.batches.get(id)).toMatchObject({
      state: { is: "paused", by: "person", reason: "wait for the new rubric" },
      counts: { succeeded: 2, waiting: 2, running: 0 },
    });
    await tenant.batches.resume(id);
    await admit();
    expect(await countsOf(id)).toMatchObject({ succeeded: 2, waiting: 0, running: 2 });
  });

  it("a cancelled batch ends its open runs and starts none, and its grades stay", async () => {
    const { id } = await tenant.batches.save(await classOf(tenant, flow, 5, { concurrency: 3 }));
    await admit();
    await end((await runsOf(id))[0]);
    expect(await tenant.batches.cancel(id, "wrong export")).toBe(2);
    await admit();
    expect(await tenant.batches.get(id)).toMatchObject({
      state: { is: "cancelled", reason: "wrong export" },
      counts: { succeeded: 1, failed: 2, waiting: 2, running: 0 },
    });
    await tenant.batches.pause(id, "too late");
    expect((await tenant.batches.get(id))?.state).toEqual({ is: "cancelled", reason: "wrong export" });
  });

  it("a run that was being created while its batch was cancelled is ended by the next pass", async () => {
    const { id } = await tenant.batches.save(await classOf(tenant, flow, 1));
    const cancelling = () => void tenant.batches.cancel(id, "stop");
    await admit(10, { failPoint: (point) => (point === "created" ? cancelling() : undefined) });
    await expect.poll(() => tenant.batches.get(id).then((batch) => batch?.state.is)).toBe("cancelled");
    await admit();
    expect(await countsOf(id)).toMatchObject({ running: 0, failed: 1 });
  });

  it("a retry restarts failed submissions only, and no submission with a grade", async () => {
    const { id } = await tenant.batches.save(await classOf(tenant, flow, 4));
    await admit();
    const runs = await runsOf(id);
    await end(runs[0]);
    await cancelRun(store, runs[1] ?? "", "no");
    await endWithGrade(store, runs[2] ?? "", {
      ...gradeWith({ tests: 0, style: 0 }),
      outcome: { is: "grader error", why: "the tests did not run" },
      points: null,
      total: null,
    });
    await admit();
    expect(await tenant.batches.retry(id, { keys: [memberOf(1).key, memberOf(4).key] })).toEqual({ works: [] });
    expect(await tenant.batches.retry(id)).toEqual({ works: [memberOf(2).key, memberOf(3).key] });
    expect(await tenant.batches.retry(id)).toEqual({ works: [] });
    expect(await countsOf(id)).toMatchObject({ succeeded: 1, waiting: 2, running: 1 });
  });

  it("a regrade with another definition starts a new grading attempt, and the old attempts stay readable", async () => {
    const { id } = await tenant.batches.save(await classOf(tenant, flow, 3));
    await admit();
    const runs = await runsOf(id);
    for (const run of runs.slice(0, 2)) await end(run);
    const other = definition({ main: chain(1) });
    const keys = [1, 3].map((number) => memberOf(number).key);
    // The third submission is still running.
    expect(await tenant.batches.regrade(id, { keys, definition: other })).toEqual({ works: [memberOf(1).key] });
    // The old grade counts until the new one exists.
    expect(await tenant.batches.work(id, keys[0] ?? "")).toMatchObject({ proposal: { try: 1 }, grade: { total: 7 } });
    await admit();
    const [, second] = await tenant.batches.tries(id, keys[0] ?? "");
    expect(second).toMatchObject({ try: 2, why: "regrade", definitionHash: other.hash, standing: { is: "running" } });
    await endWithGrade(store, second?.runId ?? "", gradeWith({ tests: 6, style: 4 }));
    expect(await tenant.batches.work(id, keys[0] ?? "")).toMatchObject({ proposal: { try: 2 }, grade: { total: 10 } });
    expect((await tenant.batches.tries(id, keys[0] ?? ""))[0]).toMatchObject({ grade: { total: 7 }, runId: runs[0] });
  });

  it("the concurrency can be changed while a batch is running", async () => {
    const { id } = await tenant.batches.save(await classOf(tenant, flow, 9, { concurrency: 2 }));
    await admit();
    await tenant.batches.setConcurrency(id, 5);
    await admit();
    expect(await countsOf(id)).toMatchObject({ running: 5 });
    await expect(tenant.batches.setConcurrency(id, 0)).rejects.toMatchObject({ code: "STORE_BATCH_REFUSED" });
  });
});

it("the facts that must not reach a model are found for runs of a class, and for runs created from them", async () => {
  const batch = await classOf(tenant, flow, 3);
  const members = [
    { ...memberOf(1), aiConsent: "local" as const, language: "de" },
    { ...memberOf(2), aiConsent: "none" as const, language: "de" },
    memberOf(3),
  ];
  const works = [
    batch.works[0] as never,
    { ...batch.works[1], key: "group", by: [memberOf(1).key, memberOf(2).key], group: "g" } as never,
    batch.works[2] as never,
  ];
  const { id } = await tenant.batches.save({ ...batch, members, works });
  await admit();
  const facts = async (key: string) => await store.workFacts((await tenant.batches.work(id, key))?.try?.runId ?? "");
  expect(await facts(memberOf(1).key)).toMatchObject({ own: [memberOf(1).key], consent: "local", language: "de" });
  expect(await facts("group")).toMatchObject({ own: [memberOf(1).key, memberOf(2).key], consent: "none" });
  const third = await facts(memberOf(3).key);
  expect(third).toMatchObject({ consent: "any", language: null, people: { length: 3 } });
  expect(third?.pseudonyms.get(memberOf(3).key)).toMatch(/^Student-/);
  await tenant.batches.save({ ...batch, members: [{ ...memberOf(3), name: "Other Name" }], works: [] });
  expect((await facts(memberOf(3).key))?.people.map(({ name }) => name)).toContain("Other Name");
  const run = (await tenant.batches.work(id, memberOf(3).key))?.try?.runId ?? "";
  const again = await tenant.runs.restart({ of: run });
  expect(await store.workFacts(again.runId)).toMatchObject({ own: [memberOf(3).key] });
  const plain = await tenant.runs.create({ definition: flow });
  expect(await store.workFacts(plain.runId)).toBeNull();
  await store.database.calm.query("delete from batches");
  await expect(store.workFacts(run)).rejects.toMatchObject({ code: "STORE_NOT_FOUND" });
});

it("a class of a thousand submissions is saved, started and counted", async () => {
  const batch: NewBatch = await classOf(tenant, flow, 1_000, { concurrency: 64 });
  const { id } = await tenant.batches.save(batch);
  await admit();
  expect(await countsOf(id)).toMatchObject({ works: 1_000, running: 64, waiting: 936 });
});
