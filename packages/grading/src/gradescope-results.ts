/**
 * Reads the `results.json` that Gradescope autograders write, so that a teacher's own autograder works unchanged. The rules are those of
 * Gradescope's autograder specification:
 *
 * S1  The score at the top overrides the sum of the tests. Without one, the sum of the tests is the score.
 * S2  A test has a score, a max_score, both or neither. Scores above max_score (extra credit) and below 0 count as given, with a note.
 * S3  The status of a test changes how it is displayed, not its score. Without a status, a test with its full score has passed.
 * S4  A test with a status and no score is informational and has the weight 0.
 *
 * One rule is ours: a test with max_score and status but no score gets all or none of its points, with a note.
 */
import { z } from "zod";
import { isDeepJson } from "./is-deep-json.ts";
import { formatPoints, roundPoints, sumPoints } from "./points.ts";
import { MOST_RESULT_BYTES, type TestResult, type TestsRead, type Visibility } from "./test-results.ts";

type OutputFormat = "text" | "html" | "simple_format" | "md" | "ansi";

export interface GradescopeResults {
  /** The total score in the file. null: not given. */
  readonly score: number | null;
  /** Sum of the test scores. null: no test has a score. */
  readonly sum: number | null;
  readonly executionTime: number | null;
  readonly output: string;
  readonly outputFormat: OutputFormat;
  readonly visibility: Visibility;
  readonly stdoutVisibility: Visibility;
  readonly tests: readonly GradescopeTest[];
  readonly leaderboard: readonly { readonly name: string; readonly value: string; readonly order: "asc" | "desc" }[];
  readonly extraData: unknown;
  readonly notes: readonly string[];
}

interface GradescopeTest {
  readonly name: string;
  readonly nameFormat: OutputFormat;
  readonly number: string;
  readonly score: number | null;
  readonly maxScore: number | null;
  readonly status: "passed" | "failed" | null;
  readonly output: string;
  readonly outputFormat: OutputFormat;
  readonly tags: readonly string[];
  readonly visibility: Visibility;
  readonly extraData: unknown;
}

const format = z.enum(["text", "html", "simple_format", "md", "ansi"]).nullish().catch(null);
const visibility = z.enum(["visible", "hidden", "after_due_date", "after_published"]);
const number = z.union([
  z.number(),
  z
    .string()
    .max(1_000)
    .regex(/^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,2})?\s*$/i)
    .transform(Number),
]);
/** Accepts any value that an autograder prints. */
const text = z.unknown().transform((value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? "")));

const test = z.looseObject({
  score: number.nullish(),
  max_score: number.nullish(),
  status: text.nullish(),
  name: text.nullish(),
  name_format: format,
  number: text.nullish(),
  output: text.nullish(),
  output_format: format,
  tags: z.array(text).nullish().catch(null),
  visibility: visibility.nullish(),
  extra_data: z.unknown().optional(),
});
const schema = z.looseObject({
  score: number.nullish(),
  execution_time: number.nullish().catch(null),
  output: text.nullish(),
  output_format: format,
  test_output_format: format,
  test_name_format: format,
  visibility: visibility.nullish(),
  stdout_visibility: visibility.nullish(),
  extra_data: z.unknown().optional(),
  tests: z.array(test).nullish(),
  leaderboard: z
    .array(z.looseObject({ name: text, value: text, order: z.enum(["asc", "desc"]).nullish().catch(null) }))
    .nullish()
    .catch(null),
});

export type ReadGradescope =
  | { readonly is: "read"; readonly results: GradescopeResults }
  | { readonly is: "unusable"; readonly why: string };

