import { describe, expect, it } from "vitest";
import { type FinalGradeInput, finalGrade, type GradeEvent, personMarks } from "./final-grade.ts";
import type { CriterionGrade, Grade } from "./grade.ts";
import { mostPoints, type Rubric } from "./rubric.ts";
import { criterion } from "./testing-rubric.ts";

const rubricOf = (points: Readonly<Record<string, number>>): Rubric => ({
  criteria: Object.entries(points).map(([id, most]) => criterion({ id, points: most })),
});
const rubric = rubricOf({ a: 10, b: 5 });

function proposed(points: Readonly<Record<string, number | null>>, more: Partial<Grade> = {}): Grade {
  const criteria = Object.entries(points).map(([id, value]): CriterionGrade => {
    if (value === null) return { is: "not graded", id, why: "no model has graded this" };
    const scored = { is: "scored", by: "llm", level: null, comment: "c", evidence: [] } as const;
    return { ...scored, id, points: value, confidence: 0.9, tests: [], notes: [] };
  });
  const sum = Object.values(points).reduce<number>((all, one) => all + (one ?? 0), 0);
  return {
    outcome: { is: "graded" },
    criteria,
    points: sum,
    most: mostPoints(rubric),
    penalty: null,
    total: sum,
    flags: [],
    nextSteps: [],
    ...more,
  };
}

let events = 0;
function said(more: Partial<GradeEvent>): GradeEvent {
  events += 1;
  return {
    id: events,
    work: "w",
    at: "2026-01-01T00:00:00.000Z",
    by: "ada",
    kind: "override",
    criterion: null,
    from: null,
    to: null,
    takesBack: null,
    reason: "so",
    comment: "",
    rubricHash: "now",
    content: "c",
    try: 1,
    ...more,
  };
}

const fold = (grade: Grade | null, more: Partial<FinalGradeInput> = {}, by = "now", number = 1) =>
  finalGrade({
    rubric,
    rubricHash: "now",
    situation: { is: "done" },
    content: "c",
    events: [],
    penalty: null,
    proposal: grade === null ? null : { grade, try: number, rubricHash: by },
    ...more,
  });

describe("finalGrade: a proposal made with another rubric", () => {
  const old = proposed({ a: 10, b: 5 });

  it.each([
    ["a criterion is worth less", { a: 4, b: 5 }],
    ["a criterion is gone", { a: 10 }],
    ["a criterion has come", { a: 10, b: 5, c: 5 }],
    ["only words have changed", { a: 10, b: 5 }],
  ])("needs a human decision: %s", (_, now) => {
    const grade = fold(old, { rubric: rubricOf(now) }, "before");
    expect(grade).toMatchObject({ points: null, total: null, penalty: null, most: mostPoints(rubricOf(now)) });
    expect(grade?.outcome).toMatchObject({ is: "needs human" });
    expect(JSON.stringify(grade?.outcome)).toContain("graded with another version of the rubric");
    expect(grade?.criteria.map(({ id, is }) => [id, is])).toEqual(Object.keys(now).map((id) => [id, "not graded"]));
    // The machine's earlier proposal stays readable.
    expect(grade?.proposed).toBe(old);
  });

  it("stays open whether it was reviewed before or after the rubric changed", () => {
    const then = said({ kind: "reviewed", rubricHash: "before" });
    for (const review of [then, said({ kind: "reviewed" })]) {
      expect(fold(old, { events: [review] }, "before")?.outcome.is).toBe("needs human");
    }
    // After the submission is graded with the new rubric, a review of the old proposal has no effect.
    const doubtful = proposed({ a: 1, b: 1 }, { outcome: { is: "needs human", why: ["a part was not seen"] } });
    expect(fold(doubtful, { events: [then] })?.outcome.is).toBe("needs human");
  });

  it("is replaced when a person marks every criterion", () => {
    const a = said({ criterion: "a", to: 3 });
    expect(fold(old, { events: [a] }, "before")?.outcome.is).toBe("needs human");
    const both = fold(old, { events: [a, said({ criterion: "b", to: 2 })] }, "before");
    expect(both).toMatchObject({ outcome: { is: "graded" }, total: 5 });
  });

  it("stays a grader error if it was one", () => {
    const error = proposed({ a: null, b: null }, { outcome: { is: "grader error", why: "no tests" }, total: null });
    expect(fold(error, {}, "before")?.outcome).toEqual({ is: "grader error", why: "no tests" });
  });
});

it("finalGrade keeps a person's mark from another rubric within the new scale and asks for a review", () => {
  const word = said({ criterion: "a", to: 8, rubricHash: "before" });
  const small = rubricOf({ a: 4, b: 5 });
  const grade = fold(proposed({ a: 1, b: 1 }), { rubric: small, events: [word] });
  expect(grade).toMatchObject({
    outcome: { is: "needs human" },
    criteria: [{ by: "human", points: 4 }, {}],
    total: null,
  });
  const looked = fold(proposed({ a: 1, b: 1 }), { rubric: small, events: [word, said({ kind: "reviewed" })] });
  expect(looked).toMatchObject({ outcome: { is: "graded" }, total: 5 });
  const again = fold(proposed({ a: 1, b: 1 }), { rubric: small, events: [word, said({ criterion: "a", to: 2 })] });
  expect(again).toMatchObject({ outcome: { is: "graded" }, total: 3 });
});

