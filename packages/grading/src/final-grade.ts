/**
 * Computes the current grade of a submission from the machine's proposal and from what people decided since. The function is pure and
 * computes the grade from its parts each time. No part of the result is stored, so it cannot disagree with them.
 *
 * F1  A person's mark overrides the machine's, criterion by criterion. The machine's mark is kept beside it.
 * F2  A decision about other content does not apply to this content. A review belongs to one grading attempt; a new proposal needs a new
 *     review.
 * F3  There are four outcomes, which are never mixed up. A person's mark closes its criterion. Other doubts need a review of that attempt,
 *     unless no mark of the machine remains. A submission is not graded while a criterion is open, reviewed or not.
 * F4  A release is a separate act. It changes no points. It records which total was released, and for which students.
 * F5  A mark belongs to one wording of its criterion. If the rubric changed, the machine's marks of unchanged criteria stay valid; the
 *     other criteria are open. A person's mark of a changed criterion stays within the new scale and needs a review. If the old rubric is
 *     unknown, every criterion counts as changed.
 * F6  No mark of a person is lost: `personMarks` lists all of them, each with its result.
 * F7  An undo takes back one mark: the one it names. The mark before it is restored. Undo events of earlier versions name no mark; they
 *     take back all marks of their criterion.
 * F8  While it is undecided whether a submission counts, it needs a human decision, even if a person marked it. Its marks belong to its
 *     content, and they apply when this content counts.
 */
import { changedCriteria } from "./changed-criteria.ts";
import {
  type CriterionGrade,
  type Flag,
  type Grade,
  graderError,
  type Outcome,
  type Penalty,
  ungradable,
} from "./grade.ts";
import { clampPoints, sumCriteria, totalPoints } from "./points.ts";
import { mostPoints, type Rubric } from "./rubric.ts";

/** Events are appended and never changed. */
export interface GradeEvent {
  readonly id: number;
  /** Key of the submission. */
  readonly work: string;
  /** ISO 8601. */
  readonly at: string;
  /** The person who made the decision. */
  readonly by: string;
  readonly kind: GradeEventKind;
  /** Only an override has a criterion. */
  readonly criterion: string | null;
  /** Points before the override. null: there were none. */
  readonly from: number | null;
  /** For an override: the points; null takes one mark back. For a release: the released total; null if the submission has none. */
  readonly to: number | null;
  /**
   * The id of the event that this one takes back. Set on an override without points or on a review; the event is then no mark and no
   * review.
   */
  readonly takesBack: number | null;
  readonly reason: string;
  /** A comment that the student can read. */
  readonly comment: string;
  readonly rubricHash: string;
  /** Hash of the submitted content at the time of the event. null: there was nothing to grade. */
  readonly content: string | null;
  /** The grading attempt whose proposal the event is about. 0: none. */
  readonly try: number;
  /** For a release: keys of the students it applies to. null or absent (earlier versions): all students of the submission. */
  readonly students?: readonly string[] | null | undefined;
}

export type GradeEventKind = "override" | "reviewed" | "released" | "withdrawn";

export interface FinalGrade extends Grade {
  /** The machine's proposal. null: there is none. */
  readonly proposed: Grade | null;
  /** The marks by people that count. */
  readonly overrides: readonly Override[];
  readonly reviewed: (Said & { readonly id: number }) | null;
  /** null: the grade is not released, or the release was withdrawn. */
  readonly released: Released | null;
}

interface Said {
  readonly by: string;
  readonly at: string;
}

interface Released extends Said {
  readonly total: number | null;
  /** Keys of the students it applies to. Absent: all students of the submission. */
  readonly students?: readonly string[];
}

export interface PersonMark extends Said {
  /** Id of the grade event. */
  readonly id: number;
  readonly criterion: string;
  readonly points: number;
  readonly reason: string;
  readonly fate: MarkFate;
}

type MarkFate =
  | { readonly is: "stands" }
  /** `by` is the id of the event that replaced the mark or took it back. */
  | { readonly is: "replaced" | "taken back"; readonly by: number }
  /** The mark was made for content that has since been replaced. */
  | { readonly is: "other content" }
  /** The rubric no longer has the criterion of this mark. */
  | { readonly is: "no criterion" };

