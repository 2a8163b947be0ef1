import type { Outcome } from "../event.ts";
import type { Finish } from "../turn.ts";
import { unfit } from "./passed.ts";

/** Stores the result of a tool or of a memory search in RESULT, or in the variable that the node names. */
export function produced(outcome: Outcome, name = "RESULT"): Finish {
  if (outcome.kind !== "produced") return unfit;
  return { go: "on", on: "ok", writes: [{ to: "variable", name, text: outcome.text }] };
}
