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
    means: "A check was false, but the node has no FALSE edge.",
    fix: "Draw a FALSE edge if the run should continue.",
  },
  FAILED_REACHED: {
    means: "The flow reached a FAILED node.",
    fix: "Read the results of the nodes before it. The workflow ends this way by design.",
  },
  OUTCOME_UNKNOWN: {
    means: "The activity was interrupted, and it may not or cannot be repeated.",
    fix: "Check its effects on other systems, then run `markmill retry RUN`.",
  },
  CALL_FAILED: { means: "The called workflow ended FAILED.", fix: "Read the reason of the called run." },
  CALL_CANCELLED: { means: "The called workflow was cancelled.", fix: "Start the run again, or `markmill retry` it." },
  OUTCOME_INVALID: {
    means: "The result has the wrong type for the activity.",
    fix: "This is a defect in Markmill, or the workers have different versions. Please report it.",
  },
  NON_ZERO_EXIT: {
    means: "A command ended with a non-zero exit code.",
    fix: "Read its output. Draw a FALSE edge if the run should continue.",
  },
  NO_COMMANDS: {
    means: "RESULT contains no code block with commands.",
    fix: "Tell the model in its prompt to write the commands into a code block.",
  },
  ASK_EXPIRED: {
    means: "The question expired without an answer.",
    fix: "Give the ASK a default or a longer timeout, or draw a FALSE edge.",
  },
  READ_MISSING: {
    means: "A required input has no value.",
    fix: "Set the input before it is read, or make it optional.",
  },
  VALUE_INVALID: {
    means: "A value is not allowed here.",
    fix: "Correct the value that the message names.",
  },
  VALUE_TOO_LONG: {
    means: "A text is too long for a value.",
    fix: "Shorten the text, store it in a file, or let the operator raise CEILING_VALUE_CHARS.",
  },
  STATE_TOO_LONG: {
    means: "The texts of the run are too long in total.",
    fix: "Empty variables that you no longer need, store texts in files, or let the operator raise CEILING_STATE_CHARS.",
  },
  NUMBER_UNCLEAR: {
    means:
      "A check compares a value as a number, but the value can be read as two different numbers. The run takes no edge.",
    fix: "Set the number and the separator on the CHECK (number: last, decimal: comma), or let the model answer with only a number.",
  },
  CONDITION_NOT_NUMERIC: {
    means: "A condition compares numbers, but one of its sides is not a number.",
    fix: "Tell the model to answer with only a number, or give the step a fallback. Otherwise, a CHECK takes no edge.",
  },
  MATCH_TOO_COSTLY: {
    means: "The search of a text with MATCHES exceeded the limit for one step.",
    fix: "Simplify the pattern, or search a shorter text.",
  },
  FILE_MISSING: {
    means: "A file named by the workflow was not found.",
    fix: "Check the path and the files of the submission.",
  },
  VERDICT_INVALID: {
    means: "The evaluator's reply is not a verdict, even after a second request.",
    fix: "Describe the format of the verdict in the prompt, or use another model.",
  },
  CHOICE_INVALID: {
    means: "The reply names none of the candidates, even after a second request.",
    fix: "Describe the format of the choice in the prompt, or use another model.",
  },
  PLAN_INVALID: {
    means: "The reply is not a valid plan, even after a second request.",
    fix: "Describe the format of a plan in the prompt, or use another model.",
  },
  RUBRIC_ABSENT: {
    means: "A GRADE has no rubric.",
    fix: "Add a section # Rubric, or name a file with rubric: in the front matter.",
  },
  GRADER_ERROR: {
    means:
      "The submission could not be graded, and the student is not at fault. In most cases, the tests gave no usable results.",
    fix: "Read the message, correct the tests, and grade the submission again.",
  },
  LIFE_CYCLE_SPENT: {
    means: "The task was split too often.",
    fix: "Raise the number of splits, or divide the task into smaller parts.",
  },
  ITEMS_FAILED: { means: "Too many items of a map failed.", fix: "Read the failures of the items." },
  STALLED: {
    means: "A join waits for a branch that cannot arrive any more.",
    fix: "Draw an edge from the branch for its outcome.",
  },
  NOT_CONNECTED: { means: "A label has no edge.", fix: "Draw an edge for the label." },
  SETTING_INVALID: {
    means: "A setting must be a number, but it is not.",
    fix: "Set the parameter in the message to a number.",
  },
  CANCELLED: { means: "The run was cancelled.", fix: "Start the run again if this was a mistake." },
  ENGINE_BUG: {
    means: "A defect in Markmill ended the run.",
    fix: "Please report the defect with the output of `markmill history RUN`.",
  },
  LIMIT_HITS: {
    means: "A node reached its limit of visits.",
    fix: "Let a check leave the loop, or raise limits.hits or MAX_ACTIVITY_HITS.",
  },
  LIMIT_STEPS: {
    means: "The run reached its limit of activities.",
    fix: "Let a check leave the loop, or raise limits.steps or MAX_STEPS.",
  },
  LIMIT_DEPTH: {
    means: "Workflows call each other too deeply.",
    fix: "Let a check end the recursion, or raise limits.depth.",
  },
  LIMIT_RUNS: {
    means: "A run and its called workflows reached the limit of runs.",
    fix: "Call fewer workflows, or let the operator raise CEILING_RUNS.",
  },
  LIMIT_COST: {
    means: "The run's budget is spent.",
    fix: "Raise limits.cost, MAX_COST or --budget, or use a cheaper model.",
  },
  LIMIT_TOKENS: {
    means: "The run reached its limit of tokens.",
    fix: "Raise limits.tokens, MAX_TOKENS or --max-tokens, or shorten the prompts.",
  },
  LIMIT_CHARACTERS: {
    means: "The run reached its limit of characters.",
    fix: "Raise limits.characters or MAX_CHARACTERS, or shorten the prompts.",
  },
  LIMIT_TIME: { means: "The run reached its time limit.", fix: "Raise limits.time, MAX_DURATION or --max-time." },
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
