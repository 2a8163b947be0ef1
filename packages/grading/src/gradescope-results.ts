/**
 * `results.json` as autograders for Gradescope write it, read so that a teacher's own autograder works unchanged. Fields that are
 * missing or odd are taken as Gradescope takes them; what a score may not be is clamped, and said.
 */
import { z } from "zod";
import { roundPoints, sumPoints } from "./points.ts";
import { MOST_RESULT_BYTES, type TestResult, type Visibility } from "./test-results.ts";

type OutputFormat = "text" | "html" | "simple_format" | "md" | "ansi";

export interface GradescopeResults {
  /** The score as given, else the sum of the tests' scores; null: there is neither. */
  readonly score: number | null;
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

const format = z.enum(["text", "html", "simple_format", "md", "ansi"]);
const visibility = z.enum(["visible", "hidden", "after_due_date", "after_published"]);
const number = z.union([
  z.number(),
  z
    .string()
    .regex(/^\s*-?\d+(?:\.\d+)?\s*$/)
    .transform(Number),
]);
const text = z.union([z.string(), z.number()]).transform(String);

const test = z.looseObject({
  score: number.nullish(),
  max_score: number.nullish(),
  status: z.enum(["passed", "failed"]).nullish(),
  name: text.nullish(),
  name_format: format.nullish(),
  number: text.nullish(),
  output: text.nullish(),
  output_format: format.nullish(),
  tags: z.array(text).nullish(),
  visibility: visibility.nullish(),
  extra_data: z.unknown().optional(),
});
const schema = z.looseObject({
  score: number.nullish(),
  execution_time: number.nullish(),
  output: text.nullish(),
  output_format: format.nullish(),
  test_output_format: format.nullish(),
  test_name_format: format.nullish(),
  visibility: visibility.nullish(),
  stdout_visibility: visibility.nullish(),
  extra_data: z.unknown().optional(),
  tests: z.array(test).nullish(),
  leaderboard: z.array(z.looseObject({ name: text, value: text, order: z.enum(["asc", "desc"]).nullish() })).nullish(),
});

export type ReadGradescope =
  | { readonly is: "read"; readonly results: GradescopeResults }
  | { readonly is: "unusable"; readonly why: string };

export function readGradescopeResults(json: string, totalPoints: number | null = null): ReadGradescope {
  if (Buffer.byteLength(json) > MOST_RESULT_BYTES) return { is: "unusable", why: "results.json is longer than 1 MiB" };
  let raw: unknown;
  try {
    raw = JSON.parse(json);
  } catch {
    return { is: "unusable", why: "results.json is no JSON" };
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
    const maxScore =
      one.max_score === null || one.max_score === undefined ? null : Math.max(0, roundPoints(one.max_score));
    const said = one.score ?? null;
    const given =
      said ?? (one.status === "passed" ? maxScore : one.status === "failed" && maxScore !== null ? 0 : null);
    const score = given === null ? null : clamp(given, maxScore, name, notes);
    return {
      name,
      nameFormat: one.name_format ?? data.test_name_format ?? "text",
      number: one.number ?? String(index + 1),
      score,
      maxScore,
      // Without a word for it, full marks are a pass.
      status: one.status ?? (score === null || maxScore === null ? null : score >= maxScore ? "passed" : "failed"),
      output: one.output ?? "",
      outputFormat: one.output_format ?? data.test_output_format ?? data.output_format ?? "text",
      tags: one.tags ?? [],
      visibility: one.visibility ?? whole,
      extraData: one.extra_data,
    };
  });
  const scored = tests.filter(({ score }) => score !== null);
  const summed = scored.length === 0 ? null : sumPoints(scored.map(({ score }) => score ?? 0));
  const score = data.score ?? summed;
  return {
    is: "read",
    results: {
      score: score === null ? null : clamp(score, totalPoints, "score", notes),
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

function clamp(score: number, most: number | null, name: string, notes: string[]): number {
  const clamped = roundPoints(Math.min(Math.max(0, score), most ?? Number.POSITIVE_INFINITY));
  if (clamped !== roundPoints(score)) notes.push(`${name.slice(0, 80)}: ${score} became ${clamped}`);
  return clamped;
}

/** As tests that criteria are scored by. A test worth nothing decides only whether it passed. */
export function testsOfGradescope({ tests }: GradescopeResults): TestResult[] {
  const seen = new Map<string, number>();
  return tests.map(({ name, score, maxScore, status, output, visibility: who }) => {
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    const worth = maxScore ?? 0;
    const share = worth > 0 && score !== null ? score / worth : status === "passed" ? 1 : 0;
    return {
      name: count === 1 ? name : `${name} (${count})`,
      passed: status === "passed",
      weight: worth > 0 ? worth : 1,
      share,
      message: output,
      visibility: who,
    };
  });
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
