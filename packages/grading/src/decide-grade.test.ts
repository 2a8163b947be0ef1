import { describe, expect, it } from "vitest";
import { decideGrade } from "./decide-grade.ts";
import type { PersonMark } from "./final-grade.ts";
import type { Rubric } from "./rubric.ts";

const rubric: Rubric = {
  criteria: [
    {
      id: "style",
      title: "Style",
      points: 4,
      scale: { is: "points", step: 1 },
      evidence: false,
      source: { is: "human" },
      guidance: "",
    },
  ],
};
const mark = (id: number, by: string, fate: PersonMark["fate"]): PersonMark => ({
  id,
  by,
  at: "2026-01-01T00:00:00.000Z",
  criterion: "style",
  points: id,
  reason: "so",
  fate,
});
const marks = [mark(1, "ada", { is: "replaced", by: 2 }), mark(2, "bob", { is: "stands" })];
const said = { kind: "override", criterion: "style", reason: "so", seen: false } as const;
const decide = (by: string, points: number | null, more: object = {}) =>
  decideGrade({ rubric, grade: null, marks }, { ...said, by, points, ...more });

describe("decideGrade: replacing a mark", () => {
  it("refuses to replace a colleague's mark that the caller has not seen", () => {
    expect(decide("ada", 3)).toMatchObject({ is: "unseen", why: expect.stringContaining("bob gave style 2 points") });
    expect(decide("ada", 3, { seen: true })).toMatchObject({ is: "taken", to: 3 });
  });

  it("replaces the caller's own mark without confirmation", () => {
    expect(decide("bob", 3)).toMatchObject({ is: "taken", to: 3 });
  });
});

describe("decideGrade: taking back a mark", () => {
  it("takes back the caller's own last mark and keeps a colleague's newer one", () => {
    expect(decide("ada", null)).toMatchObject({ is: "taken", takesBack: 1 });
    expect(decide("bob", null)).toMatchObject({ is: "taken", takesBack: 2 });
  });

  it("is refused to a caller without a mark, and the refusal names the current mark", () => {
    expect(decide("eve", null)).toMatchObject({ is: "refused", why: expect.stringContaining("Mark 2: bob gave") });
  });

  it("is refused for a colleague's mark, given by id, that the caller has not seen", () => {
    expect(decide("ada", null, { takesBack: 2 })).toMatchObject({ is: "unseen" });
    expect(decide("ada", null, { takesBack: 2, seen: true })).toMatchObject({ is: "taken", takesBack: 2 });
  });
});

it("decideGrade: an acceptance is taken back by its author, or by a person who has seen it", () => {
  const grade = { reviewed: { id: 5, by: "ada", at: "2026-01-01T00:00:00.000Z" } } as never;
  const undo = (by: string, takesBack: number, seen = false) =>
    decideGrade({ rubric, grade, marks }, { kind: "reviewed", by, takesBack, seen });
  expect(undo("ada", 5)).toMatchObject({ is: "taken", takesBack: 5 });
  expect(undo("bob", 5)).toMatchObject({ is: "unseen" });
  expect(undo("bob", 5, true)).toMatchObject({ is: "taken", takesBack: 5 });
  expect(undo("ada", 4)).toMatchObject({ is: "refused" });
});

it("decideGrade refuses fields that belong to another kind of event", () => {
  const grade = { outcome: { is: "graded" }, total: 3, reviewed: null, released: { total: 3 } } as never;
  const say = (kind: "reviewed" | "released" | "withdrawn", more: object) =>
    decideGrade({ rubric, grade, marks }, { kind, by: "ada", reason: "so", seen: false, ...more });
  for (const kind of ["reviewed", "released", "withdrawn"] as const) {
    expect(say(kind, {}), kind).toMatchObject({ is: "taken" });
    for (const more of [{ points: 3 }, { points: null }, { criterion: "style" }]) {
      expect(say(kind, more), `${kind} ${JSON.stringify(more)}`).toMatchObject({ is: "invalid" });
    }
  }
  for (const kind of ["released", "withdrawn"] as const) expect(say(kind, { takesBack: 1 }).is, kind).toBe("invalid");
});
