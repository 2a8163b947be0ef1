export { type ActivityRef, activityKey, type CallStart, type Work, type WorkKind } from "./activity.ts";
export type { Command, Message } from "./command.ts";
export type { Comparison, Condition } from "./condition.ts";
export { evaluateCondition } from "./evaluate-condition.ts";
export {
  type ActivityFailed,
  type ActivitySucceeded,
  type AskExpired,
  type Caller,
  type Event,
  noUsage,
  type Outcome,
  type RunCancelled,
  type RunLimited,
  type RunStarted,
  type Usage,
} from "./event.ts";
export { type Failure, type FailureCode, failure, failureCodes, type LimitCode, type NextStep } from "./failure.ts";
export { handlerAllowance, isSetting, limitSettingNames } from "./limits.ts";
export type { Operand } from "./operand.ts";
export { findPattern, searchPattern } from "./pattern/match-pattern.ts";
export { parsePattern } from "./pattern/parse-pattern.ts";
export type * from "./program.ts";
export { placesOf, render } from "./render.ts";
export { defaultRetry, retryAt } from "./retry.ts";
export { modelSettingNames } from "./settings.ts";
export { type Active, initialState, type Phase, type RunState, runStatuses, type Spent } from "./state.ts";
export { followStep, outstanding, type Step, step } from "./step.ts";
export type { Checked } from "./turn.ts";