it('finalGrade never reports "graded" while a criterion is open', () => {
  const short = proposed({ a: 3 });
  expect(fold(short)).toMatchObject({ outcome: { is: "needs human" }, total: null });
});

describe("finalGrade: an override", () => {
  const injection = { kind: "injection", message: "asks for points", file: "a: b.js", line: 3 } as const;
  const unsure = { kind: "low confidence", message: "a: the model's confidence is only 20 %" } as const;
  const needsHuman = (...why: string[]) => ({ outcome: { is: "needs human", why }, total: null }) as const;

  it("closes its own criterion and no other", () => {
    const grade = proposed({ a: null, b: 2 }, needsHuman("a: no model has graded this", "a part was not seen"));
    const word = said({ criterion: "a", to: 3 });
    expect(fold(grade, { events: [word] })).toMatchObject({
      outcome: { is: "needs human", why: ["a part was not seen"] },
      points: 5,
      total: null,
    });
    const reviewed = fold(grade, { events: [word, said({ kind: "reviewed" })] });
    expect(reviewed).toMatchObject({ outcome: { is: "graded" }, total: 5 });
  });

  it("closes flags about its criterion, but not flags about a file whose name looks like the criterion", () => {
    const why = needsHuman("a: b.js:3 asks for points", unsure.message);
    const grade = proposed({ a: 10, b: 2 }, { ...why, flags: [injection, unsure] });
    expect(fold(grade, { events: [said({ criterion: "a", to: 3 })] })?.outcome).toEqual({
      is: "needs human",
      why: ["a: b.js:3 asks for points"],
    });
    const only = proposed({ a: 10, b: 2 }, { ...needsHuman(unsure.message), flags: [unsure] });
    expect(fold(only, { events: [said({ criterion: "a", to: 3 })] })?.total).toBe(5);
  });

  it("of one grading attempt leaves the doubts about a later attempt open", () => {
    const grade = proposed({ a: 10, b: 2 }, needsHuman("a part was not seen"));
    const before = [said({ criterion: "a", to: 3 }), said({ kind: "reviewed" })];
    expect(fold(grade, { events: before }, "now", 2)?.outcome).toEqual({
      is: "needs human",
      why: ["a part was not seen"],
    });
  });

  it("after a grader error leaves the machine's other points to a review", () => {
    const grade = proposed({ a: null, b: 2 }, { outcome: { is: "grader error", why: "no tests" }, total: null });
    const word = said({ criterion: "a", to: 3 });
    expect(fold(grade, { events: [word] })?.outcome).toEqual({ is: "needs human", why: ["grader error: no tests"] });
    expect(fold(grade, { events: [word, said({ kind: "reviewed" })] })?.total).toBe(5);
  });

  it("of every criterion closes all doubts about the machine's marks", () => {
    const grade = proposed({ a: 10, b: 2 }, needsHuman("a part was not seen"));
    const words = [said({ criterion: "a", to: 3 }), said({ criterion: "b", to: 1 })];
    expect(fold(grade, { events: words })).toMatchObject({ outcome: { is: "graded" }, total: 4 });
  });
});

describe("finalGrade: a changed rubric whose old version is known", () => {
  const old = rubricOf({ a: 10, b: 5 });
  const rubrics = new Map([["before", old]]);
  const changed = (now: Rubric, more: Partial<FinalGradeInput> = {}, grade = proposed({ a: 7, b: 4 })) =>
    fold(grade, { rubric: now, rubrics, ...more }, "before");

  it("keeps every mark, review and release when only the order of rows changed", () => {
    const swapped = { criteria: [...old.criteria].reverse() };
    const events = [
      said({ criterion: "b", to: 3, rubricHash: "before" }),
      said({ kind: "reviewed", rubricHash: "before" }),
      said({ kind: "released", to: 10, rubricHash: "before" }),
    ];
    const doubtful = proposed({ a: 7, b: 4 }, { outcome: { is: "needs human", why: ["a part was not seen"] } });
    expect(changed(swapped, { events }, doubtful)).toMatchObject({
      outcome: { is: "graded" },
      total: 10,
      released: { total: 10 },
      reviewed: { by: "ada" },
      criteria: [
        { id: "b", points: 3 },
        { id: "a", points: 7 },
      ],
    });
  });

  it("keeps the marks of unchanged criteria and opens the others", () => {
    const grade = changed(rubricOf({ a: 10, b: 4, c: 1 }));
    expect(grade).toMatchObject({ total: null, most: 15 });
    expect(grade?.criteria.map((one) => (one.is === "scored" ? one.points : one.why))).toEqual([
      ...[7, "graded with another version of the rubric", "the criterion is new"],
    ]);
    expect(grade?.outcome).toEqual({
      is: "needs human",
      why: ["b: graded with another version of the rubric", "c: the criterion is new"],
    });
  });

  it("keeps the other marks when a criterion is removed", () => {
    expect(changed(rubricOf({ a: 10 }))).toMatchObject({ outcome: { is: "graded" }, total: 7, most: 10 });
  });

  it("keeps a person's mark of an unchanged criterion without a new review", () => {
    const word = said({ criterion: "a", to: 9, rubricHash: "before" });
    const grade = changed(rubricOf({ a: 10 }), { events: [word] });
    expect(grade).toMatchObject({ outcome: { is: "graded" }, total: 9 });
  });

  it("drops the doubts about a changed criterion and keeps all others", () => {
    const flags = [{ kind: "low confidence", message: "b: the model's confidence is only 20 %" }] as const;
    const why = [flags[0].message, "a part was not seen"];
    const grade = changed(
      rubricOf({ a: 10, b: 4 }),
      {},
      proposed({ a: 7, b: 4 }, { outcome: { is: "needs human", why }, flags }),
    );
    expect(grade?.outcome).toEqual({
      is: "needs human",
      why: ["a part was not seen", "b: graded with another version of the rubric"],
    });
    expect(grade?.flags).toEqual([]);
  });
});

