export { type ActivityRef, activityKey, type CallStart, type Work, type WorkKind } from "./activity.ts";
export type { Command } from "./command.ts";
export type { Comparison, Condition } from "./condition.ts";
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
export type { Operand } from "./operand.ts";
export type * from "./program.ts";
export { type Active, initialState, type Phase, type RunState, type Spent } from "./state.ts";
