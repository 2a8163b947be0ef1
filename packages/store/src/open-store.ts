/** The store: one per process. Everything that holds a connection or a cache hangs here and ends with `close`. */
import { randomBytes } from "node:crypto";
import { type Ceilings, defaultCeilings } from "./ceilings.ts";
import { createActivityIds } from "./commit/activity-ids.ts";
import { type Claim, type Claimable, type Claimer, createClaimer } from "./commit/claim.ts";
import { type Commit, type Committed, type Committer, createCommitter } from "./commit/committer.ts";
import { createRunCache } from "./commit/run-cache.ts";
import { type Database, type DatabaseOptions, openDatabase } from "./database.ts";
import { createDatabaseClock, type DatabaseClock, databaseNow } from "./database-clock.ts";
import { createDefinitions, type Definitions } from "./definitions.ts";
import { migrate } from "./migrate.ts";
import { createMovements } from "./movements.ts";
import { translate } from "./store-error.ts";
import { createTenantStore, type TenantStore } from "./tenant-store.ts";
import { createAnnouncer } from "./watch.ts";

export interface StoreOptions extends DatabaseOptions {
  /** Names this process in claims: never the same for two starts, also not for two containers that both have process 1. */
  readonly worker?: string;
  readonly leaseMs?: number;
  readonly ceilings?: Ceilings;
  readonly mostPerCommit?: number;
  readonly patienceMs?: number;
  /** false: the schema is taken as it is. */
  readonly migrate?: boolean;
}

export interface Store {
  readonly database: Database;
  readonly definitions: Definitions;
  readonly clock: DatabaseClock;
  readonly committer: Committer;
  readonly worker: string;
  readonly leaseMs: number;
  readonly ceilings: Ceilings;
  /** What this tenant may see and change. */
  as(tenant: string): TenantStore;
  claim(delivery: Claimable): Promise<Claim>;
  /** The only way a run changes. */
  commit(item: Commit): Promise<Committed>;
  /** Waits for what is in flight. */
  close(): Promise<void>;
}

export async function openStore(options: StoreOptions): Promise<Store> {
  const database = openDatabase(options);
  try {
    if (options.migrate ?? true) await migrate(database.calm);
    const { rows } = await database.calm.query<{ now: number }>(`select ${databaseNow} as now`);
    return assemble(database, createDatabaseClock(rows[0]?.now ?? Date.now()), options);
  } catch (error) {
    await database.close();
    throw translate(error, "Opening the store");
  }
}

function assemble(database: Database, clock: DatabaseClock, options: StoreOptions): Store {
  const { worker = nameProcess("process"), leaseMs = 5_000, ceilings = defaultCeilings } = options;
  const definitions = createDefinitions(database.calm);
  const cache = createRunCache();
  const announcer = createAnnouncer(database);
  const committer = createCommitter({
    database,
    definitions,
    cache,
    clock,
    ids: createActivityIds(database.hot),
    most: options.mostPerCommit ?? 100,
    patienceMs: options.patienceMs ?? 30_000,
    onMoved: announcer.moved,
  });
  const claimer: Claimer = createClaimer({ database, definitions, cache, clock, worker, leaseMs });
  const movements = createMovements(database);
  return {
    database,
    definitions,
    clock,
    committer,
    worker,
    leaseMs,
    ceilings,
    as: (tenant) => createTenantStore({ database, definitions, committer, clock, ceilings, movements }, tenant),
    claim: claimer.claim,
    commit: committer.commit,
    async close() {
      await Promise.all([claimer.idle(), committer.idle()]);
      await Promise.all([announcer.close(), movements.close()]);
      await database.close();
    },
  };
}

/** A name for this start of a process. */
export function nameProcess(host: string): string {
  return `${host}-${process.pid}-${randomBytes(6).toString("hex")}`;
}
