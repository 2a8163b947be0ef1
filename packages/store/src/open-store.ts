/**
 * The store: one per process. It holds all connections and caches, and `close` ends them.
 *
 * It has two sides. Requests of people go through `as(tenant)` and see only that tenant's data. Workers and supervisors act through
 * `machine`, on ids that come from claims and rows and never from a request; they read the tenant of a run from its row.
 */
import { randomBytes } from "node:crypto";
import { type Access, openAccess } from "./access/access.ts";
import { createOwnership } from "./access/ownership.ts";
import { createWorkFacts, type ReadWorkFacts } from "./batches/work-facts.ts";
import { type BlobSettings, type Blobs, createBlobs } from "./blobs/blobs.ts";
import { createSaveCall, type SaveCall } from "./calls/calls.ts";
import { type Claim, type Claimable, createPlainClaimer } from "./commit/claim.ts";
import type { Commit, Committed, Committer, CommitterParts, OnCommitted } from "./commit/committer.ts";
import { oldestDue } from "./commit/oldest-due.ts";
import { createPlainCommitter } from "./commit/plain-committer.ts";
import { type Database, type DatabaseOptions, openDatabase } from "./database/database.ts";
import { createDatabaseClock, type DatabaseClock, databaseNow } from "./database/database-clock.ts";
import { migrate } from "./database/migrate.ts";
import { createDatabaseProbe } from "./database/probe-database.ts";
import { queryDatabase } from "./database/query-database.ts";
import { translate } from "./database/store-error.ts";
import { refuseUnfitServer } from "./database/unfit-server.ts";
import { createDefinitions, type Definitions } from "./definitions/definitions.ts";
import { listWorkers, type WorkerRow } from "./leases/workers.ts";
import { explainPassageSearch, type PassageSearch } from "./memory/passage-index/passage-index.ts";
import { type Ceilings, defaultCeilings } from "./money/ceilings.ts";
import { createReserve, type Reserve } from "./money/reserve.ts";
import { type BoardReader, createBoardReader } from "./read/board-activities.ts";
import { openRunCounts } from "./read/open-run-counts.ts";
import { type CommandStanding, listCommandStandings } from "./sessions/command-standing.ts";
import { createShares, type Shares } from "./shares/shares.ts";
import { createTenantStore, type TenantStore } from "./tenant-store.ts";
import { createActivityIds } from "./throughput/activity-ids.ts";
import { createGatheringClaimer } from "./throughput/gather-claims.ts";
import { createGroupCommitter } from "./throughput/group-committer.ts";
import { createRunCache, noRunCache } from "./throughput/run-cache.ts";
import { createMovements } from "./watch/movements.ts";
import { createAnnouncer } from "./watch/watch.ts";

export interface StoreOptions extends DatabaseOptions {
  /** Names this process in claims. It differs for every start, even for two containers whose processes both have pid 1. */
  readonly worker?: string;
  readonly leaseMs?: number;
  readonly ceilings?: Ceilings;
  /** Runs of one tenant at once, of those that wait for slots. Absent: as many as workers can use (shares/places-sql.ts). */
  readonly runsPerTenant?: number | null;
  /** Absent: blobs are stored in Postgres. */
  readonly blobs?: BlobSettings;
  readonly mostPerCommit?: number;
  readonly patienceMs?: number;
  /** For watchers. It must not throw. */
  readonly onCommitted?: OnCommitted;
  /** false: use the schema as it is. */
  readonly migrate?: boolean;
}

export interface Store {
  /** The data that this tenant may see and change. */
  as(tenant: string): TenantStore;
  /** Who may use the installation. */
  readonly access: Access;
  /** The living workers, for all tenants. */
  workers(): Promise<readonly WorkerRow[]>;
  /** What each living worker reports about running commands. */
  commandStandings(): Promise<readonly CommandStanding[]>;
  /** Open runs of all tenants, by status: numbers only. */
  openRuns(): ReturnType<typeof openRunCounts>;
  /** Activities of all tenants, for people who watch the queues: ids only, without content. */
  readonly board: BoardReader;
  /** How long the oldest activity of these queues has been ready and due, in ms. 0: none. */
  oldestDue(queues: readonly string[]): Promise<number>;
  /** The versions of the server and of the schema. */
  about(): Promise<{ readonly server: string; readonly schema: string | null }>;
  /** Rejects if Postgres does not work at this moment. Settles within a few seconds. */
  probe(): Promise<void>;
  /** How passages are found on this server. */
  passageSearch(): Promise<PassageSearch>;
  readonly clock: DatabaseClock;
  readonly machine: Machine;
  /** Waits for everything that is in flight. */
  close(): Promise<void>;
}

