/**
 * Grades one criterion of a submission again, next to the marks of the others. Pure.
 *
 * G1  Every other criterion keeps its mark, its comment and its evidence, letter by letter.
 * G2  Doubts about that criterion alone are replaced by those of the new grading. Every other reason stays.
 * G3  If the new grading fails, because of the system or a model, the old mark stays and a person is notified.
 * G4  Order and maximum points come from the current rubric. Its points for this criterion can differ from those of the rubric that the
 *     marks were made with.
 */
import {
  type CriterionGrade,
  type Flag,
  type Grade,
  type GradeInput,
  gradeWork,
  tellFlag,
  tellNearPassMark,
} from "./grade.ts";
import { isNearShare, sumCriteria } from "./points.ts";
import { mostPoints, type Rubric } from "./rubric.ts";
import { ownerOfTotal, type ReadResults } from "./test-results.ts";

export function regradeCriterion(rubric: Rubric, standing: Grade, id: string, input: GradeInput): Grade {
  const { passMark, borderline = 0, flags: wanting = [], ...review } = input.review ?? {};
  const alone = { criteria: rubric.criteria.filter((one) => one.id === id) };
  const fresh = gradeWork(alone, {
    ...input,
    tests: testsFor(rubric, id, input.tests),
    review: { ...review, flags: wanting },
  });
  const mark = fresh.criteria[0];
  const old = standing.criteria.find((one) => one.id === id);
  const failed = fresh.outcome.is === "grader error" || (mark?.is !== "scored" && old?.is === "scored");
  const most = mostPoints(rubric);
  const criteria = rubric.criteria.map((said): CriterionGrade => {
    const known = standing.criteria.find((one) => one.id === said.id);
    return (said.id === id && !failed ? mark : known) ?? { is: "not graded", id: said.id, why: "it was never graded" };
  });
  const points = sumCriteria(criteria);
  const kept = standing.flags.filter((flag) => flag.kind !== "borderline" && (failed || !isOf(flag, id)));
  const near = points !== null && passMark !== undefined && isNearShare(points, most, passMark, borderline);
  const told: Flag[] = near ? [{ kind: "borderline", message: tellNearPassMark(points, most) }] : [];
  const flags = distinct([...kept, ...fresh.flags, ...told]);
  const gone = new Set(standing.flags.filter((flag) => !kept.includes(flag)).map(tellFlag));
  const before = standing.outcome.is === "needs human" ? standing.outcome.why : [];
  // A student chooses a file's name, so a flag about the file `names: a.js` must not count as one about the criterion `names`.
  const ofFiles = new Set(kept.flatMap((flag) => (flag.file === undefined ? [] : tellFlag(flag))));
  const why = [
    ...before.filter((reason) => !gone.has(reason) && (failed || ofFiles.has(reason) || !reason.startsWith(`${id}: `))),
    ...(fresh.outcome.is === "needs human" && !failed ? fresh.outcome.why : []),
    ...(failed ? [`${id} could not be graded again: ${reasonOf(fresh)}`] : []),
    ...told.filter(({ kind }) => wanting.includes(kind)).map(tellFlag),
  ];
  const reasons = [...new Set(why)];
  return {
    criteria,
    flags,
    points,
    most,
    penalty: null,
    outcome: reasons.length > 0 ? { is: "needs human", why: reasons } : { is: "graded" },
    total: reasons.length > 0 ? null : points,
    nextSteps: fresh.nextSteps.length > 0 ? fresh.nextSteps : standing.nextSteps,
  };
}

/** A score for all tests belongs to one criterion of the whole rubric, not to a criterion that is regraded alone. */
function testsFor(rubric: Rubric, id: string, tests: ReadResults | null): ReadResults | null {
  if (tests?.is !== "read" || tests.total === undefined) return tests;
  if (ownerOfTotal(rubric, tests.tests)?.id === id) return tests;
  const { total: _, ...others } = tests;
  return others;
}

/** The flag is about this criterion and about no file. */
function isOf({ message, file }: Flag, id: string): boolean {
  return file === undefined && message.startsWith(`${id}: `);
}

function distinct(flags: readonly Flag[]): Flag[] {
  return [
    ...new Map(flags.map((flag) => [JSON.stringify([flag.kind, flag.message, flag.file, flag.line]), flag])).values(),
  ];
}

function reasonOf({ outcome, criteria }: Grade): string {
  if (outcome.is === "grader error") return outcome.why;
  const [mark] = criteria;
  return mark?.is === "not graded" ? mark.why : "the reason is unknown";
}
