import type { GradeEvent, Rubric } from "@markmill/grading";
import { describe, expect, it } from "vitest";
import { mayVoid, rubricChange } from "./rubric-change.ts";
import { gradeOf, rubric, workOf } from "./testing-batch.ts";

const [tests, names] = rubric.criteria;
if (tests === undefined || names === undefined) throw new Error("the rubric has two criteria");
const said: GradeEvent = {
  id: 1,
  work: "1#1",
  at: "2026-01-01T00:00:00.000Z",
  by: "ada",
  kind: "override",
  criterion: "names",
  from: 3,
  to: 2,
  takesBack: null,
  reason: "so",
  comment: "",
  rubricHash: "r",
  content: "c",
  try: 1,
};
const released: GradeEvent = { ...said, id: 2, kind: "released", criterion: null, to: 8 };
const works = [
  workOf("1", gradeOf([6, 3]), {}, [said, released]),
  workOf("2", gradeOf([6, 3])),
  workOf("3", null),
  workOf("4", gradeOf([1, 1]), { counts: false }),
];
const change = (criteria: Rubric["criteria"]) => rubricChange(rubric, { criteria }, works);

describe("rubricChange on a graded class", () => {
  it("finds no change if only the order of rows differs", () => {
    expect(change([names, tests])).toBeNull();
  });

  it("in one criterion voids the proposals, marks and releases that depend on it", () => {
    const found = change([tests, { ...names, guidance: "be strict" }]);
    expect(found).toEqual({
      changed: ["names"],
      added: [],
      removed: [],
      proposals: 1,
      doubtful: 1,
      gone: 0,
      releases: 1,
      criteria: [{ id: "names", is: "changed", students: 2, marks: 1, releases: 1 }],
      seen: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it("with a new and a removed criterion voids every proposal", () => {
    expect(change([tests, { ...names, id: "style" }])).toMatchObject({
      changed: [],
      added: ["style"],
      removed: ["names"],
      proposals: 2,
      doubtful: 0,
      gone: 1,
      releases: 1,
    });
  });

  it("voids nothing if no submission is graded yet", () => {
    const found = rubricChange(rubric, { criteria: [tests] }, [workOf("1", null)]);
    expect(found !== null && mayVoid(found, undefined)).toBe(true);
  });

  it("lists for each criterion the students, marks and releases that it voids", () => {
    expect(
      change([
        { ...tests, points: 12 },
        { ...names, id: "style" },
      ])?.criteria,
    ).toEqual([
      { id: "tests", is: "changed", students: 2, marks: 0, releases: 1 },
      { id: "style", is: "added", students: 2, marks: 0, releases: 1 },
      { id: "names", is: "removed", students: 2, marks: 1, releases: 1 },
    ]);
  });

  it("is confirmed only for exactly the effects that were shown", () => {
    const strict = { criteria: [tests, { ...names, guidance: "be strict" }] };
    const shown = rubricChange(rubric, strict, works);
    if (shown === null) throw new Error("the rubric has changed");
    expect(mayVoid(shown, undefined)).toBe(false);
    expect(mayVoid(shown, shown.seen)).toBe(true);
    const others = [
      rubricChange(rubric, { criteria: [tests, { ...names, guidance: "be mild" }] }, works),
      rubricChange(rubric, strict, [...works, workOf("5", gradeOf([6, 3]))]),
      rubricChange(rubric, strict, [
        workOf("1", gradeOf([6, 3]), {}, [{ ...said, to: 1 }, released]),
        ...works.slice(1),
      ]),
      rubricChange(rubric, strict, [workOf("1", gradeOf([6, 3]), {}, [said]), ...works.slice(1)]),
    ];
    for (const other of others) expect(other === null || mayVoid(other, shown.seen)).toBe(false);
    const harmless = rubricChange(rubric, strict, [workOf("3", null)]);
    expect(harmless !== null && mayVoid(harmless, undefined)).toBe(true);
  });
});
