/**
 * Computes marks from the results of executed tests. The judge writes a results file with a nonce that only the judge received; a file
 * without the nonce is no result, whoever wrote it. Tests outrank opinions: a model cannot change them.
 *
 * T1  A criterion gets the share of the weight that its tests reached.
 * T2  Tests with their own scores (Gradescope) give the sum of their scores as a share of the sum of their maxima. If a maximum is missing,
 *     or all are 0, the scores are points of the criterion. Extra credit and negative scores count, within the points of the criterion.
 * T3  Tests without weight count only if no test of the criterion has weight. Then all tests that report whether they passed count equally.
 * T4  A total beside the tests replaces their sum if one criterion owns all tests. Otherwise a person decides.
 */
import { z } from "zod";
import { isDeepJson } from "./is-deep-json.ts";
import { floorShare, formatPoints, isWhole, type Share, shareOfPoints, sumDecimals } from "./points.ts";
import type { Criterion, Rubric } from "./rubric.ts";

export interface TestResult {
  readonly name: string;
  readonly passed: boolean;
  /** The test's weight among the tests of its criterion. Default: 1. */
  readonly weight: number;
  /** Share of the weight that was reached, 0 to 1. */
  readonly share: number;
  readonly message: string;
  readonly visibility: Visibility;
  /** T2: the score that the autograder gave. */
  readonly scored?: { readonly points: number; readonly most: number | null };
  /** The test does not report whether it passed. */
  readonly undecided?: true;
}

/** T4: one score for all tests. most: null if the maximum is unknown. */
export interface TestTotal {
  readonly score: number;
  readonly most: number | null;
  /** Sum of the test scores. null: no test has a score. */
  readonly sum: number | null;
}

export type Visibility = "visible" | "hidden" | "after_due_date" | "after_published";

export type ReadResults =
  | TestsRead
  /** The teacher's files or the system caused this: a grader error. */
  | { readonly is: "unusable"; readonly why: string }
  /** The file was written by a program that does not know the nonce. */
  | { readonly is: "forged"; readonly why: string };

export interface TestsRead {
  readonly is: "read";
  readonly tests: readonly TestResult[];
  readonly notes: readonly string[];
  readonly total?: TestTotal;
}

export const MOST_RESULT_BYTES = 1024 * 1024;
const MOST_TESTS = 10_000;

const file = z.looseObject({
  nonce: z.string(),
  tests: z.array(
    z.looseObject({
      name: z.string().min(1).max(500),
      status: z.enum(["passed", "failed", "skipped"]),
      weight: z.number().positive().max(1e6).optional(),
      share: z.number().optional(),
      message: z.string().optional(),
      visibility: z.enum(["visible", "hidden", "after_due_date", "after_published"]).optional(),
    }),
  ),
});

export function readTestResults(text: string, nonce: string): ReadResults {
  if (nonce.length < 16) throw new RangeError("a nonce of less than 16 characters can be guessed");
  if (Buffer.byteLength(text) > MOST_RESULT_BYTES) return { is: "unusable", why: "the results are longer than 1 MiB" };
  if (isDeepJson(text)) return { is: "unusable", why: "the results are nested too deep" };
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    return { is: "unusable", why: "the results are not valid JSON" };
  }
  const claimed = typeof raw === "object" && raw !== null && "nonce" in raw ? raw.nonce : undefined;
  if (claimed !== nonce) return { is: "forged", why: "the results do not contain this session's nonce" };
  const read = file.safeParse(raw);
  if (!read.success) {
    const [issue] = read.error.issues;
    return { is: "unusable", why: `the results have the wrong format: ${issue?.path.join(".")}: ${issue?.message}` };
  }
  if (read.data.tests.length > MOST_TESTS) return { is: "unusable", why: `there are more than ${MOST_TESTS} tests` };
  const names = new Set(read.data.tests.map(({ name }) => name));
  if (names.size < read.data.tests.length) return { is: "unusable", why: "two tests have the same name" };
  const notes: string[] = [];
  const tests = read.data.tests.map(({ name, status, weight = 1, share, message = "", visibility = "hidden" }) => {
    const passed = status === "passed";
    const reached = Math.min(1, Math.max(0, share ?? (passed ? 1 : 0)));
    if (share !== undefined && reached !== share) notes.push(`${name}: a share of ${share} became ${reached}`);
    return { name, passed, weight, share: reached, message: message.slice(0, 10_000), visibility };
  });
  return { is: "read", tests, notes };
}

export type TestScore =
  | {
      readonly is: "scored";
      readonly points: number;
      readonly level: string | null;
      readonly tests: readonly TestResult[];
      readonly notes: readonly string[];
    }
  /** No test matches: a mistake in the rubric or in the tests, not a zero. */
  | { readonly is: "not graded"; readonly why: string };