export function readGradescopeResults(json: string): ReadGradescope {
  if (Buffer.byteLength(json) > MOST_RESULT_BYTES) return { is: "unusable", why: "results.json is longer than 1 MiB" };
  if (isDeepJson(json)) return { is: "unusable", why: "results.json is nested too deep" };
  let raw: unknown;
  try {
    raw = JSON.parse(json.replace(/^\ufeff/, ""));
  } catch {
    return { is: "unusable", why: "results.json is not valid JSON" };
  }
  const read = schema.safeParse(raw);
  if (!read.success) {
    const [issue] = read.error.issues;
    return { is: "unusable", why: `results.json: ${issue?.path.join(".") || "the file"}: ${issue?.message ?? "odd"}` };
  }
  const { data } = read;
  const notes: string[] = [];
  const whole = data.visibility ?? "visible";
  const tests = (data.tests ?? []).map((one, index): GradescopeTest => {
    const name = one.name ?? `Test ${one.number ?? index + 1}`;
    const note = (says: string) => notes.push(`${name.slice(0, 80)}: ${says}`);
    const maxScore =
      one.max_score === null || one.max_score === undefined ? null : Math.max(0, roundPoints(one.max_score));
    const status = one.status === "passed" || one.status === "failed" ? one.status : null;
    if (status === null && one.status) note(`the status "${one.status.slice(0, 40)}" is unknown and does not count`);
    const byStatus = maxScore === null || maxScore === 0 || status === null ? null : status === "passed" ? maxScore : 0;
    const given = one.score === null || one.score === undefined ? null : roundPoints(one.score);
    const score = given ?? byStatus;
    if (given === null && byStatus !== null) note(`no score; ${one.status} counts as ${formatPoints(byStatus)} points`);
    if (given !== null && given < 0) note(`the score ${formatPoints(given)} is negative and deducts points`);
    if (given !== null && maxScore !== null && given > maxScore) {
      note(`${formatPoints(given)} of ${formatPoints(maxScore)} points is extra credit`);
    }
    return {
      name,
      nameFormat: one.name_format ?? data.test_name_format ?? "text",
      number: one.number ?? String(index + 1),
      score,
      maxScore,
      // Without a status, a test with full marks has passed.
      status: status ?? (score === null || maxScore === null ? null : score >= maxScore ? "passed" : "failed"),
      output: one.output ?? "",
      outputFormat: one.output_format ?? data.test_output_format ?? data.output_format ?? "text",
      tags: one.tags ?? [],
      visibility: one.visibility ?? whole,
      extraData: one.extra_data,
    };
  });
  const scored = tests.filter(({ score }) => score !== null);
  const summed = scored.length === 0 ? null : sumPoints(scored.map(({ score }) => score ?? 0));
  return {
    is: "read",
    results: {
      score: data.score === null || data.score === undefined ? null : roundPoints(data.score),
      sum: summed,
      executionTime: data.execution_time ?? null,
      output: data.output ?? "",
      outputFormat: data.output_format ?? "text",
      visibility: whole,
      stdoutVisibility: data.stdout_visibility ?? "hidden",
      tests,
      leaderboard: (data.leaderboard ?? []).map(({ name, value, order }) => ({ name, value, order: order ?? "desc" })),
      extraData: data.extra_data,
      notes,
    },
  };
}

/** Converts the file to tests that score criteria. A score counts as given, and a test of 0 points has the weight 0. */
export function testsOfGradescope({ tests, score, sum }: GradescopeResults): Omit<TestsRead, "is"> {
  const seen = new Map<string, number>();
  const notes: string[] = [];
  const read = tests.map(({ name, score: points, maxScore: most, status, output, visibility: who }): TestResult => {
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    const share = most !== null && most > 0 && points !== null ? points / most : status === "passed" ? 1 : 0;
    // Gradescope adds nothing for a test without a score.
    const missing = points === null && most !== null && most > 0 && sum !== null;
    if (missing)
      notes.push(`${name.slice(0, 80)}: neither score nor status, so it counts as 0 of ${formatPoints(most)}`);
    const scored = points === null ? (missing ? { points: 0, most } : null) : { points, most };
    if (points !== null && most === null) {
      notes.push(
        `${name.slice(0, 80)}: no max_score, so its score of ${formatPoints(points)} counts in points of the rubric`,
      );
    }
    return {
      name: count === 1 ? name : `${name} (${count})`,
      passed: status === "passed",
      weight: scored?.most ?? 0,
      share: Math.min(1, Math.max(0, share)),
      message: output,
      visibility: who,
      ...(scored === null ? {} : { scored }),
      ...(status === null ? { undecided: true } : {}),
    };
  });
  if (score === null || score === sum) return { tests: read, notes };
  const maxima = tests.flatMap(({ score: points, maxScore }) => (points === null ? [] : [maxScore]));
  const most = maxima.length === 0 || maxima.includes(null) ? null : sumPoints(maxima.map((one) => one ?? 0));
  const beside = sum === null ? "no test has a score" : `its tests add up to ${formatPoints(sum)}`;
  notes.push(`The score is ${formatPoints(score)}, but ${beside}. As in Gradescope, the score counts.`);
  return { tests: read, notes, total: { score, most, sum } };
}

export interface Moment {
  readonly afterDueDate: boolean;
  readonly published: boolean;
}

export function isVisible(visibility: Visibility, { afterDueDate, published }: Moment): boolean {
  switch (visibility) {
    case "visible":
      return true;
    case "hidden":
      return false;
    case "after_due_date":
      return afterDueDate;
    case "after_published":
      return published;
  }
}
