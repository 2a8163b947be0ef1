/** Commands tell the store and the worker what to do. They are written in the same transaction as the state that they belong to. */
import type { ActivityRef, Work } from "./activity.ts";
import type { Failure } from "./failure.ts";
import type { NodeId, Role } from "./program.ts";
import type { Parked, Span } from "./state.ts";

/** A `perform` with an attempt above the first replaces the work of the same visit. A `retry` repeats the existing work. */
export type Command =
  | { readonly do: "perform"; readonly activity: ActivityRef; readonly work: Work; readonly notBefore: number | null }
  | {
      readonly do: "retry";
      readonly activity: ActivityRef;
      readonly notBefore: number | null;
      readonly parked?: Parked;
    }
  /** Wait until a person resumes the run. */
  | { readonly do: "hold"; readonly activity: ActivityRef; readonly parked: Parked }
  /** Wait until the workflows that the model called have returned. Then the activity is retried with this attempt number. */
  | { readonly do: "await"; readonly activity: ActivityRef }
  /** A message's text is null if it equals the text in the activity's work. */
  | {
      readonly do: "append";
      readonly activity: ActivityRef;
      readonly thread: string;
      readonly agent: string;
      readonly messages: readonly Message[];
    }
  /** Only these activities become void. */
  | { readonly do: "void"; readonly activities: readonly ActivityRef[] }
  /** All activities in flight become void, because the epoch was raised. */
  | { readonly do: "abort" }
  /** The time at which the run reaches its time limit. It replaces an earlier deadline. null: no deadline while the run only waits. */
  | { readonly do: "deadline"; readonly at: number | null }
  | { readonly do: "warn"; readonly code: string; readonly message: string; readonly node: NodeId | null }
  | {
      readonly do: "end";
      readonly status: "success" | "failed" | "cancelled";
      readonly word: string | null;
      readonly result: string;
      /** The variables that this run assigned; the caller receives them. */
      readonly variables: Readonly<Record<string, string>>;
      readonly reason: Failure | null;
      readonly steps: number;
      readonly idleMs: number;
      /** The periods in which the run only waited. Absent if there were none or if no caller needs them. */
      readonly waits?: readonly Span[];
    };

export interface Message {
  readonly role: Role;
  readonly text: string | null;
}
