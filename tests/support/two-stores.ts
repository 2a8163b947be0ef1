/** Two stores on one database, as two processes have them. They share nothing but the database. */
import { afterAll, beforeAll, expect } from "vitest";
import { migratedDatabase, type TestDatabase } from "./postgres.ts";
import { openStore, replayRun, type Store } from "./store.ts";

export interface TwoStores {
  readonly database: TestDatabase;
  readonly store: Store;
  readonly other: Store;
}

/** `take` gets the stores before the tests of the file. */
export function openTwoStores(
  take: (opened: TwoStores) => void,
  options: Omit<Parameters<typeof openStore>[0], "url" | "worker"> = {},
  makeDatabase: () => Promise<TestDatabase> = migratedDatabase,
): void {
  let database: TestDatabase | undefined;
  let store: Store | undefined;
  let other: Store | undefined;
  beforeAll(async () => {
    database = await makeDatabase();
    store = await openStore({ ...options, url: database.url, worker: "one" });
    other = await openStore({ ...options, url: database.url, worker: "two" });
    take({ database, store, other });
  });
  afterAll(async () => {
    await store?.close();
    await other?.close();
    await database?.drop();
  });
}

/** The recorded events of a run lead to the recorded state. */
export async function expectExactReplay(store: Store, runId: string): Promise<void> {
  const { differences } = await replayRun(store.database, store.definitions, runId);
  expect(differences).toEqual([]);
}
