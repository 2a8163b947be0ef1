/**
 * All that a run knows. Plain JSON: it survives `JSON.parse(JSON.stringify(state))` unchanged. It does not grow with history:
 * finished activities leave only their writes, a hit and what they spent.
 *
 * S1  While a run is doing or handling, `active` holds exactly what was asked (`perform`, `retry`) and is not answered, and what waits to
 *     be asked again: held (`hold`), or until the workflows its model called have returned (`await`). While it is stopped, what will be
 *     asked again.
 * S2  Once `phase` is ended nothing changes any more.
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
  /** `of` tells which handler runs; `from` what the run had spent when it began, for the handler's own allowance. */
  | {
      readonly is: "handling";
      readonly of: "success" | "failed";
      readonly reason: Failure | null;
      readonly from: Spent;
      /** The handler's own deadline. */
      readonly until: number | null;
      /** How the run ended, which nothing in the handler changes. */
      readonly ended: Ended;
    }
  | { readonly is: "stopped"; readonly was: "doing" | HandlingPhase }
  | { readonly is: "ended"; readonly status: "success" | "failed" | "cancelled"; readonly reason: Failure | null };
export type HandlingPhase = Extract<Phase, { is: "handling" }>;

/** What a run came to before its handler began. RESULT and ERROR are the variables, `result` what the result rule makes of all. */
export interface Ended {
  readonly result: string;
  readonly word: string | null;
  readonly RESULT: string;
  readonly ERROR: string | null;
  /** Evidence that a caller gets, whatever the handler executes. Absent: the handler began before runs kept it. */
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
  /** Named reads as resolved at the beginning. */
  readonly reads: Readonly<Record<string, string>>;
  /** What the reads took from lists, to be put back if the node fails. */
  readonly taken: readonly Taken[];
  /** Successors to feed; null: all. */
  readonly only: readonly NodeId[] | null;
  /** Attempts that failed in passing. */
  readonly retries: number;
  /** Times the reply was refused and asked again. */
  readonly repairs: number;
  /** Who speaks where. The text of a user's message stays in the work alone: states are small. */
  readonly said: Said | null;
  /** It waits for the other side. */
  readonly parked?: Parked;
  /** How many workflows its model has called as tools, in all rounds. Absent: none. */
  readonly called?: number;
}

export interface Parked {
  readonly since: number;
  readonly tries: number;
  readonly failure: Failure;
  readonly trouble: Trouble | null;
  /** Patience or time is over: it waits until the run is resumed. */
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
  /** It waits for its turn. */
  readonly queued?: true;
  /** When that was, of a run that has callers to tell, or that was told by a run it called: no moment counts twice. Absent: not kept. */
  readonly spans?: readonly Span[];
}

/** From and to, in ms since 1970. Several are in order, and do not touch each other. */
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
  /** What no setting may go beyond. */
  readonly caps: Partial<Limits>;
  /** How large what it holds may become. */
  readonly bounds: Bounds;
  /** Not to be spent here: handlers of callers need it. */
  readonly aside: Aside;
  readonly inherited: Inherited;
  readonly patienceMs: number;
  /** `ms`: how long the run only waited, for a person or to be resumed; no limit of time runs meanwhile. `since`: it does now. */
  readonly idle: Idle;
  /** RESULT and STATUS among them. */
  readonly variables: Readonly<Record<string, string>>;
  /** Names a caller gets back. */
  readonly assigned: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly lists: Readonly<Record<string, readonly string[]>>;
  readonly hits: Readonly<Record<NodeId, number>>;
  readonly active: Readonly<Record<string, Active>>;
  readonly held: readonly Held[];
  /** Tokens by the edge's position. */
  readonly tokens: Readonly<Record<number, number>>;
  /** How often limited edges were taken, by position. */
  readonly taken: Readonly<Record<number, number>>;
  readonly maps: Readonly<Record<string, MapProgress>>;
  readonly agent: string;
  readonly threads: Readonly<Record<string, string>>;
  readonly opened: number;
  readonly spent: Spent;
  readonly order: number;
  readonly handled: { readonly success: boolean; readonly failed: boolean };
  /** Nodes and edges that took the place of others. */
  readonly spliced: {
    readonly nodes: Readonly<Record<NodeId, Node>>;
    readonly edges: readonly Edge[];
    readonly gone: readonly NodeId[];
  };
}

/** What the variable STATUS may be. */
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
