/**
 * Computes the grade of one submission. There are four outcomes, which are never mixed up: graded, ungradable (caused by the student),
 * grader error (caused by the system) and needs human. Only a graded submission has a total. If a criterion is not graded, the submission
 * has no points, and the grade lists the open criteria.
 */
import type { Evidence } from "./evidence.ts";
import {
  clampPoints,
  formatPercent,
  formatPoints,
  isNearShare,
  multiplyDecimals,
  scalePoints,
  sumCriteria,
  totalPoints,
} from "./points.ts";
import { type Criterion, mostPoints, type Rubric } from "./rubric.ts";
import { ownerOfTotal, type ReadResults, scoreTests, scoreTotal, type TestResult, tellTotal } from "./test-results.ts";
import type { ReadVerdicts } from "./verdict.ts";

export type Outcome =
  | { readonly is: "graded" }
  | { readonly is: "ungradable"; readonly why: string }
  | { readonly is: "grader error"; readonly why: string }
  | { readonly is: "needs human"; readonly why: readonly string[] };

export interface Grade {
  readonly outcome: Outcome;
  readonly criteria: readonly CriterionGrade[];
  /**
   * The sum of the criteria including deductions, never below 0. null: a criterion is open. It is only a proposal unless the outcome is
   * "graded".
   */
  readonly points: number | null;
  readonly most: number;
  /** Shown as a separate line and never included in the points. null: no penalty. */
  readonly penalty: Penalty | null;
  /** `points` minus the penalty. null: the submission is not graded. */
  readonly total: number | null;
  readonly flags: readonly Flag[];
  readonly nextSteps: readonly string[];
}

export type CriterionGrade =
  | {
      readonly is: "scored";
      readonly id: string;
      readonly by: "tests" | "llm" | "human";
      readonly points: number;
      readonly level: string | null;
      readonly comment: string;
      readonly evidence: readonly Evidence[];
      /** The model's confidence. null: a model did not grade this criterion. */
      readonly confidence: number | null;
      readonly tests: readonly TestResult[];
      readonly notes: readonly string[];
    }
  | { readonly is: "not graded"; readonly id: string; readonly why: string };

export interface Penalty {
  readonly points: number;
  readonly why: string;
}

export const flagKinds = [
  "injection",
  "forged results",
  "low confidence",
  "borderline",
  "disagreement",
  "similar",
  "tampering",
  "wording",
] as const;
export type FlagKind = (typeof flagKinds)[number];

/** A fact for the teacher to see. A flag never changes points. */
export interface Flag {
  readonly kind: FlagKind;
  readonly message: string;
  readonly file?: string;
  readonly line?: number;
}

interface HumanVerdict {
  readonly criterion: string;
  readonly points: number;
  readonly comment: string;
}

export interface GradeInput {
  /** null: no criterion is graded by tests. */
  readonly tests: ReadResults | null;
  /** null: no criterion is graded by a model, or no model could be asked. */
  readonly verdicts: ReadVerdicts | null;
  readonly human?: readonly HumanVerdict[];
  readonly flags?: readonly Flag[];
  /** Reasons for a human decision that apply under every policy: a part of the submission was not shown, or a question was not answered. */
  readonly doubts?: readonly string[];
  readonly penalty?: Penalty | null;
  readonly review?: ReviewPolicy;
}

/** The conditions that send a graded submission to a person before it is released. */
interface ReviewPolicy {
  /** The model's confidence is below this value. */
  readonly confidenceBelow?: number;
  /** A share of the points, such as the pass mark, and the distance within which a grade is borderline. */
  readonly passMark?: number;
  readonly borderline?: number;
  /** Kinds of flags that need a human decision. */
  readonly flags?: readonly Flag["kind"][];
}

export function gradeWork(rubric: Rubric, input: GradeInput): Grade {
  const most = mostPoints(rubric);
  const flags = [...(input.flags ?? [])];
  const { tests, verdicts } = input;
  if (tests?.is === "forged") flags.push({ kind: "forged results", message: tests.why });
  const owner = tests?.is === "read" && tests.total !== undefined ? ownerOfTotal(rubric, tests.tests) : null;
  const criteria = rubric.criteria.map((criterion) => gradeCriterion(criterion, input, criterion === owner));
  const open = criteria.filter((one) => one.is === "not graded");
  const common = { criteria, most, nextSteps: verdicts?.nextSteps ?? [] };
  const without = { ...common, points: null, total: null, penalty: null };
  const needsTests = rubric.criteria.some(({ source }) => source.is === "tests");
  if (needsTests && (tests === null || tests.is !== "read")) {
    const why = tests === null ? "the tests did not run" : tests.why;
    return { ...without, outcome: { is: "grader error", why }, flags };
  }
  for (const one of criteria) {
    const limit = input.review?.confidenceBelow;
    if (one.is === "scored" && one.confidence !== null && limit !== undefined && one.confidence < limit) {
      flags.push({
        kind: "low confidence",
        message: `${one.id}: the model's confidence is only ${Math.round(one.confidence * 100)} %`,
      });
    }
  }
  const undivided = needsTests && tests?.is === "read" && tests.total !== undefined && owner === null;
  const doubts = [...(input.doubts ?? []), ...(undivided ? [tellTotal(tests.total)] : [])];
  const points = sumCriteria(criteria);
  if (points === null) {
    const why = [...open.map(({ id, why }) => `${id}: ${why}`), ...doubts];
    return { ...without, outcome: { is: "needs human", why }, flags };
  }
  const penalty = input.penalty ?? null;
  const total = totalPoints(points, penalty);
  const { passMark, borderline = 0, flags: wanting = [] } = input.review ?? {};
  if (passMark !== undefined && isNearShare(total, most, passMark, borderline)) {
    flags.push({ kind: "borderline", message: tellNearPassMark(total, most) });
  }
  const flagged = flags.filter(({ kind }) => wanting.includes(kind)).map(tellFlag);
  const reasons = [...doubts, ...flagged];
  const outcome: Outcome = reasons.length > 0 ? { is: "needs human", why: reasons } : { is: "graded" };
  return { ...common, outcome, points, penalty, total: outcome.is === "graded" ? total : null, flags };
}

