/**
 * Decides whether a person's change to a grade is accepted, and what it changes. The function is pure; the store appends the event
 * (store/batches/grade-events.ts).
 *
 * D1  An override and a withdrawal need a reason. Points beyond a criterion are refused, not cut.
 * D2  Only a graded or ungradable submission can be released.
 * D3  Only a person who has seen another person's mark may replace it or take it back.
 * D4  An undo takes back one mark that counts: the named one, or else the last one by the same person.
 * D5  A submission has no proposal to review until it is decided that it counts. Its criteria can be marked, because a mark belongs to the
 *     content.
 * D6  Fields of another kind (points of a review, a criterion of a release) are refused. Otherwise they would be dropped silently.
 */
import type { FinalGrade, GradeEventKind, PersonMark } from "./final-grade.ts";
import { roundPoints } from "./points.ts";
import type { Rubric } from "./rubric.ts";

interface SaidOfGrade {
  readonly kind: GradeEventKind;
  readonly by: string;
  readonly criterion?: string;
  /** Only an override has points. null takes one mark back. */
  readonly points?: number | null;
  readonly takesBack?: number;
  readonly reason?: string;
  /** The person states that they have seen the current state of the submission. */
  readonly seen: boolean;
}

interface GradedWork {
  readonly rubric: Rubric;
  readonly grade: FinalGrade | null;
  readonly marks: readonly PersonMark[];
  /** It is not yet decided whether the submission counts. */
  readonly undecided?: boolean;
}

export type GradeDecision =
  | {
      readonly is: "taken";
      readonly criterion: string | null;
      readonly from: number | null;
      readonly to: number | null;
      readonly takesBack: number | null;
    }
  /** The request is invalid in every state of the submission. */
  | { readonly is: "invalid"; readonly why: string }
  /** The request is refused in the current state of the submission. */
  | { readonly is: "refused"; readonly why: string }
  /** See D3 in the file header. */
  | { readonly is: "unseen"; readonly why: string };

export function decideGrade(work: GradedWork, said: SaidOfGrade): GradeDecision {
  const { grade } = work;
  if (said.by.trim() === "") return invalid("A grade event needs the name of a person (by).");
  const reason = (said.reason ?? "").trim();
  const foreign = foreignTo(said);
  if (foreign !== undefined) return invalid(`${kindWords[said.kind]} cannot have the field ${foreign}.`);
  switch (said.kind) {
    case "override":
      if (reason === "") return invalid("An override needs a reason.");
      return said.points === null ? undo(work, said) : override(work, said);
    case "reviewed":
      if (said.takesBack !== undefined) return undoReview(grade, said.takesBack, said);
      if (grade === null) return refused("The submission is not graded yet, so it cannot be reviewed.");
      if (work.undecided === true)
        return refused(
          "The submission has no proposed grade, because no one has decided which submission counts. Decide that first.",
        );
      return { ...taken, from: null, to: null };
    case "released": {
      const is = grade?.outcome.is;
      if (grade === null || (is !== "graded" && is !== "ungradable"))
        return refused(
          `The submission is ${is ?? "not graded yet"}. Only graded or ungradable submissions can be released.`,
        );
      return { ...taken, from: null, to: grade.total };
    }
    case "withdrawn":
      if (reason === "") return invalid("A withdrawal needs a reason.");
      if (grade?.released == null) return refused("The grade is not released.");
      return { ...taken, from: grade.released.total, to: null };
  }
}

const kindWords: Readonly<Record<GradeEventKind, string>> = {
  override: "An override",
  reviewed: "A review",
  released: "A release",
  withdrawn: "A withdrawal",
};

/** D6: returns the name of the first field that does not belong to the kind of event. */
function foreignTo(said: SaidOfGrade): string | undefined {
  if (said.kind === "override") return undefined;
  const fields =
    said.kind === "reviewed" ? (["criterion", "points"] as const) : (["criterion", "points", "takesBack"] as const);
  return fields.find((field) => said[field] !== undefined);
}

