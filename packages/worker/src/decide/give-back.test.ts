import { describe, expect, it } from "vitest";
import { giveBack } from "./give-back.ts";

const run = { id: "r", parent: null };
const activity = {
  id: 7,
  epoch: 2,
  enqueues: 3,
  leased: true,
  ref: { node: "N", generation: 1, attempt: 1, item: null },
};
const job = { queue: "prompt", enqueues: 3 } as const;

describe("releasing an activity", () => {
  it("releases its lease and delays its one job", () => {
    expect(giveBack(run, activity, job, { ms: 500, acted: false })).toEqual({
      release: true,
      job: null,
      answer: { do: "later", ms: 500 },
    });
  });

  it("keeps the claim if commands may have run, so that the next worker can see it", () => {
    expect(giveBack(run, activity, job, { ms: 0, acted: true }).release).toBe(false);
  });

  it("does not release a lease that the activity does not have", () => {
    expect(giveBack(run, { ...activity, leased: false }, job, { ms: 0, acted: false }).release).toBe(false);
  });

  it("completes a job of an older enqueue and enqueues the newest one, so that one activity has one job", () => {
    const parent = { activityId: 1, attempt: 1, epoch: 0, job: "a1-1-1" };
    expect(giveBack({ id: "r", parent }, activity, { ...job, enqueues: 2 }, { ms: 500, acted: false })).toEqual({
      release: true,
      job: {
        queue: "prompt",
        runId: "r",
        activityId: 7,
        epoch: 2,
        attempt: 1,
        enqueues: 3,
        delayMs: 500,
        parentJob: "a1-1-1",
      },
      answer: { do: "done" },
    });
  });
});
