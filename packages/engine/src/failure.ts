/**
 * Failures, named by what happens next. `failureCodes` contains every code of the engine with its explanation. Models, the sandbox and the
 * store add codes of their own in the same form.
 */
export interface Failure {
  readonly code: string;
  readonly message: string;
}

/**
 * retry: attempt + 1 after a wait; no step is counted.
 * park: the other side is in trouble, not the request. The activity waits up to the run's patience and takes no edge.
 * hold: something is missing on our side (a key, a model), and waiting does not help. The activity waits until the run is resumed.
 * fail: the fail edge, else ON_FAILED, else FAILED.
 * unknown: the activity was interrupted. It is repeated only where the node states that this is safe.
 */
export type NextStep = "retry" | "park" | "hold" | "fail" | "unknown";

/** The model and endpoint in trouble, shown to people who wait. */
export interface Trouble {
  readonly model: string;
  readonly endpoint: string;
  readonly reason: string;
}

/** The explanation of a code and the way to fix it. */
export interface CodeEntry {
  readonly means: string;
  readonly fix: string;
}

export const failureCodes = {
  CHECK_FALSE: {
    means: "A check was false and no edge is drawn for that.",
    fix: "Draw a FALSE edge if the run should go on.",
  },
  FAILED_REACHED: {
    means: "The flow reached a FAILED node.",
    fix: "Nothing: the workflow was written so. The nodes before it say why.",
  },
  OUTCOME_UNKNOWN: {
    means: "The work was interrupted, and it must not or could not be repeated.",
    fix: "Look at what it did outside, then `markmill retry RUN`.",
  },
  CALL_FAILED: { means: "The called workflow ended FAILED.", fix: "Look at the called run; its reason is the cause." },
  CALL_CANCELLED: { means: "The called workflow was cancelled.", fix: "Start the run again, or `markmill retry` it." },
  OUTCOME_INVALID: {
    means: "What was brought back does not fit the activity.",
    fix: "This is a defect in Markmill, or workers of different versions: please report it.",
  },
  NON_ZERO_EXIT: {
    means: "A command ended with a non-zero exit code.",
    fix: "Read its output; draw a FALSE edge if the run should go on.",
  },
  NO_COMMANDS: {
    means: "RESULT holds no code block with commands.",
    fix: "Tell the model in its prompt to write the commands into a code block.",
  },
  ASK_EXPIRED: {
    means: "Nobody answered in time.",
    fix: "Give the ASK a default or a longer timeout, or draw a FALSE edge.",
  },
  READ_MISSING: {
    means: "A required input has no value.",
    fix: "Write it before it is read, or make the input optional.",
  },
  VALUE_INVALID: {
    means: "A value is not one of those allowed here.",
    fix: "Correct the value that the message names.",
  },
  VALUE_TOO_LONG: {
    means: "A text is longer than a value may be.",
    fix: "Shorten it, keep it in a file, or let the operator raise CEILING_VALUE_CHARS.",
  },
  STATE_TOO_LONG: {
    means: "The run would hold more text than it may.",
    fix: "Set variables that are no longer needed to nothing, keep texts in files, or let the operator raise CEILING_STATE_CHARS.",
  },
  NUMBER_UNCLEAR: {
    means:
      "A check compares a value as a number, and the value can be read as two different numbers. No edge is taken.",
    fix: "Say which number and separator the CHECK means (number: last, decimal: comma), or let the model answer with a number alone.",
  },
  CONDITION_NOT_NUMERIC: {
    means: "A condition compares numbers, and one of its sides is none.",
    fix: "Tell the model to answer with a number alone, or give the step a fallback. A CHECK takes no edge then.",
  },
  MATCH_TOO_COSTLY: {
    means: "Searching a text with MATCHES took more work than one step may.",
    fix: "Simplify the pattern, or search a shorter text.",
  },
  FILE_MISSING: {
    means: "A file named by the workflow was not found.",
    fix: "Check the path, and what came with the submission.",
  },
  VERDICT_INVALID: {
    means: "The evaluator's reply is no verdict, also after it was asked again.",
    fix: "Say in the prompt how the verdict is to be written, or use another model.",
  },
  CHOICE_INVALID: {
    means: "The reply names none of the candidates, also after it was asked again.",
    fix: "Say in the prompt how the choice is to be written, or use another model.",
  },
  PLAN_INVALID: {
    means: "The reply is no valid plan, also after it was asked again.",
    fix: "Say in the prompt how a plan is to be written, or use another model.",
  },
  RUBRIC_ABSENT: {
    means: "A GRADE has no rubric to judge by.",
    fix: "Write a section # Rubric, or name a file with rubric: in the front matter.",
  },
  GRADER_ERROR: {
    means:
      "The work could not be graded, and not by its author's fault: mostly the tests gave no results that can be used.",
    fix: "Read the message, mend the tests, and grade the work again.",
  },
  LIFE_CYCLE_SPENT: {
    means: "The work was split as often as allowed.",
    fix: "Raise the number of splits, or give the work in smaller parts.",
  },
  ITEMS_FAILED: { means: "Too many items of a map failed.", fix: "Look at the items' own failures." },
  STALLED: {
    means: "A join waits for a branch that can no longer arrive.",
    fix: "Draw an edge from the branch for the outcome it had.",
  },
  NOT_CONNECTED: { means: "A label has no edge.", fix: "Draw an edge for it." },
  SETTING_INVALID: {
    means: "A setting is not a number where one is needed.",
    fix: "Give the parameter that the message names a number.",
  },
  CANCELLED: { means: "The run was cancelled.", fix: "Start it again if that was a mistake." },
  ENGINE_BUG: {
    means: "A defect in Markmill ended the run: please report it.",
    fix: "Report it with the output of `markmill history RUN`.",
  },
  LIMIT_HITS: {
    means: "A node was to run more often than allowed.",
    fix: "Let a check leave the loop, or raise limits.hits or MAX_ACTIVITY_HITS.",
  },
  LIMIT_STEPS: {
    means: "The run took more activities than allowed.",
    fix: "Let a check leave the loop, or raise limits.steps or MAX_STEPS.",
  },
  LIMIT_DEPTH: {
    means: "Workflows call each other deeper than allowed.",
    fix: "Let a check end the recursion, or raise limits.depth.",
  },
  LIMIT_RUNS: {
    means: "A run and the workflows it calls are more runs than allowed.",
    fix: "Call fewer workflows, or let the operator raise CEILING_RUNS.",
  },
  LIMIT_COST: {
    means: "The run's budget is spent.",
    fix: "Raise limits.cost, MAX_COST or --budget, or use a cheaper model.",
  },
  LIMIT_TOKENS: {
    means: "The run's tokens are spent.",
    fix: "Raise limits.tokens, MAX_TOKENS or --max-tokens, or shorten the prompts.",
  },
  LIMIT_CHARACTERS: {
    means: "The run's characters are spent.",
    fix: "Raise limits.characters or MAX_CHARACTERS, or shorten the prompts.",
  },
  LIMIT_TIME: { means: "The run's time is over.", fix: "Raise limits.time, MAX_DURATION or --max-time." },
} as const satisfies Record<string, CodeEntry>;

export type FailureCode = keyof typeof failureCodes;
export type LimitCode = Extract<FailureCode, `LIMIT_${string}`>;

export function isLimit({ code }: Pick<Failure, "code">): boolean {
  return code.startsWith("LIMIT_");
}

/** Our own failures. They say nothing about the submission and take no edge, because an edge may lead to a grade. */
const ours: ReadonlySet<string> = new Set(["OUTCOME_UNKNOWN", "WORKER_CRASHED", "WORKER_BUG"]);

export function takesNoEdge(why: Pick<Failure, "code">): boolean {
  return isLimit(why) || ours.has(why.code) || why.code.startsWith("STORE_");
}

/**
 * The limit of hits bounds the loops of one workflow, so its caller treats it as an ordinary failure. All other limits concern the whole
 * tree.
 */
export function isTreeLimit(why: Pick<Failure, "code">): boolean {
  return isLimit(why) && why.code !== "LIMIT_HITS";
}

export function failure(code: FailureCode, detail?: string): Failure {
  return { code, message: detail ?? failureCodes[code].means };
}
