/**
 * What happened, past tense. The log of a run's events is its history: folding it with `step` from the initial state gives the
 * run's state again. Time and chance come with the event: `at` is milliseconds since 1970 by the database's clock, `seed` a
 * 32-bit number drawn by the edge.
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
  /** How many activities may begin with it, because runs of the same tree take their steps at the same time. Absent: as many as the run's own limit allows. */
  readonly room?: number;
}

/** Summed over all calls, failed ones too. Money is integer nanodollars. */
export interface Usage {
  readonly calls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly characters: number;
  readonly nanodollars: number;
}

/** Stands for a value of `environment` where an event is shown to others than those who operate. Such an event cannot be folded. */
export const redacted = "[redacted]";

export interface RunStarted extends Happened {
  readonly type: "run.started";
  /** The run's id; threads opened by the run are named after it. */
  readonly run: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string>>;
  /** Caps from the request or the caller, on top of the program's own. */
  readonly caps: Partial<Limits>;
  /** How long trouble of a model's endpoint is waited for; absent: what the program says, or the usual. */
  readonly patienceMs?: number;
  /** It has to wait for its turn, which counts for no limit of time: until it is admitted. */
  readonly queued?: true;
  /** What a call to start the run was told about it, for the record. */
  readonly notes?: readonly Failure[];
  /** Absent: the usual ones. */
  readonly bounds?: Bounds;
  /** What a called run shares with its caller; null for a root run. */
  readonly caller: Caller | null;
}

export interface Caller {
  readonly depth: number;
  readonly agent: string;
  readonly threads: Readonly<Record<string, string>>;
  /** Not to be spent below the caller: its handlers need it. */
  readonly aside?: Aside;
  /** The caller's settings and agents, for where the callee has none of its own. */
  readonly inherited?: Inherited;
}

export interface Aside {
  readonly nanodollars: number;
  readonly tokens: number;
  /** Absent: none. */
  readonly characters?: number;
}

export interface Inherited {
  readonly settings: ModelSettings;
  readonly agents: Readonly<Record<string, ModelSettings>>;
  /** What a person gave with the root run. It wins over the settings of workflows. */
  readonly chosen?: ModelSettings;
}

/** Never mixed up: ungradable is the student's cause, a grader error ours. */
type GradedAs = "graded" | "ungradable" | "grader error" | "needs human";

/** A tool call whose tool is a workflow, its arguments checked. */
export interface WorkflowCall {
  readonly tool: string;
  readonly place: ToolCallPlace;
  readonly variables: Readonly<Record<string, string>>;
}

/** What the edge brings back from an activity. */
export type Outcome =
  /** Nothing but "done", with what had to be read for it. */
  | {
      readonly kind: "done";
      readonly files?: Readonly<Record<string, string>>;
      readonly notes?: readonly string[];
    }
  /**
   * `notes`: what a person must know to trust the outcome, such as what was cut from the request. `said`: the text of a file it asked with.
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
      /** What the tests of a judge came to, as the text of TEST_RESULTS; absent: it left no results. */
      readonly tests?: string;
    }
  /**
   * What a work is worth, or why nobody can say. `grade` is the whole of it, in the form of packages/grading; `text` a few words for
   * people; `is` and `points` what the flow can ask for. points: null unless it is graded.
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
  /** The model calls workflows as tools; what they return is given back to it, by the same activity, when all have. */
  | { readonly kind: "called"; readonly calls: readonly WorkflowCall[] }
  /** A plan, translated by its dialect into a piece of program. */
  | { readonly kind: "planned"; readonly text: string; readonly fragment: Fragment }
  | {
      readonly kind: "returned";
      readonly status: "success" | "failed" | "cancelled";
      /** An expert's own word for its end; null where it has none. */
      readonly word: string | null;
      readonly result: string;
      /** Variables the callee assigned. */
      readonly variables: Readonly<Record<string, string>>;
      readonly reason: Failure | null;
      /** Activities of the callee and of those it called; absent: none. */
      readonly steps?: number;
      /** For how long the callee only waited, for a person or for somebody to resume it. */
      readonly idleMs?: number;
      /** When that was. Absent: it never did, or it ended before this was told. */
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
  /** The model's own wish. */
  readonly retryAfterMs: number | null;
  /** Of a park. */
  readonly trouble?: Trouble;
  readonly usage: Usage | null;
}

export interface AskExpired extends Happened {
  readonly type: "ask.expired";
  readonly epoch: number;
  readonly activity: ActivityRef;
}

/** Found by the supervisor, or by a reservation that was refused. */
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
/** A defect of ours: deciding the run's next step threw. It ends there, failed, instead of coming back for ever. */
export interface RunBroken extends Happened {
  readonly type: "run.broken";
  readonly message: string;
}
/** Stopped, to be resumed: what was in flight is discarded and asked again on resumption. */
export interface RunStopped extends Happened {
  readonly type: "run.stopped";
  /** For how long the runs it called, which end with the stop, only waited. What they return is never heard. */
  readonly idleMs?: number;
  /** When they only waited. Absent: only for how long is known. */
  readonly waits?: readonly Span[];
  /** Activities of those runs. */
  readonly steps?: number;
}
/** A stopped run goes on; of one that waits for a model, what is parked is tried at once, with new patience. */
export interface RunResumed extends Happened {
  readonly type: "run.resumed";
}
/** A run that was queued begins. Only one with a limit of time needs to know. */
interface RunAdmitted extends Happened {
  readonly type: "run.admitted";
}
/** The events before this one are another run's. What was in flight after them is asked for again; time and money count from here. */
export interface RunForked extends Happened {
  readonly type: "run.forked";
  readonly from: string;
  /** The last event taken over. */
  readonly seq: number;
  readonly caps: Partial<Limits>;
  /** Keys of calls whose called run was forked too: they wait for that one. */
  readonly left: readonly string[];
  /** Of a called run: not to be spent here, as its caller's fork has it. */
  readonly aside?: Aside;
  /** The workspace was taken over. */
  readonly files?: true;
  /**
   * With another program: all that the run knew but its environment, which its first event has, and the nodes that begin (carry-to-program.ts).
   * What was folded before counts no more.
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
