// An old definition becomes the current version when it is uploaded again, and not when it is started.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApi, type TestApi } from "../support/api.ts";
import { workflow } from "../support/mill.ts";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import { openStore, type Store } from "../support/store.ts";

let database: TestDatabase;
let store: Store;
let api: TestApi;
beforeAll(async () => {
  database = await freshDatabase();
  store = await openStore({ url: database.url });
  api = await startApi({ store, queues: null });
});
afterAll(async () => {
  await api?.close();
  await store?.close();
  await database?.drop();
});

const text = (value: number) => workflow(`  START --> SET_A["SET: A = ${value}"] --> SUCCESS`);

describe("uploading a definition again", () => {
  it("makes it the current version, also from another process, and starting an old version does not", async () => {
    const owner = await api.client("owner");
    const upload = async (value: number) =>
      (await owner.saveDefinition({ body: { root: "a.wf.md", files: { "a.wf.md": text(value) } } })).hash;
    const [first, second] = [await upload(1), await upload(2)];
    const current = async () => {
      const { items } = await owner.listDefinitions({ query: {} });
      return items.map(({ hash, versions }) => [hash, versions]);
    };
    expect(await current()).toEqual([[second, 2]]);
    await owner.startRun({ body: { definition: first } });
    const old = await store.as("default").definitions.find(first);
    if (old !== null) await store.as("default").definitions.save(old);
    expect(await current()).toEqual([[second, 2]]);
    expect(await upload(1)).toBe(first);
    expect(await current()).toEqual([[first, 2]]);
    const other = await openStore({ url: database.url });
    try {
      const again = await other.as("default").definitions.find(second);
      if (again !== null) await other.as("default").definitions.save(again, { current: true });
    } finally {
      await other.close();
    }
    expect(await current()).toEqual([[second, 2]]);
  });
});
