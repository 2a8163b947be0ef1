import type { Outcome } from "../event.ts";
import type { Finish } from "../turn.ts";
import { unfit } from "./passed.ts";

/** What a tool or a memory brought back becomes RESULT, or the variable that is meant for it. */
export function produced(outcome: Outcome, name = "RESULT"): Finish {
  if (outcome.kind !== "produced") return unfit;
  return { go: "on", on: "ok", writes: [{ to: "variable", name, text: outcome.text }] };
}
