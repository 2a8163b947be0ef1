/** What the edge is to do, imperative. Commands are written in the transaction that writes the state they come with. */
import type { ActivityRef, Work } from "./activity.ts";
import type { Failure } from "./failure.ts";
import type { NodeId, Role } from "./program.ts";

export type Command =
  | { readonly do: "perform"; readonly activity: ActivityRef; readonly work: Work; readonly notBefore: number | null }
  | {
      readonly do: "append";
      readonly thread: string;
      readonly messages: readonly { readonly role: Role; readonly text: string }[];
    }
  /** Everything in flight is void: the epoch has been raised. */
  | { readonly do: "abort" }
  /** At this time the run is to be limited; replaces an earlier one. */
  | { readonly do: "deadline"; readonly at: number }
  | { readonly do: "warn"; readonly code: string; readonly message: string; readonly node: NodeId | null }
  | {
      readonly do: "end";
      readonly status: "success" | "failed" | "cancelled";
      readonly word: string | null;
      readonly result: string;
      /** What a caller receives: the variables this run assigned. */
      readonly variables: Readonly<Record<string, string>>;
      readonly reason: Failure | null;
    };
