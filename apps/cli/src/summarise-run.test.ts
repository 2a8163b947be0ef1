import type { RunDetail } from "@markmill/store";
import { expect, it } from "vitest";
import { countCalls, summariseRun } from "./summarise-run.ts";

const spent = { calls: 1, promptTokens: 1, completionTokens: 1, characters: 1, nanodollars: 1, steps: 1 };
const codes = [null, "CHECK_FALSE", "LIMIT_COST", "LIMIT_TOKENS", "MODEL_NOT_CHOSEN", "MODEL_BUSY", "SANDBOX_MISSING"];

it.each(codes)("the hints after %s fit on 80 columns", (code) => {
  const run = {
    id: "01a1e5e1-4d27-7b7b-9637-6d07cce773bb",
    name: "Review",
    status: code === null ? "success" : "failed",
    spent,
    createdAt: new Date(0),
    endedAt: new Date(1),
    reason: code === null ? null : { code, message: "why" },
  } as unknown as RunDetail;
  const hints = summariseRun(run, spent).filter((line) => line.startsWith("next: "));
  expect(hints.length).toBeGreaterThan(0);
  for (const hint of hints) expect(hint.length).toBeLessThanOrEqual(80);
});

it("model calls without a reply are counted and reported separately", () => {
  expect(countCalls({ calls: 1 })).toBe("1 model call");
  expect(countCalls({ calls: 3, unsure: { calls: 2, tokens: 9, nanodollars: 9 } })).toBe(
    "3 model calls, 2 without a reply",
  );
});
