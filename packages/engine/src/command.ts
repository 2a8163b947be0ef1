/** What the edge is to do, imperative. Commands are written in the transaction that writes the state they come with. */
import type { ActivityRef, Work } from "./activity.ts";
import type { Failure } from "./failure.ts";
import type { NodeId, Role } from "./program.ts";
import type { Parked, Span } from "./state.ts";

/** A perform of an attempt above the first replaces the work of the same visit; a retry repeats the work it had. */
export type Command =
  | { readonly do: "perform"; readonly activity: ActivityRef; readonly work: Work; readonly notBefore: number | null }
  | {
      readonly do: "retry";
      readonly activity: ActivityRef;
      readonly notBefore: number | null;
      readonly parked?: Parked;
    }
  /** Waits until the run is resumed. */
  | { readonly do: "hold"; readonly activity: ActivityRef; readonly parked: Parked }
  /** Waits until the workflows that its model called have returned: then it is retried, under this attempt. */
  | { readonly do: "await"; readonly activity: ActivityRef }
  /** A message's text is null where it is that of the activity's own work. */
  | {
      readonly do: "append";
      readonly activity: ActivityRef;
      readonly thread: string;
      readonly agent: string;
      readonly messages: readonly Message[];
    }
  /** These alone are void. */
  | { readonly do: "void"; readonly activities: readonly ActivityRef[] }
  /** Everything in flight is void: the epoch has been raised. */
  | { readonly do: "abort" }
  /** At this time the run is to be limited; replaces an earlier one. null: not while the run only waits. */
  | { readonly do: "deadline"; readonly at: number | null }
  | { readonly do: "warn"; readonly code: string; readonly message: string; readonly node: NodeId | null }
  | {
      readonly do: "end";
      readonly status: "success" | "failed" | "cancelled";
      readonly word: string | null;
      readonly result: string;
      /** What a caller receives: the variables this run assigned. */
      readonly variables: Readonly<Record<string, string>>;
      readonly reason: Failure | null;
      readonly steps: number;
      readonly idleMs: number;
      /** When that was. Absent: never, or nobody is told. */
      readonly waits?: readonly Span[];
    };

export interface Message {
  readonly role: Role;
  readonly text: string | null;
}
