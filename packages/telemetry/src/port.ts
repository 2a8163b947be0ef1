/**
 * What the parts of the mill tell about their work. Where telemetry is off there is none of this (null), and nothing of the package is
 * loaded: everybody imports these types alone, and `stack` imports the rest when it is configured.
 *
 * T1  Ids, kinds, codes, numbers and durations only: no text of people, models, prompts, commands or files, no names, no secrets.
 * T2  Nothing here throws, waits or is waited for. What cannot be told is lost, and the run goes on.
 */
import type { QueueOption } from "./queue-telemetry.ts";

/** A run, as far as its trace is concerned. */
export interface TracedRun {
  readonly id: string;
  readonly rootId: string;
}

interface StartedRun extends TracedRun {
  /** The route that made it. */
  readonly route: string;
  /** W3C, as the request brought it; null: it brought none. */
  readonly traceparent: string | null;
  /** The root run that it goes on from, of a retry. */
  readonly forkOf: string | null;
  /** It was made by this request, not by an earlier one with the same key. */
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
  /** As the author's file names it; null: a node that a model planned. */
  readonly node: string | null;
  readonly generation: number;
  readonly attempt: number;
  /** 0: it was read, not claimed. */
  readonly claim: number;
  readonly takeovers: number;
  readonly queue: string;
  readonly job: string;
  /** Since it was asked for. */
  readonly askedMsAgo: number;
}

/** given back: somebody will do it again. */
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

/** One try of one activity, from its claim on. */
export interface Watched {
  /** A request to a model leaves now; `model` is a name of the catalogue. */
  modelCall(model: string, maxOutputTokens: number | null): (end: ModelCallEnd) => void;
  /** A command begins now. */
  command(kind: string, trust: string): (end: CommandEnd) => void;
  end(end: ActivityEnd): void;
}

/** A person was asked and has answered, or was asked in vain. */
interface AnsweredAsk {
  readonly run: TracedRun;
  readonly id: number;
  readonly attempt: number;
  readonly expired: boolean;
}

/** A figure as it stands, for whoever measures: `markmill_` and `name` in Prometheus, `markmill.` and `name` in OTLP. */
export interface Figure {
  readonly name: string;
  readonly help: string;
  readonly values: readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[];
}

export interface Telemetry {
  /** For the `telemetry` option of BullMQ's queues and workers. */
  readonly queue: QueueOption;
  /** What is enqueued in `enqueue` is enqueued for this run. */
  enqueuing<T>(run: TracedRun, enqueue: () => T): T;
  started(run: StartedRun): void;
  ended(run: EndedRun): void;
  answered(ask: AnsweredAsk): void;
  perform(activity: TracedActivity): Watched;
  /** Asked for the figures before every export; called again it takes the place of the first. */
  observe(names: readonly Pick<Figure, "name" | "help">[], read: () => Promise<readonly Figure[]>): void;
  /** Sends what is left, for no longer than a moment. */
  close(): Promise<void>;
}
