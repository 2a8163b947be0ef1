/** Grade sheets for tests, with every outcome. */
import { type CriterionGrade, type Grade, type Outcome, roundPoints } from "@markmill/grading";
import type { GradeRow, GradeSheet } from "./grade-sheet.ts";

export const criteria = [
  { id: "tests", title: "All tests pass", points: 6 },
  { id: "names", title: "Names say what things are", points: 4 },
];

export function gradeOf(outcome: Outcome, points: readonly (number | null)[], given: Partial<Grade> = {}): Grade {
  const scored = criteria.map(({ id }, index): CriterionGrade => {
    const value = points[index] ?? null;
    return value === null
      ? { is: "not graded", id, why: "open" }
      : {
          is: "scored",
          id,
          by: index === 0 ? "tests" : "llm",
          points: value,
          level: null,
          comment: `About ${id}.`,
          evidence: [],
          confidence: index === 0 ? null : 0.9,
          tests: [],
          notes: [],
        };
  });
  const sum = points.includes(null) ? null : roundPoints(points.reduce<number>((total, one) => total + (one ?? 0), 0));
  return {
    outcome,
    criteria: scored,
    points: sum,
    most: 10,
    penalty: null,
    total: outcome.is === "graded" ? sum : null,
    flags: [],
    nextSteps: [],
    ...given,
  };
}

export function row(id: string, name: string, grade: Grade | null, feedback = "Well done."): GradeRow {
  return { student: { key: id, id, name }, grade, feedback };
}

export function sheetOf(rows: readonly GradeRow[]): GradeSheet {
  return { title: "Sheet 3", most: 10, criteria, rows };
}
