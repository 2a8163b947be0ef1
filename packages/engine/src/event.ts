/**
 * Events record what happened, in the past tense. The log of a run's events is its history: folding it with `step` from the initial state
 * restores the run's state. Each event carries time and chance: `at` is milliseconds since 1970 by the database's clock, and `seed` is a
 * random 32-bit number drawn outside the engine.
 */
import type { ActivityRef } from "./activity.ts";
import type { Bounds } from "./bounds.ts";
import type { Failure, LimitCode, NextStep, Trouble } from "./failure.ts";
import type { Fragment, Json, Limits, ModelSettings, NodeId } from "./program.ts";
import type { RunState, Span } from "./state.ts";
import type { ToolCallPlace } from "./tool.ts";

interface Happened {
  readonly at: number;
  readonly seed: number;
  /**
   * How many activities may begin with this event, because other runs of the same tree take steps at the same time. Default: the run's own
   * limit.
   */
  readonly room?: number;
}

/** The sum over all calls, including failed ones. Money is integer nanodollars. */
export interface Usage {
  readonly calls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly characters: number;
  readonly nanodollars: number;
}

/** Replaces a value of `environment` where people other than the operators see an event. Such an event cannot be folded. */
export const redacted = "[redacted]";

export interface RunStarted extends Happened {
  readonly type: "run.started";
  /** The run's id. Threads that the run opens are named after it. */
  readonly run: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string>>;
  /** Caps from the request or the caller, in addition to the program's own limits. */
  readonly caps: Partial<Limits>;
  /** How long the run waits when a model's endpoint is in trouble. Default: the program's value, or the usual one. */
  readonly patienceMs?: number;
  /** The run waits for a free slot. This waiting time counts for no limit. */
  readonly queued?: true;
  /** Notes about the request that started the run, kept for the record. */
  readonly notes?: readonly Failure[];
  /** Default: the usual bounds. */
  readonly bounds?: Bounds;
  /** Data that a called run shares with its caller; null for a root run. */
  readonly caller: Caller | null;
}

export interface Caller {
  readonly depth: number;
  readonly agent: string;
  readonly threads: Readonly<Record<string, string>>;
  /** The part of the budget that callees must not spend, because the caller's handlers need it. */
  readonly aside?: Aside;
  /** The caller's settings and agents. The callee uses them where it has none of its own. */
  readonly inherited?: Inherited;
}

export interface Aside {
  readonly nanodollars: number;
  readonly tokens: number;
  /** Default: none. */
  readonly characters?: number;
}

export interface Inherited {
  readonly settings: ModelSettings;
  readonly agents: Readonly<Record<string, ModelSettings>>;
  /** The settings that a person gave with the root run. They take precedence over the settings of workflows. */
  readonly chosen?: ModelSettings;
}

/** These are never mixed up: "ungradable" is caused by the student, "grader error" by us. */
type GradedAs = "graded" | "ungradable" | "grader error" | "needs human";

/** A tool call whose tool is a workflow. Its arguments have been checked. */
export interface WorkflowCall {
  readonly tool: string;
  readonly place: ToolCallPlace;
  readonly variables: Readonly<Record<string, string>>;
}

/** The result that the worker brings back from an activity. */
export type Outcome =
  /** The activity is done. It returns only the files that it had to read. */
  | {
      readonly kind: "done";
      readonly files?: Readonly<Record<string, string>>;
      readonly notes?: readonly string[];
    }
  /**
   * `notes`: facts that a person needs to trust the outcome, for example parts that were cut from the request.
   * `said`: the text of the file that was sent as the prompt.
   * `cut`: the reply ended at the limit of output tokens, not where the model would have ended it.
   */
  | {
      readonly kind: "replied";
      readonly text: string;
      readonly notes?: readonly string[];
      readonly said?: string;
      readonly cut?: "length";
    }
  | {
      readonly kind: "executed";
      readonly text: string;
      readonly exitCode: number;
      readonly commands: number;
      readonly notes?: readonly string[];
      /** The results of the judge's tests, as the text of TEST_RESULTS. Absent if the judge left no results. */
      readonly tests?: string;
    }
  /**
   * The grade of a submission, or the reason why there is none. `grade` is the complete grade in the form of packages/grading, and `text`
   * is a short summary for people. The flow can use `is` and `points` in conditions. `points` is null unless the submission is graded.
   */
  | {
      readonly kind: "graded";
      readonly is: GradedAs;
      readonly points: number | null;
      readonly text: string;
      readonly grade: Json;
      readonly notes?: readonly string[];
    }
  | { readonly kind: "answered"; readonly text: string }
  | { readonly kind: "produced"; readonly text: string; readonly notes?: readonly string[] }
  /** The model calls workflows as tools. When all have returned, the same activity passes their results to the model. */
  | { readonly kind: "called"; readonly calls: readonly WorkflowCall[] }
  /** A plan that its dialect translated into a fragment of a program. */
  | { readonly kind: "planned"; readonly text: string; readonly fragment: Fragment }
  | {
      readonly kind: "returned";
      readonly status: "success" | "failed" | "cancelled";
      /** The status word of an expert's end; null if it has none. */
      readonly word: string | null;
      readonly result: string;
      /** The variables that the callee assigned. */
      readonly variables: Readonly<Record<string, string>>;
      readonly reason: Failure | null;
      /** Activities of the callee and of its own callees. Default: none. */
      readonly steps?: number;
      /** How long the callee only waited, for a person or to be resumed. */
      readonly idleMs?: number;
      /** The periods of that waiting. Absent if there were none, or if the callee ended before periods were recorded. */
      readonly waits?: readonly Span[];
    };

