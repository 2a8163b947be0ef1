import { failure } from "../failure.ts";
import type { Finish } from "../turn.ts";

/** On to the next node, with nothing to write. */
export const passed: Finish = { go: "on", on: "ok", writes: [] };

/** Only a mistake at the edge brings an outcome of another kind than was asked for. */
export const unfit: Finish = { go: "fail", failure: failure("OUTCOME_INVALID") };
