/**
 * Failures, named by what happens next. Every code the engine itself gives stands in `failureCodes` with its sentence; edges
 * (model, sandbox, store) bring codes of their own in the same shape.
 */
export interface Failure {
  readonly code: string;
  readonly message: string;
}

/**
 * retry: attempt + 1 after a wait, no step counted. park: the other side is in trouble, not the request; the activity waits for it, up to the
 * run's patience, and takes no edge. hold: what is missing on our side does not come by waiting (a key, a model); the activity waits until
 * the run is resumed. fail: the fail edge, else ON_FAILED, else FAILED.
 * unknown: interrupted in the act; repeated only where the node says that is safe.
 */
export type NextStep = "retry" | "park" | "hold" | "fail" | "unknown";

/** Who is in trouble, for people who wait. */
export interface Trouble {
  readonly model: string;
  readonly endpoint: string;
  readonly reason: string;
}

export const failureCodes = {
  CHECK_FALSE: "A check was false and no edge is drawn for that.",
  FAILED_REACHED: "The flow reached a FAILED node.",
  OUTCOME_UNKNOWN: "The work was interrupted, and it must not or could not be repeated.",
  CALL_FAILED: "The called workflow ended FAILED.",
  CALL_CANCELLED: "The called workflow was cancelled.",
  OUTCOME_INVALID: "What was brought back does not fit the activity.",
  NON_ZERO_EXIT: "A command ended with a non-zero exit code.",
  NO_COMMANDS: "RESULT holds no code block with commands.",
  ASK_EXPIRED: "Nobody answered in time.",
  READ_MISSING: "A required input has no value.",
  VALUE_INVALID: "A value is not one of those allowed here.",
  VALUE_TOO_LONG: "A text is longer than a value may be.",
  STATE_TOO_LONG: "The run would hold more text than it may.",
  MATCH_TOO_COSTLY: "Searching a text with MATCHES took more work than one step may.",
  FILE_MISSING: "A file named by the workflow was not found.",
  VERDICT_INVALID: "The evaluator's reply is no verdict, also after it was asked again.",
  CHOICE_INVALID: "The reply names none of the candidates, also after it was asked again.",
  PLAN_INVALID: "The reply is no valid plan, also after it was asked again.",
  LIFE_CYCLE_SPENT: "The work was split as often as allowed.",
  ITEMS_FAILED: "Too many items of a map failed.",
  STALLED: "A join waits for a branch that can no longer arrive.",
  NOT_CONNECTED: "A label has no edge.",
  SETTING_INVALID: "A setting is not a number where one is needed.",
  CANCELLED: "The run was cancelled.",
  ENGINE_BUG: "A defect in Markmill ended the run: please report it.",
  LIMIT_HITS: "A node was to run more often than allowed.",
  LIMIT_STEPS: "The run took more activities than allowed.",
  LIMIT_DEPTH: "Workflows call each other deeper than allowed.",
  LIMIT_RUNS: "A run and the workflows it calls are more runs than allowed.",
  LIMIT_COST: "The run's budget is spent.",
  LIMIT_TOKENS: "The run's tokens are spent.",
  LIMIT_CHARACTERS: "The run's characters are spent.",
  LIMIT_TIME: "The run's time is over.",
} as const;

export type FailureCode = keyof typeof failureCodes;
export type LimitCode = Extract<FailureCode, `LIMIT_${string}`>;

export function isLimit({ code }: Pick<Failure, "code">): boolean {
  return code.startsWith("LIMIT_");
}

/** Trouble of ours that says nothing about the work: no edge is taken for it, because an edge may lead to a grade. */
const ours: ReadonlySet<string> = new Set(["OUTCOME_UNKNOWN", "WORKER_CRASHED", "WORKER_BUG"]);

export function takesNoEdge(why: Pick<Failure, "code">): boolean {
  return isLimit(why) || ours.has(why.code) || why.code.startsWith("STORE_");
}

/** Hits bound the loops of one workflow: to its caller they are a failure like others. All other limits are the whole tree's. */
export function isTreeLimit(why: Pick<Failure, "code">): boolean {
  return isLimit(why) && why.code !== "LIMIT_HITS";
}

export function failure(code: FailureCode, detail?: string): Failure {
  return { code, message: detail ?? failureCodes[code] };
}
