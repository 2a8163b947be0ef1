/**
 * What people's side needs: to open the store, and what `store.as(tenant)` takes and gives. What workers and supervisors need stands in
 * machine.ts.
 */
export type { Access, TenantAccess } from "./access/access.ts";
export type { AuditAsked, AuditEntry, AuditFilter, AuditLog, AuditPage } from "./access/audit.ts";
export type { Key, MadeKey, NewKey } from "./access/keys.ts";
export type { Login } from "./access/logins.ts";
export type { Tenant } from "./access/tenants.ts";
export type { User, UserChange } from "./access/users.ts";
export type { Ask, FoundAsk } from "./asks.ts";
export type { BlobContent } from "./blobs/blob-port.ts";
export type { BlobInfo, BlobPart, BlobSettings } from "./blobs/blobs.ts";
export type { S3Settings } from "./blobs/s3-blobs.ts";
export type { Budget } from "./budgets.ts";
export type { StoredCall } from "./calls.ts";
export { type Ceilings, defaultCeilings } from "./ceilings.ts";
export type { CallUsage, ChargeLine, Spent } from "./charges.ts";
export type { Committed } from "./commit/committer.ts";
export type { CreatedRun, NewRun } from "./create-run.ts";
export type { DatabaseClock } from "./database-clock.ts";
export type { Definition } from "./definitions.ts";
export type { ForkedRun, ForkRequest } from "./fork-run.ts";
export { type Machine, nameProcess, openStore, type Store, type StoreOptions } from "./open-store.ts";
export type { Pause } from "./rates.ts";
export type { ActivityPlace, BoardActivity, BoardReader, BoardRun, BoardTree } from "./read/board-activities.ts";
export type { EventPage, EventsRequest } from "./read/events-after.ts";
export type { History, HistoryActivity, HistoryEntry, Warning } from "./read/get-history.ts";
export type { Thread, ThreadMessage } from "./read/get-messages.ts";
export type { RunDetail, RunStatus, RunSummary } from "./read/get-run.ts";
export type {
  DefinitionFilter,
  DefinitionPage,
  DefinitionSummary,
  ListedDefinition,
  PageRequest,
} from "./read/list-definitions.ts";
export type { RunFilter, RunPage } from "./read/list-runs.ts";
export type { Difference, Replay } from "./read/replay-run.ts";
export type { UsageBy, UsageFilter, UsageLine } from "./read/usage.ts";
export type { Wait } from "./read/waits-of.ts";
export type { Resumed } from "./resume-run.ts";
export { StoreError, type StoreErrorCode, storeErrorCodes } from "./store-error.ts";
export type {
  TenantAsks,
  TenantBlobs,
  TenantBudgets,
  TenantDefinitions,
  TenantModels,
  TenantRuns,
  TenantStore,
  TenantUsage,
} from "./tenant-store.ts";
export { defaultTenant } from "./tenants.ts";
export { uuidv7 } from "./uuidv7.ts";
export type { WorkerRow } from "./workers.ts";
