/**
 * For workers, supervisors and the composition root (`@markmill/store/machine`): statements over `store.machine`. They act on ids from
 * claims, jobs and rows of any tenant, and read the tenant from the run's row. Code that serves a request must not import this
 * (scripts/check-imports.ts). It uses `store.as(tenant)`.
 */

export { type Admission, admitWorks } from "./batches/admit.ts";
export { deleteOldBatches } from "./batches/delete-batch.ts";
export { pauseForBudget } from "./batches/pause-for-budget.ts";
export { deleteOrphans } from "./blobs/delete-orphans.ts";
export { loadSubmission } from "./blobs/load-submission.ts";
export { answerAsk, openAsks } from "./calls/asks.ts";
export { callsOfRun, createSaveCall, findCall, type SaveCall, type SavedCall } from "./calls/calls.ts";
export { type ReturnedCall, returnedCalls } from "./calls/returned-calls.ts";
export {
  beginToolCall,
  endToolCall,
  type ToolCallBegin,
  type ToolCallEnd,
  type ToolCallFailure,
} from "./calls/tool-calls.ts";
export type { Claim, Claimed } from "./commit/claim.ts";
export type { Committed } from "./commit/committer.ts";
export { enqueueAgain, leaveQuiet, type QuietActivity, quietActivities } from "./commit/lost-jobs.ts";
export { oldestDue } from "./commit/oldest-due.ts";
export { readyJobs } from "./commit/ready-jobs.ts";
export type { Activity, LoadedRun } from "./commit/run-row.ts";
export type { Database } from "./database/database.ts";
export { migrate } from "./database/migrate.ts";
export { neutralText } from "./database/neutral.ts";
export { applySettings } from "./database/session-settings.ts";
export { withLeadership } from "./leases/leadership.ts";
export { createLeaseKeeper, type LeaseKeeper } from "./leases/lease-keeper.ts";
export { presenceSettings, presenceText } from "./leases/presence.ts";
export { releaseClaims, renewLeases } from "./leases/renew-and-release.ts";
export { beat, buryWorkers, leave, listWorkers, workerBeatMs } from "./leases/workers.ts";
export { fillPassageIndex } from "./memory/passage-index/fill-passage-index.ts";
export { type FoundPassage, insertPassages, nearestPassages, type PassageScope } from "./memory/passages.ts";
export {
  type CallRef,
  gatherSpendings,
  getBudget,
  openBudget,
  openRunBudget,
  releaseReservation,
  settleAbandoned,
  settleReservation,
} from "./money/budgets.ts";
export { noCalls, spentOf } from "./money/charges.ts";
export { addDeletedUsage } from "./money/deleted-usage.ts";
export {
  currentPauses,
  endPause,
  leaveProbe,
  type ModelAt,
  pauseRate,
  type Rate,
  renewProbe,
  takeRate,
} from "./money/rates-and-pauses.ts";
export { createReserve, type Reserve, type Reserved, type ReservedCode } from "./money/reserve.ts";
export type { Machine } from "./open-store.ts";
export { getHistory } from "./read/get-history.ts";
export { createReadConversation, getMessages, getThreads } from "./read/get-messages.ts";
export { childRuns, getRun } from "./read/get-run.ts";
export { installationId } from "./read/installation-id.ts";
export { replayRun } from "./read/replay-run.ts";
export { waitsOf } from "./read/waits-of.ts";
export { applyEvent, breakRun, cancelRun, resumeRun, stopRun } from "./runs/apply-event.ts";
export { callExcess, createRun, drawSeed, startCall } from "./runs/create-run.ts";
export { deleteOldRuns } from "./runs/delete-runs.ts";
export { forkRun } from "./runs/fork-run.ts";
export { resumeTree } from "./runs/resume-run.ts";
export { enforceDeadlines, expireAsks, type OnSkipped } from "./runs/supervise.ts";
export {
  beginExecute,
  type Chain,
  callOfMark,
  chainOf,
  deleteEndedCheckpoints,
  forgetMarkedProcesses,
  loadCheckpoints,
  loadManifest,
  type Mark,
  type Marks,
  saveMark,
  saveRewound,
  settleMark,
  waitsForExecute,
} from "./sessions/checkpoints.ts";
export { type CannotExecute, type CommandStanding, sandboxNotConfigured } from "./sessions/command-standing.ts";
export {
  claimSession,
  liveSessions,
  releaseSession,
  renewSessions,
  type SessionClaim,
  saveSession,
  takeDeadSessions,
} from "./sessions/sessions.ts";
export { type AdmittedRuns, admitAtOnce, admitRuns } from "./shares/admit-runs.ts";
export type { ClaimedAhead } from "./throughput/claim-ahead.ts";
export { watch } from "./watch/watch.ts";
export {
  type DueDelivery,
  deleteOldDeliveries,
  dueDeliveries,
  type Settled,
  settleDelivery,
} from "./webhooks/deliveries.ts";
export { noteHappenings } from "./webhooks/note-happenings.ts";
