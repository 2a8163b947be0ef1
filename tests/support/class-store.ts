/** A store for each test of a file about classes, on a database of its own and without workers. */
import { afterEach, beforeEach } from "vitest";
import { freshDatabase, type TestDatabase } from "./postgres.ts";
import { type Admission, admitWorks, openStore, type Store, type TenantStore } from "./store.ts";

export interface ClassStore {
  readonly database: TestDatabase;
  readonly store: Store;
  readonly tenant: TenantStore;
}

/** `take` gets the new store before each test. */
export function openStoreForEach(
  take: (made: ClassStore) => void,
  makeDatabase: () => Promise<TestDatabase> = freshDatabase,
): void {
  let made: ClassStore | null = null;
  beforeEach(async () => {
    const database = await makeDatabase();
    const store = await openStore({ url: database.url });
    made = { database, store, tenant: store.as("default") };
    take(made);
  });
  afterEach(async () => {
    await made?.store.close();
    await made?.database.drop();
    made = null;
  });
}

/** Makes the runs of waiting works. A work that is skipped fails the test. */
export function admit(
  store: Store,
  most = 1_000,
  more: Partial<Parameters<typeof admitWorks>[1]> = {},
): Promise<Admission> {
  return admitWorks(store, {
    most,
    enqueue: async () => undefined,
    onSkipped: (error) => {
      throw error;
    },
    ...more,
  });
}