interface Override extends Said {
  /** Id of the grade event. */
  readonly id: number;
  readonly criterion: string;
  /** The machine's points. null: it gave none. */
  readonly proposed: number | null;
  readonly points: number;
  readonly reason: string;
  readonly comment: string;
}

/** The state of a submission apart from its proposal. */
export type WorkSituation =
  /** The student submitted nothing that can be graded. */
  | { readonly is: "ungradable"; readonly why: string }
  /** It is unknown whether the submission counts. A person decides. */
  | { readonly is: "undecided"; readonly why: string }
  /** The submission waits or is being graded. */
  | { readonly is: "open" }
  /** The run ended without a grade, because of a grader error. */
  | { readonly is: "failed"; readonly why: string }
  /** The run ended with a grade. */
  | { readonly is: "done" };

export interface FinalGradeInput {
  readonly rubric: Rubric;
  readonly rubricHash: string;
  /** Earlier rubrics of the batch, by hash. */
  readonly rubrics?: ReadonlyMap<string, Rubric>;
  readonly situation: WorkSituation;
  /** Hash of the currently submitted content. */
  readonly content: string | null;
  /** `rubricHash` is the hash of the rubric that the proposal was made with. */
  readonly proposal: { readonly grade: Grade; readonly try: number; readonly rubricHash: string } | null;
  /** Events of this submission, in the order in which they were appended. */
  readonly events: readonly GradeEvent[];
  readonly penalty: Penalty | null;
}

/** Returns null if there is no proposal and no event. */
export function finalGrade(input: FinalGradeInput): FinalGrade | null {
  const { rubric, proposal, penalty } = input;
  const said = input.events.filter(({ content }) => content === input.content);
  const standing = new Set(personMarks(input).flatMap(({ id, fate }) => (fate.is === "stands" ? id : [])));
  const words = new Map(said.flatMap((event) => (standing.has(event.id) ? [[event.criterion ?? "", event]] : [])));
  const base = baseOf(input);
  if (base === null && words.size === 0) return null;
  const criteria = rubric.criteria.map((criterion): CriterionGrade => {
    const word = words.get(criterion.id);
    const proposed = base?.criteria.find(({ id }) => id === criterion.id);
    if (word === undefined) return proposed ?? { is: "not graded", id: criterion.id, why: "not graded yet" };
    const kept = proposed?.is === "scored" ? proposed : blank;
    return {
      is: "scored",
      id: criterion.id,
      by: "human",
      points: clampPoints(word.to ?? 0, criterion),
      level: null,
      comment: word.comment,
      evidence: kept.evidence,
      confidence: null,
      tests: kept.tests,
      notes: [],
    };
  });
  const undone = new Set(said.flatMap(({ kind, takesBack }) => (kind === "reviewed" ? (takesBack ?? []) : [])));
  const review = said.findLast(
    (event) =>
      event.kind === "reviewed" &&
      event.takesBack === null &&
      !undone.has(event.id) &&
      event.try === (proposal?.try ?? 0) &&
      changedSince(input, event.rubricHash).size === 0,
  );
  const doubtful = [...words].flatMap(([id, word]) =>
    changedSince(input, word.rubricHash).has(id) ? `${id}: marked with another version of the rubric` : [],
  );
  const people = { marked: new Set(words.keys()), reviewed: review !== undefined, doubtful };
  const outcome: Outcome =
    input.situation.is === "undecided"
      ? { is: "needs human", why: [input.situation.why] }
      : outcomeOf(base, criteria, people);
  const points = sumCriteria(criteria);
  const graded = outcome.is === "graded" && points !== null;
  return {
    outcome,
    criteria,
    points: outcome.is === "graded" || outcome.is === "needs human" ? points : null,
    most: mostPoints(rubric),
    penalty: graded ? penalty : null,
    total: graded ? totalPoints(points, penalty) : null,
    flags: base?.flags ?? [],
    nextSteps: base?.nextSteps ?? [],
    proposed: proposal?.grade ?? null,
    overrides: [...words.values()].map((word) => overrideOf(word, proposal === null ? null : base)),
    reviewed: review === undefined ? null : { id: review.id, by: review.by, at: review.at },
    released: releasedOf(said),
  };
}