describe("finalGrade: an undo", () => {
  const first = said({ criterion: "a", to: 3, by: "ada" });
  const second = said({ criterion: "a", to: 5, by: "bob" });
  const undo = (id: number | null) => said({ criterion: "a", to: null, takesBack: id, by: "bob" });
  const fates = (events: readonly GradeEvent[]) =>
    personMarks({ rubric, content: "c", events }).map(({ fate }) => fate.is);

  it("takes back one mark and restores the colleague's mark before it", () => {
    const events = [first, second, undo(second.id)];
    expect(fold(proposed({ a: 1, b: 1 }), { events })).toMatchObject({
      total: 4,
      overrides: [{ id: first.id, by: "ada" }],
    });
    expect(fates(events)).toEqual(["stands", "taken back"]);
  });

  it("of a replaced mark keeps the newer mark", () => {
    const events = [first, second, undo(first.id)];
    expect(fold(proposed({ a: 1, b: 1 }), { events })?.total).toBe(6);
    expect(fates(events)).toEqual(["taken back", "stands"]);
  });

  it("of both marks restores the machine's mark", () => {
    const events = [first, second, undo(second.id), undo(first.id)];
    expect(fold(proposed({ a: 1, b: 1 }), { events })).toMatchObject({ total: 2, overrides: [] });
  });

  it("from an earlier version, which names no mark, takes back every mark of its criterion", () => {
    expect(fold(proposed({ a: 1, b: 1 }), { events: [first, second, undo(null)] })?.total).toBe(2);
  });
});

it("personMarks lists every mark with its result", () => {
  const events = [
    said({ criterion: "a", to: 1 }),
    said({ criterion: "a", to: 2 }),
    said({ criterion: "a", to: 4, content: "other" }),
    said({ criterion: "gone", to: 4 }),
  ];
  const [one, two, three, four] = events.map(({ id }) => id);
  expect(personMarks({ rubric, content: "c", events }).map(({ id, fate }) => [id, fate])).toEqual([
    [one, { is: "replaced", by: two }],
    [two, { is: "stands" }],
    [three, { is: "other content" }],
    [four, { is: "no criterion" }],
  ]);
});

describe("finalGrade: a submission that may not count", () => {
  const open = { situation: { is: "undecided", why: "a and b were handed in" } } as const;

  it("needs a human decision even if every criterion is marked, and keeps its marks when it counts", () => {
    const events = [said({ criterion: "a", to: 7, try: 0 }), said({ criterion: "b", to: 5, try: 0 })];
    expect(fold(null, { ...open, events })).toMatchObject({
      outcome: { is: "needs human", why: ["a and b were handed in"] },
      total: null,
      points: 12,
    });
    expect(fold(proposed({ a: 1, b: 1 }), { events })).toMatchObject({ outcome: { is: "graded" }, total: 12 });
  });
});

it("finalGrade ignores an acceptance that was taken back and restores the one before it", () => {
  const doubtful = proposed({ a: 1, b: 1 }, { outcome: { is: "needs human", why: ["a part was not seen"] } });
  const [first, second] = [said({ kind: "reviewed" }), said({ kind: "reviewed", by: "bob" })];
  const undo = (id: number) => said({ kind: "reviewed", takesBack: id });
  expect(fold(doubtful, { events: [first] })).toMatchObject({ outcome: { is: "graded" }, reviewed: { id: first.id } });
  expect(fold(doubtful, { events: [first, undo(first.id)] })).toMatchObject({
    outcome: { is: "needs human" },
    reviewed: null,
  });
  const events = [first, second, undo(second.id)];
  expect(fold(doubtful, { events })?.reviewed).toMatchObject({ id: first.id, by: "ada" });
});