/** For workers and supervisors (machine.ts). */
export interface Machine {
  readonly database: Database;
  readonly definitions: Definitions;
  readonly blobs: Blobs;
  readonly clock: DatabaseClock;
  readonly committer: Committer;
  readonly worker: string;
  readonly leaseMs: number;
  readonly ceilings: Ceilings;
  readonly shares: Shares;
  claim(delivery: Claimable): Promise<Claim>;
  /** The only way a run changes. */
  commit(item: Commit): Promise<Committed>;
  /** For a root run: the facts of its class that a model must not see. null: it belongs to no class. */
  readonly workFacts: ReadWorkFacts;
  readonly reserve: Reserve;
  readonly saveCall: SaveCall;
}

export async function openStore(options: StoreOptions): Promise<Store> {
  await refuseUnfitServer(options.url);
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
  const { plain } = database;
  const cache = plain ? noRunCache : createRunCache();
  const announcer = createAnnouncer(database);
  const committing: CommitterParts = {
    database,
    definitions,
    cache,
    clock,
    // Not from `hot`: a commit that holds one of its connections may draw ids, and would wait for another one.
    ids: createActivityIds(database.calm),
    worker,
    leaseMs,
    patienceMs: options.patienceMs ?? 30_000,
    onMoved: announcer.moved,
    onCommitted: options.onCommitted,
    onBatchRunEnded: announcer.batchMoved,
  };
  const committer = plain
    ? createPlainCommitter(committing)
    : createGroupCommitter(committing, options.mostPerCommit ?? 100);
  const claiming = { database, definitions, clock, worker, leaseMs };
  const claimer = plain ? createPlainClaimer(claiming) : createGatheringClaimer(claiming, cache);
  const movements = createMovements(database);
  const blobs = createBlobs(database, options.blobs);
  const probe = createDatabaseProbe(database.url);
  const { claim } = claimer;
  const { commit } = committer;
  const workFacts = createWorkFacts(database, definitions);
  const machine = {
    database,
    definitions,
    blobs,
    clock,
    committer,
    worker,
    leaseMs,
    ceilings,
    shares: createShares(database, announcer, options.runsPerTenant ?? null),
    claim,
    commit,
    workFacts,
    reserve: createReserve(database),
    saveCall: createSaveCall(database),
  };
  const parts = { ...machine, movements, ownership: createOwnership(database) };
  return {
    as: (tenant) => createTenantStore(parts, tenant),
    access: openAccess(database),
    workers: () => listWorkers(database),
    commandStandings: () => listCommandStandings(database),
    openRuns: () => openRunCounts(database),
    board: createBoardReader(database),
    oldestDue: (queues) => oldestDue(database, queues),
    about: () => versionsOf(database),
    probe: probe.ask,
    passageSearch: () => explainPassageSearch(database),
    clock,
    machine,
    async close() {
      await Promise.all([claimer.idle(), committer.idle()]);
      await Promise.all([announcer.close(), movements.close(), blobs.close(), probe.close()]);
      await database.close();
    },
  };
}

async function versionsOf(database: Database) {
  const rows = await queryDatabase<{ server: string; schema: string | null }>(
    database,
    "Asking for versions",
    "select current_setting('server_version') as server, (select max(name) from markmill.migrations) as schema",
  );
  return rows[0] ?? { server: "unknown", schema: null };
}

/** A name for this start of a process. */
export function nameProcess(host: string): string {
  return `${host}-${process.pid}-${randomBytes(6).toString("hex")}`;
}
