/** One visit of one node by one run. `item` is the position in a map, null elsewhere. */
import type { Aside, Inherited } from "./event.ts";
import type { Grading, Json, Limits, ModelSettings, NodeId, Role } from "./program.ts";
import type { ToolCallPlace, ToolUse } from "./tool.ts";

export interface ActivityRef {
  readonly node: NodeId;
  readonly generation: number;
  readonly item: number | null;
  readonly attempt: number;
}

/** Names the visit, whatever the attempt. */
export function activityKey(activity: Omit<ActivityRef, "attempt">): string {
  return activity.item === null
    ? `${activity.node}.${activity.generation}`
    : `${activity.node}.${activity.generation}[${activity.item}]`;
}

/** What the edge has to do: everything it needs, resolved when the activity was asked for, and the same for every attempt. */
export type Work =
  /** The files to be read for the condition. */
  | { readonly kind: "check"; readonly read: readonly string[] }
  | {
      readonly kind: "set";
      readonly read: string | null;
      /** `text` is what to write unless a file is read for it. */
      readonly write: { readonly path: string; readonly text: string } | null;
    }
  | { readonly kind: "assign"; readonly read: string | null }
  /** Adds a message to a thread without asking the model. */
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
      /** Messages that stand before the text; they join the thread with it. After them an empty text is not sent. Absent: none. */
      readonly opening?: readonly { readonly role: Role; readonly text: string }[];
      /** A file whose content is the text instead. */
      readonly read: string | null;
      readonly settings: ModelSettings;
      /** What the call must leave of the root run's budget, for handlers that may have to report. Absent: nothing. */
      readonly aside?: Aside;
      readonly schema: Json | null;
      readonly tools: readonly string[];
      readonly rounds: number;
      /** Absent: feed. */
      readonly toolUse?: ToolUse;
    }
  | {
      readonly kind: "execute";
      /** literal: one command. reply: text whose code blocks hold the commands. */
      readonly source: "literal" | "reply";
      readonly text: string;
      /** Where: absent, the run's session. */
      readonly session?: "judge";
      readonly clean?: true;
    }
  | {
      readonly kind: "grade";
      readonly rubric: Json;
      readonly task: string;
      /** Values of the places in the task, by name. Students or models may have written them: they are shown as data. */
      readonly given: Readonly<Record<string, string>>;
      /** Names in `given` whose values nobody wrote but the author, and whoever started the run. */
      readonly authored?: readonly string[];
      /** What tests that ran in a judge session say; null: none did. */
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
      /** The tool call of a model that this is. Absent: the workflow itself calls. */
      readonly tool?: ToolCallPlace & { readonly name: string };
    }
  | { readonly kind: "tool"; readonly tool: string; readonly arguments: string }
  | {
      readonly kind: "memory";
      readonly op: "search" | "insert" | "similar";
      readonly text: string;
      readonly top: number;
      /** Of similar. */
      readonly threshold?: number;
      readonly aside?: Aside;
    };
export type WorkKind = Work["kind"];

/** What a callee starts with. */
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
