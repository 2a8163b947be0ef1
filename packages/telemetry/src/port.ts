/**
 * The interface through which the other packages report their work. If telemetry is off, it is null and nothing of this package is loaded:
 * other packages import only these types, and `stack` imports the rest when telemetry is configured.
 *
 * T1  Only ids, kinds, codes, numbers and durations: no text of people, models, prompts, commands or files, no names, no secrets.
 * T2  No function here throws or waits, and no caller waits for it. Data that cannot be reported is lost, and the run continues.
 */
import type { QueueOption } from "./queue-telemetry.ts";

/** The fields of a run that its trace needs. */
export interface TracedRun {
  readonly id: string;
  readonly rootId: string;
}

interface StartedRun extends TracedRun {
  /** The route that created it. */
  readonly route: string;
  /** The W3C header of the request; null: the request had none. */
  readonly traceparent: string | null;
  /** For a retry: the root run that it continues. */
  readonly forkOf: string | null;
  /** Whether this request created it, and not an earlier one with the same key. */
  readonly created: boolean;
  readonly tookMs: number;
}

interface EndedRun extends TracedRun {
  /** The CALL that waited for it; null: a root run. */
  readonly parent: { readonly activityId: number; readonly attempt: number } | null;
  readonly definitionHash: string;
  readonly status: "success" | "failed" | "cancelled";
  readonly code: string | null;
  readonly lastedMs: number;
  readonly spent: Spent & { readonly steps: number };
}

export interface Spent {
  readonly calls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly nanodollars: number;
}

export interface TracedActivity {
  readonly run: TracedRun;
  readonly id: number;
  readonly kind: string;
  /** The node's name in the author's file; null: a node that a model planned. */
  readonly node: string | null;
  readonly generation: number;
  readonly attempt: number;
  /** 0: the activity was read, not claimed. */
  readonly claim: number;
  readonly takeovers: number;
  readonly queue: string;
  readonly job: string;
  /** Milliseconds since the activity was requested. */
  readonly askedMsAgo: number;
}

/** given back: released, so that another worker performs it. */
export type ActivityEnd =
  | { readonly did: "succeed"; readonly spent: Spent | null; readonly exitCode?: number }
  | { readonly did: "fail"; readonly code: string; readonly next: string; readonly spent: Spent | null }
  | { readonly did: "give back" };

type ModelCallEnd =
  | {
      readonly did: "reply";
      readonly model: string;
      readonly finishReason: string;
      readonly promptTokens: number;
      readonly completionTokens: number;
      readonly nanodollars: number;
    }
  | { readonly did: "fail"; readonly code: string };

type CommandEnd =
  | {
      readonly did: "end";
      readonly exitCode: number | null;
      readonly timedOut: string | false;
      readonly outOfMemory: boolean;
      readonly outputBytes: number;
    }
  | { readonly did: "fail"; readonly code: string };

/** One attempt of one activity, from its claim on. */
export interface Watched {
  /** Reports that a request to a model leaves now; `model` is a name of the catalogue. */
  modelCall(model: string, maxOutputTokens: number | null): (end: ModelCallEnd) => void;
  /** Reports that a command starts now. */
  command(kind: string, trust: string): (end: CommandEnd) => void;
  end(end: ActivityEnd): void;
}

/** A question to a person that was answered, or that expired. */
interface AnsweredAsk {
  readonly run: TracedRun;
  readonly id: number;
  readonly attempt: number;
  readonly expired: boolean;
}

/** A current metric value. Its name is `markmill_` and `name` in Prometheus, `markmill.` and `name` in OTLP. */
export interface Figure {
  readonly name: string;
  readonly help: string;
  readonly values: readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[];
}

export interface Telemetry {
  /** For the `telemetry` option of BullMQ's queues and workers. */
  readonly queue: QueueOption;
  /** Assigns the jobs that `ring` enqueues to this run's trace. */
  enqueuing<T>(run: TracedRun, enqueue: () => T): T;
  started(run: StartedRun): void;
  ended(run: EndedRun): void;
  answered(ask: AnsweredAsk): void;
  perform(activity: TracedActivity): Watched;
  /** Reads the figures before every export. A second call replaces the first. */
  observe(names: readonly Pick<Figure, "name" | "help">[], read: () => Promise<readonly Figure[]>): void;
  /** Sends the remaining data, but waits only a moment. */
  close(): Promise<void>;
}