export function tellNearPassMark(points: number, most: number): string {
  return `${formatPoints(points)} of ${formatPoints(most)} is near the pass mark`;
}

export function tellFlag({ message, file, line }: Flag): string {
  if (file === undefined) return message;
  return `${file}${line === undefined ? "" : `:${line}`} ${message}`;
}

function gradeCriterion(
  criterion: Criterion,
  { tests, verdicts, human = [] }: GradeInput,
  ownsTotal: boolean,
): CriterionGrade {
  const { id, source } = criterion;
  // A person's mark overrides everything else.
  const person = human.find((one) => one.criterion === id);
  if (person !== undefined) {
    const { points, comment } = person;
    return { ...blank, is: "scored", id, by: "human", points: clampPoints(points, criterion), level: null, comment };
  }
  switch (source.is) {
    case "human":
      return { is: "not graded", id, why: "a person must grade this" };
    case "tests": {
      if (tests === null || tests.is !== "read")
        return { is: "not graded", id, why: tests?.why ?? "the tests did not run" };
      const score =
        ownsTotal && tests.total !== undefined
          ? scoreTotal(criterion, tests.total, tests.tests)
          : scoreTests(criterion, tests.tests);
      if (score.is === "not graded") return { is: "not graded", id, why: score.why };
      const decided = score.tests.filter((test) => test.undecided !== true);
      const passed = decided.filter((test) => test.passed).length;
      const comment = decided.length === 0 ? "" : `${passed} of ${decided.length} tests passed.`;
      return {
        ...blank,
        is: "scored",
        id,
        by: "tests",
        points: score.points,
        level: score.level,
        comment,
        tests: score.tests,
        notes: score.notes,
      };
    }
    case "llm": {
      const verdict = verdicts?.verdicts.find((one) => one.criterion === id);
      if (verdict !== undefined) return { ...blank, is: "scored", by: "llm", id, ...verdict };
      const problem = verdicts?.problems.find((one) => one.criterion === id || one.criterion === null)?.problem;
      return { is: "not graded", id, why: problem ?? "no model has graded this" };
    }
  }
}

const blank = { evidence: [], confidence: null, tests: [], notes: [] } as const;

/** Caused by the student: the submission contains nothing that can be graded. */
export function ungradable(rubric: Rubric, why: string, flags: readonly Flag[] = []): Grade {
  return withoutPoints(rubric, { is: "ungradable", why }, flags);
}

/** Caused by the system: the submission must be graded again. */
export function graderError(rubric: Rubric, why: string, flags: readonly Flag[] = []): Grade {
  return withoutPoints(rubric, { is: "grader error", why }, flags);
}

function withoutPoints(
  rubric: Rubric,
  outcome: Outcome & { readonly why: string | readonly string[] },
  flags: readonly Flag[],
): Grade {
  const why = String(outcome.why);
  const criteria = rubric.criteria.map(({ id }): CriterionGrade => ({ is: "not graded", id, why }));
  return {
    outcome,
    criteria,
    points: null,
    most: mostPoints(rubric),
    penalty: null,
    total: null,
    flags,
    nextSteps: [],
  };
}

/** Takes a share of the maximum for each started day. null: on time, or there is no deduction. */
export function latePenalty(
  most: number,
  policy: { readonly percentPerDay: number; readonly mostPercent: number },
  byMs: number | null,
): Penalty | null {
  if (byMs === null || byMs <= 0 || policy.percentPerDay === 0) return null;
  const days = Math.ceil(byMs / 86_400_000);
  const percent = Math.min(policy.mostPercent, multiplyDecimals(days, policy.percentPerDay));
  return {
    points: scalePoints(most, percent, 100),
    why: `${days} ${days === 1 ? "day" : "days"} late, ${formatPercent(percent)}`,
  };
}
