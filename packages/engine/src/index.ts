export { type ActivityRef, activityKey, type Work, type WorkKind } from "./activity.ts";
export { type Bounds, defaultBounds, outcomeExcess, weighState } from "./bounds.ts";
export { carryOver } from "./carry-to-program.ts";
export type { Command } from "./command.ts";
export type { Comparison, Condition } from "./condition.ts";
export { conditionOperands } from "./condition-operands.ts";
export {
  type Aside,
  type Caller,
  type Event,
  type Outcome,
  type RunForked,
  type RunStarted,
  redacted,
  type Usage,
  type WorkflowCall,
} from "./event.ts";
export {
  type Failure,
  failure,
  failureCodes,
  isLimit,
  isTreeLimit,
  type LimitCode,
  type NextStep,
  type Trouble,
} from "./failure.ts";
export { commandPlaces, fillCommand } from "./fill-command.ts";
export { type ForkPoint, forkAtFailure, forkAtNode } from "./fork.ts";
export { usualGrading } from "./grading.ts";
export { deadlineWith, merged, waited, waitsUntil } from "./idle.ts";
export { type Delivery, type JobSpec, type QueueName, queueNames, type WorkQueue } from "./job-spec.ts";
export { findMisfits, type SchemaFinding, schemaProblem } from "./json-schema.ts";
export {
  asideOf,
  isSetting,
  limitSettingNames,
  ownReserved,
  type ReservedLimits,
  remainingCaps,
  stepLimit,
} from "./limits.ts";
export { calleeFailure } from "./nodes/call.ts";
export type { Operand } from "./operand.ts";
export { parseShallow } from "./parse-shallow.ts";
export { parsePattern } from "./pattern/parse-pattern.ts";
export type * from "./program.ts";
export { looksNumeric, type NumberReading, readNumber } from "./read-number.ts";
export { placesOf } from "./render.ts";
export { actsInSession, runsCommands } from "./session-tools.ts";
export { settingProblem } from "./setting-ranges.ts";
export { modelSettingNames } from "./settings.ts";
export { sharesSteps } from "./shared-steps.ts";
export { type Active, initialState, type Parked, type Phase, type RunState, runStatuses, type Span } from "./state.ts";
export { countedStep, followStep, step } from "./step.ts";
export {
  type BuiltinName,
  builtinNames,
  builtinTools,
  type HttpTool,
  type SandboxTool,
  type Tool,
  type ToolCallPlace,
  type ToolHeader,
  toolMethods,
  toolNamePattern,
  type WorkflowTool,
} from "./tool.ts";
export type { Begun, Checked, FailedStep } from "./turn.ts";
export { visibleJson, visibleText } from "./visible-text.ts";
export { warningCodes } from "./warning-codes.ts";
export { type InlineKind, inlineKindOf, inlineWork, isLeased, kindsWhere, workKinds } from "./work-kinds.ts";
export { awaitsCalls } from "./workflow-tools.ts";
