/**
 * Builds a student's report as data: result, points, reasons, quotations and next steps, in the student's language. Markdown, HTML and PDF
 * are made from it.
 *
 * S1  Hidden tests, flags and guidance are not included, so no form can show them.
 * S2  Texts by others carry the name of their author: a quotation of a file, output of a test, a comment of a model or of a person. Each
 *     form shows them as a quotation of that author, never as its own text.
 * S3  If a submission was flagged for words to the grader, the report leaves out words of a model until a person has reviewed the
 *     submission. The model may repeat the flagged words.
 * S4  AI is named only if a model was called.
 */
import { type CriterionGrade, type Grade, isVisible, type Moment } from "@markmill/grading";
import { personName } from "./person-name.ts";
import { type QuotedFile, quotedCode } from "./quoted-code.ts";
import { type ReportLanguage, type ReportWriter, reportLanguage, reportWriter } from "./report-texts.ts";

export interface StudentReport {
  readonly language: ReportLanguage;
  readonly title: string;
  readonly student: string;
  /** The grade is not released. Every form of the report states this at the top. */
  readonly draft: boolean;
  readonly result: string;
  /** Why the submission could not be graded. It may name files of the student. */
  readonly reason: string | null;
  /** The share of the points, 0 to 1. null: there is no total. */
  readonly share: number | null;
  /** The submission time, the attempt, the lateness. */
  readonly facts: readonly { readonly name: string; readonly value: string }[];
  readonly criteria: readonly ReportedCriterion[];
  readonly files: readonly QuotedFile[];
  readonly nextSteps: readonly string[];
  readonly stepsBy: "model" | "us";
  readonly notice: string;
}

export interface ReportedCriterion {
  readonly title: string;
  /** "3 of 4", or a text that there is no mark. */
  readonly mark: string;
  /** 0 to 1. null: not graded, or a deduction. */
  readonly share: number | null;
  readonly level: string | null;
  /** The summary of the tests, in our own text. */
  readonly summary: string | null;
  readonly comment: { readonly by: "model" | "person"; readonly text: string } | null;
  readonly evidence: readonly { readonly file: string; readonly line: number; readonly quote: string }[];
  readonly tests: readonly ReportedTest[];
}

interface ReportedTest {
  readonly name: string;
  readonly passed: boolean;
  /** The output of the test, line by line. Empty: none. */
  readonly output: string;
}

export interface ReportInput {
  readonly title: string;
  readonly student: string;
  readonly grade: Grade;
  readonly criteria: readonly { readonly id: string; readonly title: string; readonly points: number }[];
  /** Decides which tests the student may see. */
  readonly moment: Moment;
  /** The recorded reviewer of the grade. null: none yet. */
  readonly reviewer: string | null;
  /** The person who released the grade without a review. */
  readonly releaser?: string | null;
  /** Default: false. */
  readonly draft?: boolean;
  /** The language of the student, or else of the class. Default: English. */
  readonly language?: string | null;
  /** The number of model calls for this submission. Default: derived from the criteria. */
  readonly modelCalls?: number;
  readonly submitted?: {
    readonly at: string | null;
    readonly attempt: number;
    /** Hash of the graded commit, if the submission is in a repository. */
    readonly commit?: string;
    readonly lateness:
      | { readonly is: "unknown" }
      | { readonly is: "on time" }
      | { readonly is: "late"; readonly byMs: number | null };
  };
  /** The texts of the student's files by path, for the lines around a quotation. */
  readonly sources?: ReadonlyMap<string, string>;
}

const mostTests = 200;
const mostOutput = 4_000;

export function reportFor(input: ReportInput): StudentReport {
  const { title, student, grade, reviewer, draft = false } = input;
  const language = reportLanguage(input.language);
  const writer = reportWriter(language);
  const { outcome } = grade;
  const hasMarks = outcome.is === "graded" || outcome.is === "needs human";
  const withheld = reviewer === null && grade.flags.some(({ kind }) => kind === "injection");
  const criteria = hasMarks ? input.criteria.map((one) => criterionOf(one, input, writer, withheld)) : [];
  const steps = stepsOf(grade, criteria, writer, withheld);
  return {
    language,
    title,
    student,
    draft,
    result: resultOf(grade, writer),
    reason: outcome.is === "ungradable" ? outcome.why : null,
    share: grade.total === null || grade.most <= 0 ? null : clampShare(grade.total / grade.most),
    facts: factsOf(input, writer),
    criteria,
    files: quotedCode(
      criteria.flatMap(({ evidence }) => evidence),
      input.sources ?? new Map(),
    ),
    ...steps,
    notice: noticeOf(input, writer),
  };
}

function criterionOf(
  { id, title, points }: ReportInput["criteria"][number],
  { grade, moment }: ReportInput,
  { say, points: write }: ReportWriter,
  withheld: boolean,
): ReportedCriterion {
  const found = grade.criteria.find((one) => one.id === id);
  if (found?.is !== "scored") {
    const mark = say("notGraded", { most: write(points) });
    return {
      title,
      mark,
      share: null,
      level: null,
      summary: null,
      comment: null,
      evidence: [],
      tests: [],
    };
  }
  const shown = found.tests.filter(({ visibility }) => isVisible(visibility, moment));
  const summaries = [
    ...(found.by === "tests" && found.tests.length > 0 ? [testsSummary(found.tests, say)] : []),
    ...(found.by === "llm" && withheld ? [say("commentWithheld")] : []),
    ...(shown.length > mostTests ? [say("moreTests", { count: shown.length - mostTests })] : []),
  ];
  return {
    title,
    mark: say("mark", { points: write(found.points), most: write(points) }),
    share: points > 0 ? clampShare(found.points / points) : null,
    level: found.level,
    summary: summaries.length === 0 ? null : summaries.join(" "),
    comment: commentOf(found, withheld),
    evidence: found.evidence.map(({ file, line, quote }) => ({ file, line, quote })),
    tests: shown.slice(0, mostTests).map(({ name, passed, message }) => ({
      name,
      passed,
      output: passed ? "" : cut(message.trimEnd(), say),
    })),
  };
}

