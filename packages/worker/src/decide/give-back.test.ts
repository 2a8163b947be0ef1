import { describe, expect, it } from "vitest";
import { giveBack } from "./give-back.ts";

const run = { id: "r", parent: null };
const activity = {
  ...{ id: 7, epoch: 2, enqueues: 3, leased: true },
  ref: { node: "N", generation: 1, attempt: 1, item: null },
};
const job = { queue: "prompt", enqueues: 3 } as const;

describe("an activity is given back", () => {
  it("its lease is released and its one job put off", () => {
    expect(giveBack(run, activity, job, { ms: 500, acted: false })).toEqual({
      ...{ release: true, job: null, answer: { do: "later", ms: 500 } },
    });
  });

  it("commands that may have run stay claimed, so that the next holder knows", () => {
    expect(giveBack(run, activity, job, { ms: 0, acted: true }).release).toBe(false);
  });

  it("without a lease there is nothing to release", () => {
    expect(giveBack(run, { ...activity, leased: false }, job, { ms: 0, acted: false }).release).toBe(false);
  });

  it("a job that was enqueued before the newest one is let go, and the newest one enqueued: one activity, one job", () => {
    const parent = { activityId: 1, attempt: 1, epoch: 0, job: "a1-1-1" };
    expect(giveBack({ id: "r", parent }, activity, { ...job, enqueues: 2 }, { ms: 500, acted: false })).toEqual({
      release: true,
      job: {
        ...{ queue: "prompt", runId: "r", activityId: 7, epoch: 2, attempt: 1, enqueues: 3, delayMs: 500 },
        parentJob: "a1-1-1",
      },
      answer: { do: "done" },
    });
  });
});
