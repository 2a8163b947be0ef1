export { type Access, openAccess, type TenantAccess } from "./access/access.ts";
export type { AuditAsked, AuditEntry, AuditFilter, AuditLog, AuditPage } from "./access/audit.ts";
export type { Key, MadeKey, NewKey } from "./access/keys.ts";
export type { Login } from "./access/logins.ts";
export type { Tenant } from "./access/tenants.ts";
export type { User, UserChange } from "./access/users.ts";
export {
  applyEvent,
  breakRun,
  cancelRun,
  type MakeEvent,
  type Outside,
  resumeRun,
  stopRun,
} from "./apply-event.ts";
export { type Ask, answerAsk, openAsks } from "./asks.ts";
export { type BlobContent, type BlobInfo, loadBlob, saveBlob } from "./blobs.ts";
export {
  type Amount,
  type Budget,
  type CallRef,
  getBudget,
  openBudget,
  type Reserved,
  releaseReservation,
  reserve,
  settleAbandoned,
  settleReservation,
} from "./budgets.ts";
export { type CallKey, callsOfRun, findCall, type StoredCall, saveCall } from "./calls.ts";
export { type Ceilings, defaultCeilings } from "./ceilings.ts";
export { type CallUsage, type Charge, type ChargeLine, type Spent, spentOf } from "./charges.ts";
export {
  type Begun,
  beginExecute,
  type Chain,
  type Checkpoint,
  chainOf,
  deleteEndedCheckpoints,
  loadCheckpoints,
  loadManifest,
  type Mark,
  type Marks,
  type Standing,
  saveMark,
  saveRewound,
  settleMark,
  waitsForExecute,
} from "./checkpoints.ts";
export type { Bearer } from "./commit/advance.ts";
export { type Claim, releaseClaims, renewLeases } from "./commit/claim.ts";
export type { Commit, Committed } from "./commit/committer.ts";
export { leaveQuiet, type QuietActivity, quietActivities, ringAgain } from "./commit/quiet-activities.ts";
export type { Activity, LoadedRun, ParentCall } from "./commit/run-row.ts";
export { type CreatedRun, callExcess, createRun, drawSeed, type NewRun, startCall } from "./create-run.ts";
export type { Database, DatabaseOptions } from "./database.ts";
export type { DatabaseClock } from "./database-clock.ts";
export type { Definition, Definitions } from "./definitions.ts";
export { deleteOldRuns } from "./delete-runs.ts";
export { type ForkedRun, type ForkRequest, forkRun } from "./fork-run.ts";
export { withLeadership } from "./leadership.ts";
export { createLeaseKeeper, type LeaseKeeper } from "./lease-keeper.ts";
export { migrate } from "./migrate.ts";
export { nameProcess, openStore, type Store, type StoreOptions } from "./open-store.ts";
export {
  currentPauses,
  endPause,
  leaveProbe,
  type ModelAt,
  type Pause,
  pauseRate,
  type Rate,
  type Slot,
  takeRate,
} from "./rates.ts";
export type { EventPage, EventsRequest } from "./read/events-after.ts";
export { getHistory, type History, type HistoryActivity, type HistoryEntry, type Warning } from "./read/get-history.ts";
export { getMessages, getThreads, type Thread, type ThreadMessage } from "./read/get-messages.ts";
export {
  childRuns,
  getRun,
  type RunDetail,
  type RunStatus,
  type RunSummary,
  submissionOf,
} from "./read/get-run.ts";
export { installationId } from "./read/installation-id.ts";
export type {
  DefinitionFilter,
  DefinitionPage,
  DefinitionSummary,
  ListedDefinition,
  PageRequest,
} from "./read/list-definitions.ts";
export type { RunFilter, RunPage } from "./read/list-runs.ts";
export { openRunCounts } from "./read/open-run-counts.ts";
export { type Difference, type Replay, replayRun } from "./read/replay-run.ts";
export type { UsageBy, UsageFilter, UsageLine } from "./read/usage.ts";
export { type Wait, waitsOf } from "./read/waits-of.ts";
export { readyRings } from "./ready-rings.ts";
export { type Resumed, resumeTree } from "./resume-run.ts";
export {
  claimSession,
  liveSessions,
  releaseSession,
  renewSessions,
  type Session,
  type SessionClaim,
  saveSession,
  takeDeadSessions,
} from "./sessions.ts";
export { StoreError, type StoreErrorCode, storeErrorCodes } from "./store-error.ts";
export {
  deleteOrphans,
  enforceDeadlines,
  expireAsks,
  type OnPoison,
  oldestDue,
} from "./supervise.ts";
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
/** @public */
export { defaultTenant } from "./tenants.ts";
export { uuidv7 } from "./uuidv7.ts";
export { type Watch, watch } from "./watch.ts";
export { beat, buryWorkers, leave, listWorkers, type WorkerRow } from "./workers.ts";

/** Loaded on first use: its query builder takes 0.5 s to import. */
export const listRuns: typeof import("./read/list-runs.ts").listRuns = async (...given) =>
  (await import("./read/list-runs.ts")).listRuns(...given);
