/**
 * For code that serves people: opens the store, and has the types of `store.as(tenant)`. The exports for workers and supervisors are in
 * machine.ts.
 */
export type { Access, TenantAccess } from "./access/access.ts";
export type { AuditAsked } from "./access/audit.ts";
export type { Key } from "./access/keys.ts";
export type { Login } from "./access/logins.ts";
export { defaultTenant } from "./access/tenant-ids.ts";
export type { User } from "./access/users.ts";
export type {
  BatchDetail,
  BatchMember,
  BatchSummary,
  BatchWork,
  KeySpan,
  NewBatch,
  NewGradeEvent,
  NewMember,
  NewWork,
  SavedBatch,
  WorkCommit,
  WorkCounts,
  WorkFilter,
  WorkTry,
} from "./batches/batch.ts";
export { gradeTag } from "./batches/grade-tag.ts";
export type { TenantBatches } from "./batches/tenant-batches.ts";
export type { BlobSettings } from "./blobs/blobs.ts";
export type { S3Settings } from "./blobs/s3-blobs.ts";
export type { Ask } from "./calls/asks.ts";
export type { StoredCall } from "./calls/calls.ts";
export type { StoredToolCall } from "./calls/tool-calls.ts";
export type { Committed, OnCommitted } from "./commit/committer.ts";
export { StoreError, type StoreErrorCode, storeErrorCodes } from "./database/store-error.ts";
export { isTroubleOfServer } from "./database/trouble-of-server.ts";
export { uuidv7 } from "./database/uuidv7.ts";
export type { Definition } from "./definitions/definitions.ts";
export type { WorkerRow } from "./leases/workers.ts";
export type { Budget } from "./money/budgets.ts";
export { defaultCeilings } from "./money/ceilings.ts";
export type { Spent } from "./money/charges.ts";
export type { Pause } from "./money/rates-and-pauses.ts";
export { nameProcess, openStore, type Store, type StoreOptions } from "./open-store.ts";
export type { ActivityPlace, BoardActivity, BoardRun, BoardTree } from "./read/board-activities.ts";
export type { History, HistoryActivity, HistoryEntry, Warning } from "./read/get-history.ts";
export type { RunDetail, RunSummary } from "./read/get-run.ts";
export type { RunFilter, RunPage } from "./read/list-runs.ts";
export type { MemoryScope } from "./read/memory-scopes.ts";
export type { Difference } from "./read/replay-run.ts";
export type { Wait } from "./read/waits-of.ts";
export type { CreatedRun, NewRun } from "./runs/create-run.ts";
export type { CommandStanding } from "./sessions/command-standing.ts";
export type {
  TenantMemory,
  TenantRuns,
  TenantStore,
} from "./tenant-store.ts";
export type { Delivery, Webhook } from "./webhooks/webhooks.ts";