function testsSummary(tests: readonly { readonly passed: boolean }[], say: ReportWriter["say"]): string {
  return say("testsPassed", { passed: tests.filter(({ passed }) => passed).length, all: tests.length });
}

/** S2, S3. The comment on tests is our own summary. */
function commentOf(
  { by, comment }: Extract<CriterionGrade, { is: "scored" }>,
  withheld: boolean,
): ReportedCriterion["comment"] {
  if (comment.trim() === "" || by === "tests" || (by === "llm" && withheld)) return null;
  return { by: by === "llm" ? "model" : "person", text: comment };
}

function stepsOf(
  grade: Grade,
  criteria: readonly ReportedCriterion[],
  { say }: ReportWriter,
  withheld: boolean,
): Pick<StudentReport, "nextSteps" | "stepsBy"> {
  if (grade.nextSteps.length > 0 && !withheld) return { nextSteps: grade.nextSteps, stepsBy: "model" };
  const failed = criteria.flatMap(({ tests }) => tests.flatMap(({ name, passed }) => (passed ? [] : [name])));
  if (failed.length === 0) return { nextSteps: [], stepsBy: "us" };
  const names = failed.slice(0, 5).map((name) => `“${name}”`);
  return {
    nextSteps: [say("lookAtTests", { names: `${names.join(", ")}${failed.length > 5 ? ", …" : ""}` })],
    stepsBy: "us",
  };
}

function resultOf({ outcome, total, most }: Grade, { say, points }: ReportWriter): string {
  switch (outcome.is) {
    case "graded":
      // Without a total no number is shown, because it is not a zero.
      return total === null ? say("notGradedYet") : say("result", { points: points(total), most: points(most) });
    case "ungradable":
      return say("ungradable");
    case "grader error":
      return say("ourFault");
    case "needs human":
      return say("notGradedYet");
  }
}

function factsOf({ grade, submitted }: ReportInput, writer: ReportWriter): StudentReport["facts"] {
  const { say, date, duration } = writer;
  const facts: { name: string; value: string }[] = [];
  if (submitted !== undefined) {
    const at = submitted.at === null ? null : date(submitted.at);
    if (at !== null) facts.push({ name: say("handedIn"), value: at });
    facts.push({ name: say("attempt"), value: String(submitted.attempt) });
    if (submitted.commit !== undefined) facts.push({ name: say("commit"), value: submitted.commit });
    const { lateness } = submitted;
    if (lateness.is === "on time") facts.push({ name: say("timeliness"), value: say("onTime") });
    if (lateness.is === "late")
      facts.push({
        name: say("timeliness"),
        value: lateness.byMs === null ? say("late") : say("lateBy", { time: duration(lateness.byMs) }),
      });
  }
  if (grade.penalty !== null && grade.total !== null)
    facts.push({ name: say("penalty"), value: penaltyOf(grade.penalty, writer) });
  return facts;
}

/** Our own reason is in English and is translated. Any other reason is added after the points unchanged. */
function penaltyOf(
  { points, why }: { points: number; why: string },
  { say, points: write, days }: ReportWriter,
): string {
  const late = /^(\d+) days? late, ([\d.]+) %$/.exec(why);
  if (late === null) return `${say("penaltyPoints", { points: write(points) })}: “${why}”`;
  return say("penaltyLate", { points: write(points), time: days(Number(late[1])), percent: write(Number(late[2])) });
}

/** See S4 in the file header. */
function noticeOf({ grade, reviewer, releaser = null, modelCalls = 0 }: ReportInput, { say }: ReportWriter): string {
  const by = new Set(grade.criteria.flatMap((one) => (one.is === "scored" ? [one.by] : [])));
  const asked = modelCalls > 0 || by.has("llm");
  const how = by.size === 0 ? null : asked ? say("withAi") : by.has("tests") ? say("byTests") : say("byPeople");
  return [how, seenBy(reviewer, releaser, say)].filter((one) => one !== null).join(" ");
}

function seenBy(reviewer: string | null, releaser: string | null, say: ReportWriter["say"]): string | null {
  if (reviewer !== null) {
    const name = personName(reviewer);
    return name === null ? say("reviewedByPerson") : say("reviewedBy", { name });
  }
  if (releaser === null) return say("notReviewed");
  const name = personName(releaser);
  return name === null ? null : say("releasedBy", { name });
}

function clampShare(share: number): number {
  return Math.min(1, Math.max(0, share));
}

function cut(text: string, say: ReportWriter["say"]): string {
  const lines = text.split("\n");
  const short = lines.slice(0, 80).join("\n").slice(0, mostOutput);
  if (short.length === text.length) return text;
  return `${short}\n${say("cutHere", { count: text.length - short.length })}`;
}
