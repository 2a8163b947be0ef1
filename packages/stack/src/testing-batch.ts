/** A batch for tests, in the form that the store returns. */
import { finalGrade, type Grade, type GradeEvent, personMarks, type Rubric } from "@markmill/grading";
import type { BatchDetail, BatchWork, WorkCounts } from "@markmill/store";

export const rubric: Rubric = {
  criteria: [
    {
      id: "tests",
      title: "All tests pass",
      points: 6,
      scale: { is: "points", step: 1 },
      evidence: false,
      source: { is: "tests", patterns: ["*"] },
      guidance: "",
    },
    {
      id: "names",
      title: "Names say what things are",
      points: 4,
      scale: { is: "points", step: 1 },
      evidence: true,
      source: { is: "llm" },
      guidance: "",
    },
  ],
} as Rubric;

const noSpent = { calls: 0, promptTokens: 0, completionTokens: 0, characters: 0, nanodollars: 0 };
const noCounts: WorkCounts = {
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

export function batchOf(
  given: Partial<Omit<BatchDetail, "counts">> & { counts?: Partial<WorkCounts> } = {},
): BatchDetail {
  const counts = { ...noCounts, ...given.counts };
  const works =
    counts.waiting + counts.running + counts.succeeded + counts.failed + counts.ungradable + counts.notCounted;
  return {
    id: "0199f3a2-0000-7000-8000-000000000001",
    key: "k",
    name: "Sheet 3",
    definitionHash: "h",
    state: { is: "open" },
    concurrency: 4,
    createdAt: new Date(0),
    endedAt: null,
    rubric,
    rubricHash: "r",
    settings: { run: {}, late: null, aiConsent: "any", language: null },
    members: 2,
    budget: null,
    budgetNearlySpent: false,
    spent: noSpent,
    runMs: [],
    troubles: [],
    ...given,
    counts: { ...counts, works },
  };
}

export function gradeOf(points: readonly (number | null)[], given: Partial<Grade> = {}): Grade {
  const open = points.includes(null);
  const sum = open ? null : points.reduce<number>((total, one) => total + (one ?? 0), 0);
  const outcome = given.outcome ?? (open ? { is: "needs human", why: ["open"] } : { is: "graded" });
  return {
    outcome,
    criteria: rubric.criteria.map(({ id }, index) => {
      const value = points[index] ?? null;
      if (value === null) return { is: "not graded", id, why: "open" };
      const by = index === 0 ? "tests" : "llm";
      return {
        is: "scored",
        id,
        by,
        points: value,
        level: null,
        comment: `About ${id}.`,
        evidence: [],
        confidence: null,
        tests: [],
        notes: [],
      };
    }),
    points: sum,
    most: 10,
    penalty: null,
    total: outcome.is === "graded" ? sum : null,
    flags: [],
    nextSteps: [],
    ...given,
  };
}

export function workOf(
  key: string,
  grade: Grade | null,
  given: Partial<BatchWork> = {},
  events: readonly GradeEvent[] = [],
): BatchWork {
  const proposal = grade === null ? null : { grade, try: 1 };
  return {
    key: `${key}#1`,
    by: [key],
    group: null,
    attempt: 1,
    counts: true,
    label: key,
    sources: [key],
    submittedAt: null,
    lateness: { is: "on time" },
    pseudonym: `Student-${key}`,
    content: { is: "taken", hash: "c", files: 1, bytes: 10, paths: ["a.js"], notes: [] },
    standing: grade === null ? { is: "waiting" } : { is: "succeeded" },
    try: null,
    tries: grade === null ? 0 : 1,
    proposal,
    events,
    spent: noSpent,
    etag: "e",
    marks: personMarks({ rubric, content: "c", events }),
    grade: finalGrade({
      rubric,
      rubricHash: "r",
      content: "c",
      events,
      penalty: null,
      proposal: proposal === null ? null : { ...proposal, rubricHash: "r" },
      situation: { is: grade === null ? "open" : "done" },
    }),
    ...given,
  };
}
