import type { Wait } from "@markmill/store";
import { describe, expect, it } from "vitest";
import { describeWait, standingOf } from "./tell-wait.ts";

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
  it("names the model, the endpoint, the reason and the next try", () => {
    expect(describeWait(wait, 0)).toBe(
      "PROMPT_A waits for small at api.example.org: MODEL_RATE_LIMITED 429 slow down (3 tries, the next in 12 s)",
    );
    expect(describeWait(held, 0)).toContain("the next when it is resumed");
  });

  it("shows as waiting, and as interrupted once patience is over; an ended run waits for nothing", () => {
    expect(standingOf("doing", [])).toBe("doing");
    expect(standingOf("doing", [wait])).toBe("waiting");
    expect(standingOf("doing", [wait, held])).toBe("interrupted");
    expect(standingOf("failed", [held])).toBe("failed");
  });
});