const taken = { is: "taken", criterion: null, takesBack: null } as const;
const invalid = (why: string) => ({ is: "invalid", why }) as const;
const refused = (why: string) => ({ is: "refused", why }) as const;

/** D3, D4: takes back the review. The review before it applies again. */
function undoReview(grade: FinalGrade | null, id: number, { by, seen }: SaidOfGrade): GradeDecision {
  const review = grade?.reviewed ?? null;
  if (review?.id !== id)
    return refused(
      review === null
        ? "This submission has no review that could be taken back."
        : `Review ${id} does not count. Review ${review.id} by ${review.by} counts.`,
    );
  if (!seen && review.by !== by)
    return { is: "unseen", why: `This would take back the review of another person: ${review.by} at ${review.at}.` };
  return { ...taken, takesBack: id, from: null, to: null };
}

/** See D1 and D3 in the file header. */
function override({ rubric, grade, marks }: GradedWork, said: SaidOfGrade): GradeDecision {
  const { criterion: id, points } = said;
  const criterion = rubric.criteria.find((one) => one.id === id);
  if (criterion === undefined) {
    const known = rubric.criteria.map((one) => one.id).join(", ");
    return invalid(`The rubric has no criterion ${JSON.stringify(id ?? "")}; it has ${known}.`);
  }
  if (said.takesBack !== undefined) return invalid("An override that takes back a mark has no points (null).");
  if (points === undefined || points === null) return invalid("An override needs points.");
  const [least, most] = criterion.points < 0 ? [criterion.points, 0] : [0, criterion.points];
  if (!(points >= least && points <= most))
    return invalid(`${criterion.id} is worth ${least} to ${most} points, not ${points}.`);
  const standing = marks.find((mark) => mark.criterion === id && mark.fate.is === "stands");
  if (standing !== undefined && !maySee(standing, said)) return unseen(standing);
  return { ...taken, criterion: criterion.id, to: roundPoints(points), from: pointsOf(grade, criterion.id) };
}

/** See D3 and D4 in the file header. */
function undo({ grade, marks }: GradedWork, said: SaidOfGrade): GradeDecision {
  const { criterion, takesBack, by } = said;
  const counting = marks.filter(({ fate }) => fate.is === "stands" || fate.is === "replaced");
  const mark =
    takesBack === undefined
      ? counting.findLast((one) => one.criterion === criterion && one.by === by)
      : counting.find((one) => one.id === takesBack && (criterion === undefined || one.criterion === criterion));
  if (mark === undefined) {
    if (takesBack !== undefined) return refused(`This submission has no mark ${takesBack} that could be taken back.`);
    const other = counting.findLast((one) => one.criterion === criterion);
    if (other === undefined) return refused(`No one has overridden ${criterion ?? "the submission"}.`);
    return refused(`${by} has not overridden ${criterion}. ${tellMark(other)} To take that mark back, name its id.`);
  }
  if (!maySee(mark, said)) return unseen(mark);
  return { ...taken, criterion: mark.criterion, takesBack: mark.id, to: null, from: pointsOf(grade, mark.criterion) };
}

function maySee(mark: PersonMark, { by, seen }: SaidOfGrade): boolean {
  return seen || mark.by === by;
}

function unseen(mark: PersonMark): GradeDecision {
  return { is: "unseen", why: `This would replace the mark of another person. ${tellMark(mark)}` };
}

function tellMark({ id, by, at, points, criterion, reason }: PersonMark): string {
  return `Mark ${id}: ${by} gave ${criterion} ${points} points at ${at} (${reason}).`;
}

function pointsOf(grade: FinalGrade | null, criterion: string): number | null {
  const before = grade?.criteria.find((one) => one.id === criterion);
  return before?.is === "scored" ? before.points : null;
}
