import type { Wait } from "@markmill/store";
import { describe, expect, it } from "vitest";
import { describePause, describeWait } from "./tell-wait.ts";

const wait: Wait = {
  rootId: "r",
  runId: "r",
  node: "PROMPT_A",
  parked: {
    since: 0,
    tries: 3,
    failure: { code: "MODEL_RATE_LIMITED", message: "Too many requests." },
    trouble: { model: "small", endpoint: "api.example.org", reason: "429 slow down" },
    held: false,
  },
  nextTry: new Date(12_000),
};
const held: Wait = { ...wait, parked: { ...wait.parked, held: true }, nextTry: null };

describe("what a run waits for", () => {
  it("names the model, the endpoint, the reason and the next attempt", () => {
    expect(describeWait(wait, 0)).toBe(
      "PROMPT_A waits for small at api.example.org: MODEL_RATE_LIMITED 429 slow down (3 attempts, the next one in 12 s)",
    );
    expect(describeWait(held, 0)).toContain("the next one when you resume it");
  });
});

it("a paused model is named with its reason and the next attempt", () => {
  const pause = {
    endpoint: "https://models.example/v1",
    model: "small",
    reason: "429 slow\ndown",
    refusals: 3,
    since: new Date(0),
    until: new Date(9_000),
    forMs: 9_000,
  };
  expect(describePause(pause)).toBe(
    "small at https://models.example/v1 is paused for all runs: 429 slow down (refused 3 times, tested again in 9.0 s)",
  );
  expect(describePause({ ...pause, forMs: 0, refusals: 1 })).toContain("(refused once, the next request tests it)");
});
