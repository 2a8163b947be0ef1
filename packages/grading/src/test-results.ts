/**
 * What executed tests say. The judge writes a file that carries a nonce only it was told; a file without it, from whomever, is
 * no result. Tests outrank opinions: nothing a model says changes them.
 */
import { z } from "zod";
import { floorShare, isWhole, type Share, shareOfPoints, sumDecimals } from "./points.ts";
import type { Criterion } from "./rubric.ts";

export interface TestResult {
  readonly name: string;
  readonly passed: boolean;
  /** What the test is worth among its criterion's; 1 unless it says so. */
  readonly weight: number;
  /** Share of the weight that was reached, 0 to 1. */
  readonly share: number;
  readonly message: string;
  readonly visibility: Visibility;
}

export type Visibility = "visible" | "hidden" | "after_due_date" | "after_published";

export type ReadResults =
  | { readonly is: "read"; readonly tests: readonly TestResult[]; readonly notes: readonly string[] }
  /** Ours or the teacher's to mend: the grader's error. */
  | { readonly is: "unusable"; readonly why: string }
  /** Somebody who does not know the nonce wrote it. */
  | { readonly is: "forged"; readonly why: string };

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
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    return { is: "unusable", why: "the results are no JSON" };
  }
  const claimed = typeof raw === "object" && raw !== null && "nonce" in raw ? raw.nonce : undefined;
  if (claimed !== nonce) return { is: "forged", why: "the results do not carry this session's nonce" };
  const read = file.safeParse(raw);
  if (!read.success) {
    const [issue] = read.error.issues;
    return { is: "unusable", why: `the results are not as expected: ${issue?.path.join(".")}: ${issue?.message}` };
  }
  if (read.data.tests.length > MOST_TESTS) return { is: "unusable", why: `there are more than ${MOST_TESTS} tests` };
  const names = new Set(read.data.tests.map(({ name }) => name));
  if (names.size < read.data.tests.length) return { is: "unusable", why: "two tests have one name" };
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
    }
  /** No test fits: a mistake in the rubric or the tests, not a zero. */
  | { readonly is: "not graded"; readonly why: string };

export function scoreTests(criterion: Criterion, all: readonly TestResult[]): TestScore {
  const { source, scale, points: most } = criterion;
  if (source.is !== "tests") return { is: "not graded", why: "tests do not grade this criterion" };
  const tests = all.filter(({ name }) => source.patterns.some((pattern) => fits(name, pattern)));
  if (tests.length === 0) return { is: "not graded", why: `no test is named like ${source.patterns.join(" or ")}` };
  const share: Share = {
    parts: tests.map((test) => [test.weight, test.share]),
    whole: sumDecimals(tests.map((test) => test.weight)),
  };
  const full = isWhole(share);
  switch (scale.is) {
    case "binary":
      return { is: "scored", points: full === most > 0 ? most : 0, level: full ? "met" : "not met", tests };
    case "points":
      return { is: "scored", points: floorShare(share, scale.step, most), level: null, tests };
    case "levels": {
      const reached = Math.abs(shareOfPoints(share, most));
      const fitting = scale.levels
        .filter((level) => Math.abs(level.points) <= reached)
        .sort((one, other) => Math.abs(other.points) - Math.abs(one.points))[0];
      if (fitting === undefined) return { is: "scored", points: 0, level: null, tests };
      return { is: "scored", points: fitting.points, level: fitting.name, tests };
    }
  }
}

/** `*` stands for anything. Linear: the pieces between stars are looked for one after the other. */
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