const blank = { evidence: [], tests: [] } as const;

function baseOf(input: FinalGradeInput): Grade | null {
  const { rubric, situation, proposal } = input;
  if (proposal !== null) return asGradedBy(input, proposal);
  switch (situation.is) {
    case "ungradable":
      return ungradable(rubric, situation.why);
    case "undecided":
      return {
        ...graderError(rubric, "needs a decision"),
        outcome: { is: "needs human", why: [situation.why] },
      };
    case "failed":
      return graderError(rubric, situation.why);
    case "done":
      return graderError(rubric, "the run ended without a grade");
    case "open":
      return null;
  }
}

/** F5: returns the criteria, old and new, that differ between the rubric with this hash and the current one. */
function changedSince({ rubric, rubricHash, rubrics }: FinalGradeInput, hash: string): ReadonlySet<string> {
  if (hash === rubricHash) return new Set();
  const old = rubrics?.get(hash);
  return new Set(old === undefined ? rubric.criteria.map(({ id }) => id) : changedCriteria(old, rubric));
}

/** F5: returns the proposal, in which the marks of changed criteria are open again. */
function asGradedBy(input: FinalGradeInput, { grade, rubricHash }: NonNullable<FinalGradeInput["proposal"]>): Grade {
  const changed = changedSince(input, rubricHash);
  if (changed.size === 0) return grade;
  const { rubric } = input;
  const { outcome } = grade;
  const gone = grade.flags.filter((flag) => isAboutOne(flag, changed));
  const flags = grade.flags.filter((flag) => !gone.includes(flag));
  if (outcome.is === "ungradable") return ungradable(rubric, outcome.why, flags);
  const criteria = rubric.criteria.map(({ id }): CriterionGrade => {
    const found = grade.criteria.find((one) => one.id === id);
    if (found !== undefined && !changed.has(id)) return found;
    return {
      is: "not graded",
      id,
      why: found === undefined ? "the criterion is new" : "graded with another version of the rubric",
    };
  });
  if (outcome.is === "grader error") return { ...grade, criteria, flags };
  const settled = new Set([
    ...gone.map(({ message }) => message),
    ...grade.criteria.flatMap((one) => (one.is === "not graded" && changed.has(one.id) ? `${one.id}: ${one.why}` : [])),
  ]);
  const why = outcome.is === "needs human" ? outcome.why.filter((reason) => !settled.has(reason)) : [];
  return { ...grade, criteria, flags, outcome: why.length > 0 ? { is: "needs human", why } : { is: "graded" } };
}

/** A flag that names a file belongs to no criterion: its text can begin with anything, because the file's author chose the name. */
function isAboutOne({ message, file }: Flag, ids: ReadonlySet<string>): boolean {
  return file === undefined && [...ids].some((id) => message.startsWith(`${id}: `));
}

/** All marks of people, in the order in which they were given (F6, F7). */
export function personMarks({
  rubric,
  content,
  events,
}: Pick<FinalGradeInput, "rubric" | "content" | "events">): readonly PersonMark[] {
  const takenBack = new Map<number, number>();
  const standing = new Map<string, GradeEvent[]>();
  const marks = events.filter((event) => event.kind === "override" && event.criterion !== null && event.to !== null);
  for (const event of events) {
    if (event.kind !== "override" || event.criterion === null) continue;
    const place = JSON.stringify([event.content, event.criterion]);
    const before = standing.get(place) ?? [];
    if (event.to !== null) standing.set(place, [...before, event]);
    else if (event.takesBack === null) {
      for (const { id } of before) if (!takenBack.has(id)) takenBack.set(id, event.id);
    } else if (!takenBack.has(event.takesBack)) takenBack.set(event.takesBack, event.id);
  }
  const known = new Set(rubric.criteria.map(({ id }) => id));
  const fateOf = (mark: GradeEvent): MarkFate => {
    const undo = takenBack.get(mark.id);
    if (undo !== undefined) return { is: "taken back", by: undo };
    if (mark.content !== content) return { is: "other content" };
    if (!known.has(mark.criterion ?? "")) return { is: "no criterion" };
    const newer = marks.find(
      ({ id, criterion, content: of }) =>
        id > mark.id && criterion === mark.criterion && of === mark.content && !takenBack.has(id),
    );
    return newer === undefined ? { is: "stands" } : { is: "replaced", by: newer.id };
  };
  return marks.map((mark) => ({
    id: mark.id,
    criterion: mark.criterion ?? "",
    points: mark.to ?? 0,
    by: mark.by,
    at: mark.at,
    reason: mark.reason,
    fate: fateOf(mark),
  }));
}

