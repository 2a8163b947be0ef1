/**
 * What happened, past tense. The log of a run's events is its history: folding it with `step` from the initial state gives the
 * run's state again. Time and chance come with the event: `at` is milliseconds since 1970 by the database's clock, `seed` a
 * 32-bit number drawn by the edge.
 */
import type { ActivityRef } from "./activity.ts";
import type { Failure, LimitCode, NextStep } from "./failure.ts";
import type { Fragment, Limits } from "./program.ts";

interface Happened {
  readonly at: number;
  readonly seed: number;
}

/** Summed over all calls, failed ones too. Money is integer nanodollars. */
export interface Usage {
  readonly calls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly characters: number;
  readonly nanodollars: number;
}

export interface RunStarted extends Happened {
  readonly type: "run.started";
  /** The run's id; threads opened by the run are named after it. */
  readonly run: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string>>;
  /** Caps from the request or the caller, on top of the program's own. */
  readonly caps: Partial<Limits>;
  /** What a called run shares with its caller; null for a root run. */
  readonly caller: Caller | null;
}

export interface Caller {
  readonly depth: number;
  readonly agent: string;
  readonly threads: Readonly<Record<string, string>>;
  readonly handler: boolean;
}

/** What the edge brings back from an activity. */
export type Outcome =
  /** Nothing but "done", with what had to be read for it. */
  | {
      readonly kind: "done";
      readonly files?: Readonly<Record<string, string>>;
      readonly notes?: readonly string[];
    }
  /** `notes`: what a person must know to trust the outcome, such as what was cut from the request. `said`: the text of a file it asked with. */
  | { readonly kind: "replied"; readonly text: string; readonly notes?: readonly string[]; readonly said?: string }
  | {
      readonly kind: "executed";
      readonly text: string;
      readonly exitCode: number;
      readonly commands: number;
      readonly notes?: readonly string[];
    }
  | { readonly kind: "answered"; readonly text: string }
  | { readonly kind: "produced"; readonly text: string }
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
/** Held, to be resumed: what was in flight is discarded and asked again on resumption. */
export interface RunStopped extends Happened {
  readonly type: "run.stopped";
}
export interface RunResumed extends Happened {
  readonly type: "run.resumed";
}

export type Event =
  | RunStarted
  | ActivitySucceeded
  | ActivityFailed
  | AskExpired
  | RunLimited
  | RunCancelled
  | RunStopped
  | RunResumed;

export const noUsage: Usage = { calls: 0, promptTokens: 0, completionTokens: 0, characters: 0, nanodollars: 0 };
