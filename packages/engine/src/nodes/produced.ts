import type { Outcome } from "../event.ts";
import type { Finish } from "../turn.ts";
import { unfit } from "./passed.ts";

/** What a tool or a memory brought back becomes RESULT. */
export function produced(outcome: Outcome): Finish {
  if (outcome.kind !== "produced") return unfit;
  return { go: "on", on: "ok", writes: [{ to: "variable", name: "RESULT", text: outcome.text }] };
}
