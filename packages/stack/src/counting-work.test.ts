import type { BatchWork } from "@markmill/store";
import { describe, expect, it } from "vitest";
import { countingWork } from "./counting-work.ts";
import { gradeOf, workOf } from "./testing-batch.ts";

const attempt = (number: number, grade: Parameters<typeof workOf>[1]) =>
  workOf("1", grade, { key: `1#${number}`, attempt: number });
const counting = (...works: [BatchWork, ...BatchWork[]]) => countingWork(works);

describe("countingWorkOf, with several attempts that count", () => {
  it("chooses the attempt with the best total, at any position in the list", () => {
    const works = [attempt(1, gradeOf([1, 1])), attempt(11, gradeOf([2, 1])), attempt(9, gradeOf([6, 3]))] as const;
    expect(counting(...works).key).toBe("1#9");
  });

  it("chooses the later of two equal attempts, and 11 comes after 9", () => {
    const [nine, eleven] = [attempt(9, gradeOf([6, 3])), attempt(11, gradeOf([6, 3]))];
    expect(counting(nine, eleven).key).toBe("1#11");
    expect(counting(eleven, nine).key).toBe("1#11");
  });

  it("chooses an undecided attempt that may get a better total, until it is decided", () => {
    const found = counting(attempt(1, gradeOf([3, 2])), attempt(2, gradeOf([6, null])));
    expect(found).toMatchObject({ key: "1#2", grade: { outcome: { is: "needs human" }, total: null } });
    expect(JSON.stringify(found.grade?.outcome)).toContain("attempt 1 has 5 points");
  });

  it("ignores an undecided attempt that cannot get a better total", () => {
    const doubtful = gradeOf([1, 1], { outcome: { is: "needs human", why: ["a part was not seen"] } });
    expect(counting(attempt(1, gradeOf([3, 2])), attempt(2, doubtful)).key).toBe("1#1");
  });

  it("prefers, if none has a total, an attempt that a person can decide", () => {
    const ungradable = attempt(2, gradeOf([null, null], { outcome: { is: "ungradable", why: "a bomb" } }));
    expect(counting(attempt(1, gradeOf([6, null])), ungradable).key).toBe("1#1");
    expect(counting(ungradable, attempt(1, null)).key).toBe("1#1");
  });
});
