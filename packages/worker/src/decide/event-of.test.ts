import { expect, it } from "vitest";
import { done, failed } from "../performed.ts";
import { eventOf } from "./event-of.ts";

const activity = { epoch: 2, ref: { node: "N", generation: 1, attempt: 1, item: null } };
const moment = { at: 17, seed: 4 };

it("an event contains the result or failure with its epoch, time and cost", () => {
  const base = { at: 17, seed: 4, epoch: 2, activity: activity.ref, usage: null };
  const outcome = { kind: "replied", text: "yes" } as const;
  expect(eventOf(activity, done(outcome), moment)).toEqual({ type: "activity.succeeded", ...base, outcome });
  const failure = { code: "MODEL_BUSY", message: "later" };
  const trouble = { model: "m", endpoint: "e", reason: "429" };
  expect(eventOf(activity, failed("MODEL_BUSY", "later", "park", { retryAfterMs: 5, trouble }), moment)).toEqual({
    type: "activity.failed",
    ...base,
    failure,
    next: "park",
    retryAfterMs: 5,
    trouble,
  });
  expect(eventOf(activity, failed("MODEL_REFUSED", "no", "fail"), moment)).not.toHaveProperty("trouble");
});
