import { describe, expect, it } from "vitest";
import type { Event } from "./event.ts";
import type { Program } from "./program.ts";
import { initialState, type RunState } from "./state.ts";
import { step } from "./step.ts";
import { edgesOf, programOf, started } from "./testing-programs.ts";

const prompt = { kind: "prompt", text: { from: "literal", text: "a" } } as const;
const start = { kind: "start" } as const;
const handled: Program = programOf(
  { START: start, PROMPT_A: prompt, ON_SUCCESS: start, PROMPT_S: prompt, ON_FAILED: start, PROMPT_F: prompt },
  edgesOf("START PROMPT_A", "ON_SUCCESS PROMPT_S", "ON_FAILED PROMPT_F"),
  { handlers: { success: "ON_SUCCESS", failed: "ON_FAILED" } },
);

/** A run in the handler of its end. */
function inHandler(end: "success" | "failed"): RunState {
  const { state } = step(handled, initialState, started({ at: 0 }));
  const activity = Object.values(state.active)[0]?.ref;
  if (activity === undefined) throw new Error("nothing is in flight");
  const about = { at: 1, seed: 0, epoch: state.epoch, activity, usage: null };
  const event: Event =
    end === "success"
      ? { type: "activity.succeeded", ...about, outcome: { kind: "replied", text: "graded: 7" } }
      : {
          type: "activity.failed",
          ...about,
          failure: { code: "MODEL_REFUSED", message: "no" },
          next: "fail",
          retryAfterMs: null,
        };
  return step(handled, state, event).state;
}

const cancelled: Event = { type: "run.cancelled", at: 9, seed: 0, message: "enough" };
const stopped: Event = { type: "run.stopped", at: 8, seed: 0 };

describe("a cancel while a handler runs", () => {
  for (const end of ["success", "failed"] as const) {
    it.each([
      ["runs", []],
      ["is stopped", [stopped]],
    ] as const)(`keeps the end of the run (${end}) while its handler %s`, (_, before) => {
      const reached = inHandler(end);
      expect(reached.phase).toMatchObject({ is: "handling", of: end });
      const state = before.reduce((last, event) => step(handled, last, event).state, reached);
      const { state: after, commands } = step(handled, state, cancelled);
      const reason = end === "success" ? null : { code: "MODEL_REFUSED" };
      expect(after.phase).toMatchObject({ is: "ended", status: end, reason });
      expect(after.variables.RESULT).toBe(reached.variables.RESULT);
      expect(after.variables.ERROR).toBe(reached.variables.ERROR);
      expect(commands).toContainEqual(expect.objectContaining({ do: "end", status: end }));
      expect(commands).toContainEqual(expect.objectContaining({ do: "warn", code: "HANDLER_FAILED" }));
      // The handler's work in flight is void.
      expect(after.active).toEqual({});
      expect(after.epoch).toBeGreaterThan(state.epoch);
    });
  }
});
