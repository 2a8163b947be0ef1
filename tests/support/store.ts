/** The store as most tests use it: both of its sides in one object, and one tenant, the one that an installation without others has. */
import {
  type Ask,
  type Budget,
  type CreatedRun,
  defaultTenant,
  type NewRun,
  type Store as OpenStore,
  openStore as open,
  type Pause,
  type RunFilter,
  type RunPage,
  type StoreOptions,
} from "@markmill/store";
import * as machine from "@markmill/store/machine";

export * from "@markmill/store";
export * from "@markmill/store/machine";

export type Store = OpenStore & machine.Machine;

export async function openStore(options: StoreOptions): Promise<Store> {
  const store = await open(options);
  return { ...store.machine, ...store };
}

type Tenanted = Pick<OpenStore, "as">;

export function createRun(store: Tenanted, request: NewRun): Promise<CreatedRun> {
  return store.as(defaultTenant).runs.create(request);
}

export function listRuns(
  store: Tenanted,
  filter?: RunFilter,
  page?: { after?: string; limit?: number },
): Promise<RunPage> {
  return store.as(defaultTenant).runs.list(filter, page);
}

export async function saveBlob(store: Tenanted, bytes: Uint8Array): Promise<string> {
  return (await store.as(defaultTenant).blobs.save(bytes)).hash;
}

export function loadBlob(store: Tenanted, hash: string): Promise<Buffer | null> {
  return store.as(defaultTenant).blobs.load(hash);
}

export function openAsks(database: machine.Database, rootId?: string | null): Promise<readonly Ask[]> {
  return machine.openAsks(database, defaultTenant, rootId);
}

export function currentPauses(database: machine.Database): Promise<readonly Pause[]> {
  return machine.currentPauses(database, defaultTenant);
}

export function openBudget(
  database: machine.Database,
  id: string,
  cap: Budget["cap"],
  of?: "run" | "batch",
): Promise<void> {
  return machine.openBudget(database, defaultTenant, id, cap, of);
}

export function getBudget(database: machine.Database, id: string): Promise<Budget | null> {
  return machine.getBudget(database, defaultTenant, id);
}

type Reserving = Parameters<machine.Reserve>[0];

/** By itself: not together with others that reserve at this moment, as in a process of its own. */
export function reserve(
  database: machine.Database,
  call: Reserving["call"],
  budgets: Reserving["budgets"],
  want: Reserving["want"],
  leave: Reserving["leave"] = { nanodollars: 0, tokens: 0 },
  charge: Reserving["charge"] = null,
): Promise<machine.Reserved> {
  return machine.createReserve(database)({ tenant: defaultTenant, call, budgets, want, leave, charge });
}

/** Bare rows of runs, for what only needs to name a run that exists. */
export async function insertRuns(database: machine.Database, ids: readonly string[]): Promise<void> {
  await database.calm.query(
    `insert into runs (id, root_id, tenant, definition_hash, program, name, status, phase, epoch, rev, kept, depth)
     select id, id, $2, 'none', 'main', 'bare', 'doing', 'doing', 1, 1, '{}', 0 from unnest($1::text[]) as x(id)`,
    [ids, defaultTenant],
  );
}

type Saving = Parameters<machine.SaveCall>[0];

/** By itself, too. */
export function saveCall(
  database: machine.Database,
  run: Saving["run"],
  call: Saving["call"],
): Promise<machine.SavedCall> {
  return machine.createSaveCall(database)({ run, call });
}