export function scoreTests(criterion: Criterion, all: readonly TestResult[]): TestScore {
  const { source } = criterion;
  if (source.is !== "tests") return { is: "not graded", why: "tests do not grade this criterion" };
  const tests = all.filter(({ name }) => source.patterns.some((pattern) => fits(name, pattern)));
  if (tests.length === 0) return { is: "not graded", why: `no test matches ${source.patterns.join(" or ")}` };
  const share = scoredShare(tests, criterion) ?? weighedShare(tests) ?? countedShare(tests);
  if (share === null) return { is: "not graded", why: "no test reports whether it passed" };
  return markOf(criterion, share, tests, []);
}

/** See T2 in the file header. */
function scoredShare(tests: readonly TestResult[], { points }: Criterion): Share | null {
  const scored = tests.flatMap((test) => test.scored ?? []);
  const maxima = scored.map(({ most }) => most);
  const whole = maxima.includes(null) ? 0 : sumDecimals(maxima.map((most) => most ?? 0));
  // Tests of 0 points that added and took nothing have no weight.
  if (whole === 0 && scored.every((one) => one.most === 0 && one.points === 0)) return null;
  return { parts: scored.map((one) => [one.points, 1]), whole: whole > 0 ? whole : Math.abs(points) };
}

/** See T1 in the file header. */
function weighedShare(tests: readonly TestResult[]): Share | null {
  const whole = sumDecimals(tests.map(({ weight }) => weight));
  return whole > 0 ? { parts: tests.map(({ weight, share }) => [weight, share]), whole } : null;
}

/** See T3 in the file header. */
function countedShare(tests: readonly TestResult[]): Share | null {
  const decided = tests.filter(({ undecided }) => undecided !== true);
  if (decided.length === 0) return null;
  return { parts: decided.map(({ passed }) => [passed ? 1 : 0, 1]), whole: decided.length };
}

/** T4: returns the criterion whose points the total gives. null: no criterion owns all tests that have points, or several criteria do. */
export function ownerOfTotal({ criteria }: Rubric, tests: readonly TestResult[]): Criterion | null {
  const [only, ...others] = criteria.filter(({ source }) => source.is === "tests");
  if (only?.source.is !== "tests" || others.length > 0) return null;
  const { patterns } = only.source;
  const carrying = tests.filter(({ scored }) => scored !== undefined);
  return carrying.every(({ name }) => patterns.some((pattern) => fits(name, pattern))) ? only : null;
}

/** T4. A total above the maxima of the tests counts as points of the criterion, if the criterion has enough points. */
export function scoreTotal(
  criterion: Criterion,
  { score, most, sum }: TestTotal,
  tests: readonly TestResult[],
): TestScore {
  const worth = Math.abs(criterion.points);
  const whole = most === null || most <= 0 || (score > most && score <= worth) ? worth : most;
  const said = `The autograder gives a score of ${formatPoints(score)} of ${formatPoints(whole)}`;
  const why =
    sum === null ? "; no test has its own score." : `, which replaces the sum of its tests (${formatPoints(sum)}).`;
  return markOf(criterion, { parts: [[score, 1]], whole }, tests, [`${said}${why}`]);
}

export function tellTotal({ score, sum }: TestTotal): string {
  const beside = sum === null ? "its tests have no scores" : `its tests add up to ${formatPoints(sum)}`;
  return `the autograder gives one total score of ${formatPoints(score)} and ${beside}, so the score cannot be divided among the criteria of the rubric`;
}

function markOf(criterion: Criterion, share: Share, tests: readonly TestResult[], notes: readonly string[]): TestScore {
  const { scale, points: most } = criterion;
  const full = isWhole(share);
  switch (scale.is) {
    case "binary":
      return { is: "scored", points: full === most > 0 ? most : 0, level: full ? "met" : "not met", tests, notes };
    case "points":
      return { is: "scored", points: floorShare(share, scale.step, most), level: null, tests, notes };
    case "levels": {
      const reached = Math.abs(shareOfPoints(share, most));
      const fitting = scale.levels
        .filter((level) => Math.abs(level.points) <= reached)
        .sort((one, other) => Math.abs(other.points) - Math.abs(one.points))[0];
      if (fitting === undefined) return { is: "scored", points: 0, level: null, tests, notes };
      return { is: "scored", points: fitting.points, level: fitting.name, tests, notes };
    }
  }
}

/** `*` matches any text. Linear: the pieces between stars are searched one after the other. */
export function fits(name: string, pattern: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return name === pattern;
  const last = rest.pop() ?? "";
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  let at = first.length;
  const end = name.length - last.length;
  for (const piece of rest) {
    const found = name.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}
