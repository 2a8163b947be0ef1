import { describe, expect, it } from "vitest";
import { chooseAttempt } from "./attempt-order.ts";

const named = (...labels: string[]) => labels.map((label) => ({ label, attempt: null, instant: null }));
const last = (labels: readonly string[], keys: readonly string[] = []) =>
  chooseAttempt(named(...labels), "last", new Set(keys))?.label ?? null;

describe("finding the last of several submissions by name", () => {
  it.each([
    [["ada.zip", "ada (2).zip", "ada (10).zip"], "ada (10).zip"],
    [["ada.zip", "ada (1).zip"], "ada (1).zip"],
    [["ada_v2.zip", "ada_v10.zip"], "ada_v10.zip"],
    [["ada", "ada_v2.tar.gz"], "ada_v2.tar.gz"],
    [["ada-2", "ada-10"], "ada-10"],
    [["ada attempt 3", "attempt 12 ada"], "attempt 12 ada"],
    [["ada_alan (1)", "ada (2)"], "ada (2)"],
    [["Ada.zip", "ada (2).zip"], "ada (2).zip"],
  ])("among %j chooses %s", (labels, expected) => {
    expect(last(labels)).toBe(expected);
    expect(last([...labels].reverse())).toBe(expected);
  });

  it.each([
    [["ada.zip", "ada-final.zip"]],
    [["ada", "ada.zip"]],
    [["ada-final.zip", "ada (2).zip"]],
    [["ada-2.zip", "ada (2).zip"]],
    [["hw1_ada", "hw2_ada"]],
    [["ada v2 (3)", "ada"]],
    [["lovelace_ada", "ada"]],
  ])("among %j chooses none", (labels) => {
    expect(last(labels)).toBeNull();
    expect(last([...labels].reverse())).toBeNull();
  });

  it("ignores numbers that are ids of the owner", () => {
    expect(last(["ada", "ada (1001)"], ["1001"])).toBeNull();
    expect(last(["ada", "ada-12"], ["12"])).toBeNull();
    expect(last(["ada (1001)", "ada (1001) (2)"], ["1001"])).toBe("ada (1001) (2)");
  });
});

describe("the order of attempts", () => {
  it("follows numbers before times, and times before names", () => {
    const works = [
      { label: "a (9)", attempt: 1, instant: 30 },
      { label: "a (1)", attempt: 2, instant: 10 },
    ];
    expect(chooseAttempt(works, "last")?.label).toBe("a (1)");
    expect(chooseAttempt(works, "first")?.label).toBe("a (9)");
    const timed = works.map((work) => ({ ...work, attempt: null }));
    expect(chooseAttempt(timed, "last")?.label).toBe("a (9)");
  });

  it("follows the time if two attempts have the same number", () => {
    const works = [
      { label: "x", attempt: 2, instant: 10 },
      { label: "y", attempt: 2, instant: 20 },
      { label: "z", attempt: 1, instant: 30 },
    ];
    expect(chooseAttempt(works, "last")?.label).toBe("y");
    expect(chooseAttempt(works, "first")?.label).toBe("z");
  });

  it("is unknown if only some attempts have a time, unless their names are numbered", () => {
    const works = [
      { label: "x", attempt: null, instant: 10 },
      { label: "y", attempt: null, instant: null },
    ];
    expect(chooseAttempt(works, "last")).toBeNull();
    const numbered = works.map((work, index) => ({ ...work, label: `x (${index + 1})` }));
    expect(chooseAttempt(numbered, "last")?.label).toBe("x (2)");
  });
});
