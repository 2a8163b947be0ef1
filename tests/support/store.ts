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

type Reserving = Parameters<typeof machine.reserve>;

export function reserve(
  database: machine.Database,
  ...[call, budgets, want, leave, charge]: [Reserving[2], Reserving[3], Reserving[4], Reserving[5]?, Reserving[6]?]
): Promise<machine.Reserved> {
  return machine.reserve(database, defaultTenant, call, budgets, want, leave, charge);
}
