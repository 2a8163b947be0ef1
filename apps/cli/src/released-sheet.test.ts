import type { GradeEvent } from "@markmill/grading";
import { classSheet } from "@markmill/stack";
import { batchOf, gradeOf, workOf } from "@markmill/stack/testing-batch";
import { describe, expect, it } from "vitest";
import { releasedSheet } from "./released-sheet.ts";

const event = (work: string, kind: GradeEvent["kind"], to: number | null): GradeEvent => ({
  ...{ id: 1, work, at: "2026-01-01T00:00:00.000Z", by: "ada", kind, criterion: null, from: null, to },
  ...{ reason: "", comment: "", rubricHash: "r", content: "c", try: 1, takesBack: null },
});

describe("released grades", () => {
  it("are those whose total is still the released one; a changed one is left out and told", () => {
    const members = ["1", "2", "3", "4", "5"].map((key) => ({ key, name: `Öberg ${key}` }));
    const works = [
      workOf("1", gradeOf([6, 3]), {}, [event("1#1", "released", 9)]),
      workOf("2", gradeOf([6, 3]), {}, [event("2#1", "released", 4)]),
      workOf("3", gradeOf([6, 3])),
      workOf("4", gradeOf([6, null]), {}, [event("4#1", "released", 7)]),
    ];
    const { sheet, changed } = releasedSheet(classSheet(batchOf(), members, works));
    expect(
      sheet.rows.map(({ grade, open, feedback }) => [grade?.total ?? null, open === true, feedback !== ""]),
    ).toEqual([
      [9, false, true],
      [null, true, false],
      [null, true, false],
      [null, true, false],
      [null, false, false],
    ]);
    expect(changed).toEqual(["Öberg 2", "Öberg 4"]);
  });
});