export interface ActivitySucceeded extends Happened {
  readonly type: "activity.succeeded";
  readonly epoch: number;
  readonly activity: ActivityRef;
  readonly outcome: Outcome;
  readonly usage: Usage | null;
}

export interface ActivityFailed extends Happened {
  readonly type: "activity.failed";
  readonly epoch: number;
  readonly activity: ActivityRef;
  readonly failure: Failure;
  readonly next: NextStep;
  /** The wait in ms that the model's endpoint requested. */
  readonly retryAfterMs: number | null;
  /** Only if `next` is "park". */
  readonly trouble?: Trouble;
  readonly usage: Usage | null;
}

export interface AskExpired extends Happened {
  readonly type: "ask.expired";
  readonly epoch: number;
  readonly activity: ActivityRef;
}

/** Created by the supervisor, or when a reservation is refused. */
export interface RunLimited extends Happened {
  readonly type: "run.limited";
  readonly epoch: number;
  readonly code: LimitCode;
  readonly message: string;
}

export interface RunCancelled extends Happened {
  readonly type: "run.cancelled";
  readonly message: string;
}
/** A bug of ours: deciding the run's next step threw an error. The run ends as failed, so that it is not retried for ever. */
export interface RunBroken extends Happened {
  readonly type: "run.broken";
  readonly message: string;
}
/** The run is stopped and can be resumed. Activities in flight are discarded and requested again after the resume. */
export interface RunStopped extends Happened {
  readonly type: "run.stopped";
  /** How long the called runs only waited. They end with the stop, so this run never receives their results. */
  readonly idleMs?: number;
  /** The periods of that waiting. If absent, only the duration is known. */
  readonly waits?: readonly Span[];
  /** The number of activities of those runs. */
  readonly steps?: number;
}
/** A stopped run continues. If a run waits for a model, its parked activities are retried at once with new patience. */
export interface RunResumed extends Happened {
  readonly type: "run.resumed";
}
/** A queued run begins. Only a run with a time limit needs this event. */
interface RunAdmitted extends Happened {
  readonly type: "run.admitted";
}
/** The events before this one belong to another run. Activities that were in flight are requested again. Time and money count from here. */
export interface RunForked extends Happened {
  readonly type: "run.forked";
  readonly from: string;
  /** The last event that was taken over. */
  readonly seq: number;
  readonly caps: Partial<Limits>;
  /** Keys of calls whose called run was forked too. The calls wait for that fork. */
  readonly left: readonly string[];
  /** Only for a called run: the part of the budget that it must not spend, as in its caller's fork. */
  readonly aside?: Aside;
  /** The workspace was taken over. */
  readonly files?: true;
  /**
   * Only for a fork with another program: the whole state except the environment, which comes from the first event, and the nodes that
   * begin (carry-to-program.ts). Earlier folded events no longer count.
   */
  readonly carried?: { readonly state: RunState; readonly begins: readonly NodeId[] };
}

export type Event =
  | RunStarted
  | ActivitySucceeded
  | ActivityFailed
  | AskExpired
  | RunLimited
  | RunCancelled
  | RunBroken
  | RunStopped
  | RunResumed
  | RunAdmitted
  | RunForked;

export const noUsage: Usage = { calls: 0, promptTokens: 0, completionTokens: 0, characters: 0, nanodollars: 0 };
