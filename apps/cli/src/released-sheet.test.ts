import { statusOf } from "@markmill/classroom/gradebook";
import type { GradeEvent } from "@markmill/grading";
import { classSheet } from "@markmill/stack";
import { batchOf, gradeOf, workOf } from "@markmill/stack/testing-batch";
import type { BatchWork } from "@markmill/store";
import { describe, expect, it } from "vitest";
import { releasedSheet } from "./released-sheet.ts";

const event = (
  work: string,
  kind: GradeEvent["kind"],
  to: number | null,
  at = "2026-01-01T00:00:00.000Z",
): GradeEvent => ({
  id: 1,
  work,
  at,
  by: "ada",
  kind,
  criterion: null,
  from: null,
  to,
  reason: "",
  comment: "",
  rubricHash: "r",
  content: "c",
  try: 1,
  takesBack: null,
});
const releasedOf = (keys: readonly string[], all: readonly BatchWork[]) => {
  const members = keys.map((key) => ({ key, name: `Öberg ${key}` }));
  return releasedSheet({ ...classSheet(batchOf(), members, all), all });
};

describe("releasedSheet", () => {
  it("contains grades whose total equals the released one, and names all other students with a submission", () => {
    const works = [
      workOf("1", gradeOf([6, 3]), {}, [event("1#1", "released", 9)]),
      workOf("2", gradeOf([6, 3]), {}, [event("2#1", "released", 4)]),
      workOf("3", gradeOf([6, 3])),
      workOf("4", gradeOf([6, null]), {}, [event("4#1", "released", 7)]),
      workOf("6", gradeOf([6, null])),
      workOf("7", null),
    ];
    const { sheet, leftOut, earlier } = releasedOf(["1", "2", "3", "4", "5", "6", "7"], works);
    expect(sheet.rows.map((row) => [row.grade?.total ?? null, statusOf(row), row.feedback !== ""])).toEqual([
      [9, "graded", true],
      [null, "not released", false],
      [null, "not released", false],
      [null, "needs human", false],
      [null, "nothing handed in", false],
      [null, "needs human", false],
      [null, "waiting", false],
    ]);
    expect(leftOut.map(({ key, why }) => [key, why])).toEqual([
      ["2", "changed since its release"],
      ["3", "not released"],
      ["4", "changed since its release"],
      ["6", "needs human"],
      ["7", "waiting"],
    ]);
    expect(earlier).toEqual([]);
    for (const { grade } of sheet.rows.slice(1)) expect(grade).toBeNull();
  });

  it("keeps a released attempt while a later one that counts is not released, and reports it", () => {
    const first = { attempt: 1, key: "1#1" };
    const second = { attempt: 2, key: "1#2" };
    const released = [event("1#1", "released", 4)];
    const best = [workOf("1", gradeOf([3, 1]), first, released), workOf("1", gradeOf([6, 3]), second)];
    const last = [
      workOf("1", gradeOf([3, 1]), { ...first, counts: false }, released),
      workOf("1", gradeOf([6, null]), second),
    ];
    for (const works of [best, last, [...best].reverse()]) {
      const { sheet, leftOut, earlier } = releasedOf(["1"], works);
      expect(sheet.rows[0]).toMatchObject({ grade: { total: 4 }, release: "released" });
      expect(sheet.rows[0]?.feedback).toMatch("3 of 6");
      expect(leftOut).toEqual([]);
      expect(earlier).toMatchObject([
        { key: "1", why: expect.stringMatching(/attempt 1 was released and is exported.*attempt 2 counts now/) },
      ]);
    }
  });

  it("keeps the best of several released attempts, not the one that was released last", () => {
    const works = [
      workOf("1", gradeOf([6, 2]), { attempt: 1, key: "1#1" }, [event("1#1", "released", 8)]),
      workOf("1", gradeOf([3, 1]), { attempt: 2, key: "1#2" }, [
        event("1#2", "released", 4, "2026-01-02T00:00:00.000Z"),
      ]),
      workOf("1", gradeOf([6, 3]), { attempt: 3, key: "1#3" }),
    ];
    expect(releasedOf(["1"], works).sheet.rows[0]).toMatchObject({ grade: { total: 8 }, release: "released" });
  });

  it("does not export a worse attempt if the released one that counts was changed or withdrawn", () => {
    const changed = [event("1#1", "released", 9)];
    const withdrawn = [event("1#1", "released", 8), { ...event("1#1", "withdrawn", null), id: 2 }];
    for (const events of [changed, withdrawn]) {
      const works = [
        workOf("1", gradeOf([6, 2]), { attempt: 1, key: "1#1" }, events),
        workOf("1", gradeOf([3, 1]), { attempt: 2, key: "1#2" }, [event("1#2", "released", 4)]),
      ];
      expect(releasedOf(["1"], works)).toMatchObject({ leftOut: [{ key: "1" }], earlier: [] });
    }
  });

  it("distinguishes a joint submission from an own one by their names", () => {
    const works = [
      workOf("1", gradeOf([3, 1]), { key: "1+2#1", by: ["1", "2"], countsFor: ["2"], label: "both" }, [
        event("1+2#1", "released", 4),
      ]),
      workOf("1", gradeOf([6, null]), { label: "alone" }),
    ];
    expect(releasedOf(["1", "2"], works).earlier).toMatchObject([
      { key: "1", why: '"both" was released and is exported; "alone" counts now: needs human' },
    ]);
  });

  it("names the student if the earlier attempt was withdrawn or changed", () => {
    const withdrawn = [event("1#1", "released", 4), { ...event("1#1", "withdrawn", null), id: 2 }];
    for (const events of [withdrawn, [event("1#1", "released", 5)]]) {
      const works = [
        workOf("1", gradeOf([3, 1]), { attempt: 1, key: "1#1", counts: false }, events),
        workOf("1", gradeOf([6, 3]), { attempt: 2, key: "1#2" }),
      ];
      expect(releasedOf(["1"], works)).toMatchObject({ leftOut: [{ key: "1", why: "not released" }], earlier: [] });
    }
  });
});
