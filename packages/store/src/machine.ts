/**
 * What workers, supervisors and the composition root need (`@markmill/store/machine`): statements over `store.machine`. They act on ids
 * that come from claims, doorbells and rows, whosever they are, and take the tenant from the run's row. Nothing that serves a request may
 * import this (scripts/check-imports.ts): there it is `store.as(tenant)`.
 */
export { applyEvent, breakRun, cancelRun, resumeRun, stopRun } from "./apply-event.ts";
export { answerAsk, openAsks } from "./asks.ts";
export { type Admission, admitWorks } from "./batches/admit.ts";
export { deleteOldBatches } from "./batches/delete-batch.ts";
export { pauseForBudget } from "./batches/pause-for-budget.ts";
export {
  type CallRef,
  gatherSpendings,
  getBudget,
  openBudget,
  openRunBudget,
  releaseReservation,
  settleAbandoned,
  settleReservation,
} from "./budgets.ts";
export { callsOfRun, createSaveCall, findCall, type SaveCall, type SavedCall } from "./calls.ts";
export { noCalls, spentOf } from "./charges.ts";
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
} from "./checkpoints.ts";
export { type CannotExecute, type CommandStanding, sandboxNotConfigured } from "./command-standing.ts";
export { type Claim, type Claimed, releaseClaims, renewLeases } from "./commit/claim.ts";
export type { Committed } from "./commit/committer.ts";
export type { Followed } from "./commit/followed.ts";
export { leaveQuiet, type QuietActivity, quietActivities, ringAgain } from "./commit/lost-doorbells.ts";
export { oldestDue } from "./commit/oldest-due.ts";
export type { Activity, LoadedRun } from "./commit/run-row.ts";
export { callExcess, createRun, drawSeed, startCall } from "./create-run.ts";
export type { Database } from "./database.ts";
export { deleteOrphans } from "./delete-orphans.ts";
export { deleteOldRuns } from "./delete-runs.ts";
export { addDeletedUsage } from "./deleted-usage.ts";
export { forkRun } from "./fork-run.ts";
export { withLeadership } from "./leadership.ts";
export { createLeaseKeeper, type LeaseKeeper } from "./lease-keeper.ts";
export { loadSubmission } from "./load-submission.ts";
export { migrate } from "./migrate.ts";
export { neutralText } from "./neutral.ts";
export type { Machine } from "./open-store.ts";
export { fillPassageIndex } from "./passage-index/fill-passage-index.ts";
export { type FoundPassage, insertPassages, nearestPassages, type PassageScope } from "./passages.ts";
export { presenceSettings, presenceText } from "./presence.ts";
export {
  currentPauses,
  endPause,
  leaveProbe,
  type ModelAt,
  pauseRate,
  type Rate,
  renewProbe,
  takeRate,
} from "./rates-and-pauses.ts";
export { getHistory } from "./read/get-history.ts";
export { createReadConversation, getMessages, getThreads } from "./read/get-messages.ts";
export { childRuns, getRun } from "./read/get-run.ts";
export { installationId } from "./read/installation-id.ts";
export { replayRun } from "./read/replay-run.ts";
export { waitsOf } from "./read/waits-of.ts";
export { readyRings } from "./ready-rings.ts";
export { createReserve, type Reserve, type Reserved, type ReservedCode } from "./reserve.ts";
export { resumeTree } from "./resume-run.ts";
export { type ReturnedCall, returnedCalls } from "./returned-calls.ts";
export { applySettings } from "./session-settings.ts";
export {
  claimSession,
  liveSessions,
  releaseSession,
  renewSessions,
  type SessionClaim,
  saveSession,
  takeDeadSessions,
} from "./sessions.ts";
export { type AdmittedRuns, admitAtOnce, admitRuns } from "./shares/admit-runs.ts";
export { enforceDeadlines, expireAsks, type OnSkipped } from "./supervise.ts";
export {
  beginToolCall,
  endToolCall,
  type ToolCallBegin,
  type ToolCallEnd,
  type ToolCallFailure,
} from "./tool-calls.ts";
export { watch } from "./watch.ts";
export {
  type DueDelivery,
  deleteOldDeliveries,
  dueDeliveries,
  type Settled,
  settleDelivery,
} from "./webhooks/deliveries.ts";
export { noteHappenings } from "./webhooks/note-happenings.ts";
export { beat, buryWorkers, leave, listWorkers, workerBeatMs } from "./workers.ts";
