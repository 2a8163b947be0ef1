/** The type of a function that an embedding program registers as a tool, by name. @public */
export type { ToolFunction } from "@markmill/tools";
export { checkModels } from "./check-models.ts";
export { type ClassSheet, classSheet, commitOf, reviewerOf } from "./class-sheet.ts";
export { closeAll } from "./close-all.ts";
export { countingWork, countingWorkOf, undecidedWorksOf } from "./counting-work.ts";
export { everyMember, everyWork } from "./every-page.ts";
export { type BatchLook, followBatch } from "./follow-batch.ts";
export { type Doing, followRun, type Happening, type Look } from "./follow-run.ts";
export type { HealthComponent, Trouble } from "./health.ts";
export { liveAnswer } from "./health.ts";
export { healthCodes, troubleOf } from "./health-codes.ts";
export { databaseHealth, queueHealth } from "./health-components.ts";
export { aborted, catchInterrupts } from "./interrupts.ts";
export { lookAfter } from "./look-after-components.ts";
export { modelPrice } from "./model-price.ts";
export { openHealth } from "./open-health.ts";
export { openSandbox } from "./open-sandbox.ts";
export { openStack, type Stack } from "./open-stack.ts";
export { openStackOrServer } from "./open-stack-or-server.ts";
export { requireOwnWorker } from "./own-worker-only.ts";
export { presentBatchSummary } from "./present-batch.ts";
export {
  presentAsk,
  presentDifference,
  presentDoing,
  presentEvents,
  presentRun,
  presentRunSummary,
  presentWait,
  runAsJson,
} from "./present-run.ts";
export { openProcessLog } from "./process-log.ts";
export { supervisorRole, workerRole } from "./process-roles.ts";
export { claimProjectHome, hasDatabase } from "./project-home.ts";
export { type Caps, parseCount, readCaps, type WrittenCaps } from "./read-caps.ts";
export { readCatalogue } from "./read-catalogue.ts";
export { requireConfig } from "./require-config.ts";
export { retryRun } from "./retry-run.ts";
export { mayVoid, type RubricChange, rubricChange } from "./rubric-change.ts";
export { isSandboxChoice, type RunOptions, readRunOptions, writeRunOptions } from "./run-options.ts";
export { sandboxTrouble, tellSandboxTrouble } from "./sandbox-health.ts";
export { type ProcessRole, runProcess, serveProcess } from "./serve-process.ts";
export { readScript, type ScriptFile, serveScript } from "./serve-script.ts";
/** An error for programs that embed the stack. @public */
export { StackError, type StackErrorCode, stackErrorCodes } from "./stack-error.ts";
export type { StackLog } from "./stack-log.ts";
export { standingOf } from "./standing-of.ts";
export { keepScript, type StartRequest, startRun } from "./start-run.ts";
export { describeError, systemErrorCodes, tellError } from "./tell-error.ts";
export { createTroubleLog } from "./trouble-log.ts";
export { markmillVersion } from "./version.ts";
export { hasCommands, warnNoExecutor } from "./warn-no-executor.ts";
export { withModel } from "./with-model.ts";
export { workFailureCodes } from "./work-failure-codes.ts";
export { livingWorkers, mustWork, workFor, workForBatch } from "./work-for-run.ts";
/** An error for programs that embed the stack. @public */
export { WrongInput } from "./wrong-input.ts";