interface PeopleSaid {
  /** Ids of the criteria that people marked. */
  readonly marked: ReadonlySet<string>;
  readonly reviewed: boolean;
  /** Criteria that people marked with another rubric. */
  readonly doubtful: readonly string[];
}

/** See F3 in the file header. */
function outcomeOf(
  base: Grade | null,
  criteria: readonly CriterionGrade[],
  { marked, reviewed, doubtful }: PeopleSaid,
): Outcome {
  const given = base?.outcome ?? { is: "graded" };
  if (marked.size === 0 && (given.is === "ungradable" || given.is === "grader error")) return given;
  // A reviewer has seen the flags of the submission. Unmarked criteria stay open.
  const settled = reviewed || criteria.every(({ id }) => marked.has(id));
  const reasons = base === null || settled ? [] : reasonsLeft(base, marked);
  const open = criteria.flatMap((one) => (one.is === "not graded" ? `${one.id}: ${one.why}` : []));
  const why = [...new Set([...reasons, ...open, ...(reviewed ? [] : doubtful)])];
  return why.length > 0 ? { is: "needs human", why } : { is: "graded" };
}

/** All reasons except those known to belong to a marked criterion. */
function reasonsLeft({ outcome, criteria, flags }: Grade, marked: ReadonlySet<string>): readonly string[] {
  if (outcome.is === "graded") return [];
  if (outcome.is !== "needs human") return [`${outcome.is}: ${outcome.why}`];
  const closed = new Set([
    ...criteria.flatMap((one) => (one.is === "not graded" && marked.has(one.id) ? `${one.id}: ${one.why}` : [])),
    ...flags.flatMap((flag) => (isAboutOne(flag, marked) ? flag.message : [])),
  ]);
  return outcome.why.filter((reason) => !closed.has(reason));
}

function overrideOf(word: GradeEvent, proposal: Grade | null): Override {
  const proposed = proposal?.criteria.find(({ id }) => id === word.criterion);
  return {
    id: word.id,
    criterion: word.criterion ?? "",
    by: word.by,
    at: word.at,
    reason: word.reason,
    comment: word.comment,
    points: word.to ?? 0,
    proposed: proposed?.is === "scored" ? proposed.points : null,
  };
}

/** F4: releases of the same total are combined, and so are their students. */
function releasedOf(events: readonly GradeEvent[]): FinalGrade["released"] {
  const acts = events.filter(({ kind }) => kind === "released" || kind === "withdrawn");
  const last = acts.at(-1);
  if (last?.kind !== "released") return null;
  const since = acts.slice(acts.findLastIndex(({ kind, to }) => kind === "withdrawn" || to !== last.to) + 1);
  const lists = since.map(({ students }) => students ?? null);
  const all = lists.includes(null);
  return {
    by: last.by,
    at: last.at,
    total: last.to,
    ...(all ? {} : { students: [...new Set(lists.flatMap((students) => students ?? []))] }),
  };
}

/** Returns the release of a grade for one student, or null if the grade was not released to this student. */
export function releasedFor({ released }: Pick<FinalGrade, "released">, student: string): FinalGrade["released"] {
  return released?.students?.includes(student) === false ? null : released;
}
