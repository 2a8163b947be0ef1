import { failure } from "../failure.ts";
import type { Finish } from "../turn.ts";

/** Continues with the next node and writes nothing. */
export const passed: Finish = { go: "on", on: "ok", writes: [] };

/** An outcome of another kind than requested can come only from a mistake in the worker. */
export const unfit: Finish = { go: "fail", failure: failure("OUTCOME_INVALID") };
