/**
 * The complete state of a run. It is plain JSON: `JSON.parse(JSON.stringify(state))` gives the same state. It does not grow with the
 * history: a finished activity leaves only its writes, a hit and its consumption.
 *
 * S1  While a run is doing or handling, `active` contains exactly the activities that were requested (`perform`, `retry`) and have no
 *     result yet, and those that wait to be requested again: held (`hold`), or waiting for workflows that their model called (`await`).
 *     While the run is stopped, `active` contains the activities that the resume will request again.
 * S2  After `phase` is ended, nothing changes any more.
 * S3  The epoch only grows.
 */
import type { ActivityRef } from "./activity.ts";
import { type Bounds, defaultBounds } from "./bounds.ts";
import { type Aside, type Inherited, noUsage, type Outcome, type Usage } from "./event.ts";
import type { Failure, Trouble } from "./failure.ts";
import type { Edge, Limits, Node, NodeId, Role } from "./program.ts";

export type Phase =
  | { readonly is: "created" }
  | { readonly is: "doing" }
  /** `of` names the handler that runs. `from` is the run's consumption when the handler began, for the handler's own allowance. */
  | {
      readonly is: "handling";
      readonly of: "success" | "failed";
      readonly reason: Failure | null;
      readonly from: Spent;
      /** The handler's own deadline. */
      readonly until: number | null;
      /** How the run ended. The handler does not change this. */
      readonly ended: Ended;
    }
  | { readonly is: "stopped"; readonly was: "doing" | HandlingPhase }
  | { readonly is: "ended"; readonly status: "success" | "failed" | "cancelled"; readonly reason: Failure | null };
export type HandlingPhase = Extract<Phase, { is: "handling" }>;

/** The end of a run as it was before its handler began. RESULT and ERROR are the variables; `result` is the value of the result rule. */
export interface Ended {
  readonly result: string;
  readonly word: string | null;
  readonly RESULT: string;
  readonly ERROR: string | null;
  /** The evidence that a caller receives, independent of the handler's commands. Absent if the handler began before runs stored it. */
  readonly evidence?: Readonly<Record<string, string>>;
}

interface Spent extends Usage {
  readonly steps: number;
}

export interface Active {
  readonly ref: ActivityRef;
  /** Position in the order in which activities became ready. */
  readonly order: number;
  readonly notBefore: number | null;
  /** The named reads, as resolved when the visit began. */
  readonly reads: Readonly<Record<string, string>>;
  /** Elements that the reads removed from lists. If the node fails, they are put back. */
  readonly taken: readonly Taken[];
  /** The successors to feed; null means all. */
  readonly only: readonly NodeId[] | null;
  /** The number of failed attempts that were retried. */
  readonly retries: number;
  /** How often the reply was refused and the prompt repeated. */
  readonly repairs: number;
  /** The role, agent and thread of the message. The text of a user's message is only in the work, so that states stay small. */
  readonly said: Said | null;
  /** The activity waits for the other side. */
  readonly parked?: Parked;
  /** How many workflows its model has called as tools, in all rounds. Default: none. */
  readonly called?: number;
}

export interface Parked {
  readonly since: number;
  readonly tries: number;
  readonly failure: Failure;
  readonly trouble: Trouble | null;
  /** The patience or the time is over, so the activity waits until the run is resumed. */
  readonly held: boolean;
}

export interface Taken {
  readonly list: string;
  readonly end: "head" | "tail";
  readonly items: readonly string[];
}

export interface Said {
  readonly thread: string;
  readonly role: Role;
  readonly agent: string;
  readonly text: string | null;
}

interface Idle {
  readonly ms: number;
  readonly since: number | null;
  /** The run waits for a free slot. */
  readonly queued?: true;
  /**
   * The periods of waiting. They are kept for a run that has callers, or that received periods from a run it called, so that no moment
   * counts twice. Absent otherwise.
   */
  readonly spans?: readonly Span[];
}

/** Start and end, in ms since 1970. Several spans are in order and do not touch each other. */
export type Span = readonly [from: number, to: number];

/** An outcome that waits for the rest of its superstep. */
export type Held =
  | { readonly active: Active; readonly outcome: Outcome }
  | { readonly active: Active; readonly failure: Failure };

export interface MapProgress {
  readonly items: readonly string[];
  readonly results: readonly (null | { readonly ok: string } | { readonly error: string })[];
  readonly next: number;
}

export interface RunState {
  readonly run: string;
  readonly epoch: number;
  readonly phase: Phase;
  readonly startedAt: number;
  readonly depth: number;
  readonly limits: Limits;
  /** The caps that no setting may exceed. */
  readonly caps: Partial<Limits>;
  /** How large the data of the run may become. */
  readonly bounds: Bounds;
  /** The part of the budget that this run must not spend, because handlers of callers need it. */
  readonly aside: Aside;
  readonly inherited: Inherited;
  readonly patienceMs: number;
  /**
   * `ms`: how long the run only waited, for a person or to be resumed. That time counts for no time limit. `since`: the start of the
   * current waiting; null if the run does not only wait.
   */
  readonly idle: Idle;
  /** Includes RESULT and STATUS. */
  readonly variables: Readonly<Record<string, string>>;
  /** Names of the variables that a caller receives. */
  readonly assigned: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly lists: Readonly<Record<string, readonly string[]>>;
  readonly hits: Readonly<Record<NodeId, number>>;
  readonly active: Readonly<Record<string, Active>>;
  readonly held: readonly Held[];
  /** Tokens by the position of the edge. */
  readonly tokens: Readonly<Record<number, number>>;
  /** How often the edges with a maximum were taken, by position. */
  readonly taken: Readonly<Record<number, number>>;
  readonly maps: Readonly<Record<string, MapProgress>>;
  readonly agent: string;
  readonly threads: Readonly<Record<string, string>>;
  readonly opened: number;
  readonly spent: Spent;
  readonly order: number;
  readonly handled: { readonly success: boolean; readonly failed: boolean };
  /** Nodes and edges that replaced others. */
  readonly spliced: {
    readonly nodes: Readonly<Record<NodeId, Node>>;
    readonly edges: readonly Edge[];
    readonly gone: readonly NodeId[];
  };
}

/** The possible values of the variable STATUS. */
export const runStatuses: readonly string[] = ["CREATED", "DOING", "SUCCESS", "FAILED"];

export const initialState: RunState = {
  run: "",
  epoch: 1,
  phase: { is: "created" },
  startedAt: 0,
  depth: 0,
  limits: { hits: 3, steps: 1000, depth: 20, nanodollars: null, tokens: null, characters: null, timeMs: null },
  caps: {},
  bounds: defaultBounds,
  aside: { nanodollars: 0, tokens: 0 },
  inherited: { settings: {}, agents: {} },
  patienceMs: 1_800_000,
  idle: { ms: 0, since: null },
  variables: { STATUS: "CREATED", RESULT: "" },
  assigned: [],
  environment: {},
  lists: {},
  hits: {},
  active: {},
  held: [],
  tokens: {},
  taken: {},
  maps: {},
  agent: "",
  threads: {},
  opened: 0,
  spent: { ...noUsage, steps: 0 },
  order: 0,
  handled: { success: false, failed: false },
  spliced: { nodes: {}, edges: [], gone: [] },
};
