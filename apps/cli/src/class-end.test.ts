import { describe, expect, it } from "vitest";
import { classEnd, classExitCode } from "./class-end.ts";
import { progressLine } from "./class-progress.ts";

const none = {
  works: 0,
  waiting: 0,
  running: 0,
  parked: 0,
  succeeded: 0,
  failed: 0,
  ungradable: 0,
  notCounted: 0,
  deleted: 0,
};
const standing = (counts: Partial<typeof none>, given: object = {}) => ({
  counts: { ...none, ...counts },
  state: { is: "open" as const },
  troubles: [],
  concurrency: 2,
  ...given,
});
const trouble = (works: number, held: boolean) => ({ reason: "no key", works, held });

describe("the end of a class", () => {
  it.each([
    [standing({ waiting: 1 }), null],
    [standing({ running: 1 }), null],
    [standing({ succeeded: 3, failed: 1 }), "finished"],
    [standing({ running: 1, parked: 1 }, { troubles: [trouble(1, false)] }), null],
    [standing({ running: 1, parked: 1 }, { troubles: [trouble(1, true)] }), "held"],
    [standing({ running: 2, waiting: 5, parked: 2 }, { troubles: [trouble(2, true)] }), "held"],
    [standing({ running: 1, waiting: 5, parked: 1 }, { troubles: [trouble(1, true)] }), null],
    [standing({ running: 2, waiting: 5, parked: 1 }, { troubles: [trouble(1, true)] }), null],
    [standing({ waiting: 5 }, { state: { is: "paused", by: "person", reason: "r" } }), "paused"],
    [standing({ waiting: 5, running: 1 }, { state: { is: "paused", by: "person", reason: "r" } }), null],
    [standing({ succeeded: 5 }, { state: { is: "paused", by: "person", reason: "r" } }), "finished"],
    [standing({ waiting: 5 }, { state: { is: "cancelled", reason: "r" } }), "cancelled"],
  ])("is detected only when no submission continues on its own (%#)", (given, is) => {
    expect(classEnd(given)?.is ?? null).toBe(is);
  });

  it("determines the exit code", () => {
    expect(classExitCode({ is: "finished" }, ["graded", "nothing handed in", "not in the sample"])).toBe(0);
    expect(classExitCode({ is: "finished" }, ["graded", "not fetched"])).toBe(3);
    expect(classExitCode({ is: "finished" }, ["graded", "not matched"])).toBe(3);
    for (const status of ["ungradable", "grader error", "needs human", "waiting"] as const)
      expect(classExitCode({ is: "finished" }, ["graded", status])).toBe(3);
    expect(classExitCode({ is: "paused", by: "budget", reason: "" }, [])).toBe(5);
    expect(classExitCode({ is: "paused", by: "person", reason: "" }, [])).toBe(8);
    expect(classExitCode({ is: "held", works: 1, reasons: [] }, [])).toBe(8);
    expect(classExitCode({ is: "cancelled", reason: "" }, [])).toBe(1);
  });
});

describe("the progress line", () => {
  const spent = { calls: 0, promptTokens: 0, completionTokens: 0, characters: 0, nanodollars: 12_300_000 };
  const amount = { nanodollars: 0, tokens: 0 };
  const budget = { id: "b", cap: { nanodollars: 5e9, tokens: null }, spent: amount, reserved: amount };

  it("shows what is done, running and left, and what it cost", () => {
    const batch = {
      ...standing({ works: 26, succeeded: 10, failed: 1, ungradable: 2, running: 4, parked: 1, waiting: 9 }),
      spent,
      budget,
      budgetNearlySpent: false,
      runMs: [1000, 2000, 3000, 4000],
    };
    expect(progressLine(batch)).toBe(
      "██████████░░░░░░░░░░ 13/26 · 1 failed · 3 running · 1 parked · 9 waiting · $0.0123 of $5.00",
    );
    expect(progressLine({ ...batch, runMs: [1000, 2000, 3000, 4000, 5000] })).toMatch(" · 13 s to 28 s left · ");
    expect(
      progressLine({ ...batch, budgetNearlySpent: true, state: { is: "paused", by: "budget", reason: "" } }),
    ).toMatch(/ · paused · \$0.0123 of \$5.00 \(nearly spent\)$/);
  });
});
