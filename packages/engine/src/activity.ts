/** One visit of one node by one run. `item` is the position in a map; elsewhere it is null. */
import type { Aside, Inherited } from "./event.ts";
import type { Grading, Json, Limits, ModelSettings, NodeId, Role } from "./program.ts";
import type { ToolCallPlace, ToolUse } from "./tool.ts";

export interface ActivityRef {
  readonly node: NodeId;
  readonly generation: number;
  readonly item: number | null;
  readonly attempt: number;
}

/** The key of a visit. All attempts of the visit share it. */
export function activityKey(activity: Omit<ActivityRef, "attempt">): string {
  return activity.item === null
    ? `${activity.node}.${activity.generation}`
    : `${activity.node}.${activity.generation}[${activity.item}]`;
}

/** What the worker must do. It contains all needed values, resolved when the activity was requested; every attempt gets the same values. */
export type Work =
  /** The files that the condition reads. */
  | { readonly kind: "check"; readonly read: readonly string[] }
  | {
      readonly kind: "set";
      readonly read: string | null;
      /** If `read` is null, `text` is written. Otherwise the content of that file is written. */
      readonly write: { readonly path: string; readonly text: string } | null;
    }
  | { readonly kind: "assign"; readonly read: string | null }
  /** Adds a message to a thread without calling the model. */
  | {
      readonly kind: "note";
      readonly thread: string;
      readonly role: Role;
      readonly text: string;
      readonly read: string | null;
    }
  | {
      readonly kind: "prompt";
      readonly thread: string;
      readonly text: string;
      /** Messages that precede the text and join the thread with it. If there are any, an empty text is not sent. Default: none. */
      readonly opening?: readonly { readonly role: Role; readonly text: string }[];
      /** If set, the content of this file replaces the text. */
      readonly read: string | null;
      readonly settings: ModelSettings;
      /** The part of the root run's budget that this call must leave for handlers. Default: nothing. */
      readonly aside?: Aside;
      readonly schema: Json | null;
      readonly tools: readonly string[];
      readonly rounds: number;
      /** Default: feed. */
      readonly toolUse?: ToolUse;
    }
  | {
      readonly kind: "execute";
      /** literal: `text` is one command. reply: the code blocks in `text` contain the commands. */
      readonly source: "literal" | "reply";
      readonly text: string;
      /** Default: the run's own session. */
      readonly session?: "judge";
      readonly clean?: true;
    }
  | {
      readonly kind: "grade";
      readonly rubric: Json;
      readonly task: string;
      /** Values of the placeholders in the task, by name. Students or models may have written them, so the model sees them as data only. */
      readonly given: Readonly<Record<string, string>>;
      /** Names in `given` whose values come only from the author or from the person who started the run. */
      readonly authored?: readonly string[];
      /** Results of tests that ran in a judge session; null if no tests ran. */
      readonly tests: string | null;
      readonly settings: ModelSettings;
      readonly grading: Grading;
      readonly aside?: Aside;
    }
  | { readonly kind: "ask"; readonly question: string; readonly text: string; readonly expiresAt: number | null }
  | {
      readonly kind: "call";
      readonly program: string;
      readonly start: CallStart;
      /** The model's tool call that this activity performs. If absent, the workflow itself makes the call. */
      readonly tool?: ToolCallPlace & { readonly name: string };
    }
  | { readonly kind: "tool"; readonly tool: string; readonly arguments: string }
  | {
      readonly kind: "memory";
      readonly op: "search" | "insert" | "similar";
      readonly text: string;
      readonly top: number;
      /** Only for `similar`. */
      readonly threshold?: number;
      readonly aside?: Aside;
    };
export type WorkKind = Work["kind"];

/** The values that a called workflow starts with. */
export interface CallStart {
  readonly variables: Readonly<Record<string, string>>;
  readonly depth: number;
  readonly agent: string;
  readonly threads: Readonly<Record<string, string>>;
  readonly caps: Omit<Limits, "hits">;
  readonly aside?: Aside;
  readonly inherited?: Inherited;
  readonly patienceMs?: number;
}
