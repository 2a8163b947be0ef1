export { type Doing, followRun, type Happening, type Look } from "./follow-run.ts";
export { type HealthServer, serveHealth } from "./health-server.ts";
export { aborted, catchInterrupts, type Interrupts } from "./interrupts.ts";
export { openSandbox } from "./open-sandbox.ts";
export { openStack, type Stack, type StackOptions, type WorkOptions } from "./open-stack.ts";
export { openStackOrServer } from "./open-stack-or-server.ts";
export { supervisorRole, workerRole } from "./process-roles.ts";
export { type Caps, parseCount, readCaps, type WrittenCaps } from "./read-caps.ts";
export { readCatalogue } from "./read-catalogue.ts";
export { type Place, requireConfig } from "./require-config.ts";
export { type RetriedRun, type RetryRequest, retryRun } from "./retry-run.ts";
export { runAsJson, standingOf, waitAsJson } from "./run-as-json.ts";
export { isSandboxChoice, type RunOptions } from "./run-options.ts";
export { type Begun, type ProcessRole, runProcess, type Surroundings, serveProcess } from "./serve-process.ts";
export { readScript, type ScriptFile, serveScript } from "./serve-script.ts";
/** @public */
export { StackError, type StackErrorCode, stackErrorCodes } from "./stack-error.ts";
export type { StackLog } from "./stack-log.ts";
export { keepScript, type StartRequest, startRun } from "./start-run.ts";
export { describeError, systemErrorCodes, type Told, tellError } from "./tell-error.ts";
export { markmillVersion } from "./version.ts";
export { livingWorkers, mustWork, workFor } from "./work-for-run.ts";
/** @public */
export { WrongInput } from "./wrong-input.ts";
