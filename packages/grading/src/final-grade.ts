/**
 * The grade of a work as it stands: what the machine proposed, and what people said of it since. Pure, and made anew from its
 * parts each time: nothing of it is stored, so it cannot disagree with them.
 *
 * F1  A person's word stands above the machine's, criterion by criterion; what the machine said is kept beside it.
 * F2  A word about other content says nothing about this one. A review is of one try; a new proposal wants a new one.
 * F3  Four outcomes, never mixed up. A person's mark closes its criterion; what else is in doubt wants a review of that try, unless nothing
 *     of the machine's is left. Nothing is graded while a criterion is open.
 * F4  Release is an act of its own. It changes no points, and says which total was released.
 * F5  Points are points of one rubric. A proposal by another one gives none: a person marks the work, or it is graded anew. A person's
 *     word by another one stands within the scale, and wants a review.
 */
import { type CriterionGrade, type Grade, graderError, type Outcome, type Penalty, ungradable } from "./grade.ts";
import { clampPoints, sumCriteria, totalPoints } from "./points.ts";
import { mostPoints, type Rubric } from "./rubric.ts";

/** Appended, never changed. */
export interface GradeEvent {
  readonly id: number;
  /** Key of the work. */
  readonly work: string;
  /** ISO 8601. */
  readonly at: string;
  /** Who said so. */
  readonly by: string;
  readonly kind: GradeEventKind;
  /** Of an override. */
  readonly criterion: string | null;
  /** Points before: null where there were none. */
  readonly from: number | null;
  /** Points of an override, null takes one back; of a release the total, null where the work has none. */
  readonly to: number | null;
  readonly reason: string;
  /** For the student. */
  readonly comment: string;
  readonly rubricHash: string;
  /** Hash of what was handed in when it was said; null: nothing that could be graded. */
  readonly content: string | null;
  /** Whose proposal it was said of; 0: none. */
  readonly try: number;
}

export type GradeEventKind = "override" | "reviewed" | "released" | "withdrawn";

export interface FinalGrade extends Grade {
  /** As the machine said it; null: it has said nothing. */
  readonly proposed: Grade | null;
  readonly overrides: readonly Override[];
  readonly reviewed: Said | null;
  /** null: not released, or withdrawn. */
  readonly released: (Said & { readonly total: number | null }) | null;
}

interface Said {
  readonly by: string;
  readonly at: string;
}

interface Override extends Said {
  readonly criterion: string;
  /** Of the machine; null: it gave none. */
  readonly proposed: number | null;
  readonly points: number;
  readonly reason: string;
  readonly comment: string;
}

/** What is known of a work besides its proposal. */
export type WorkSituation =
  /** The student's cause: there was nothing to grade. */
  | { readonly is: "ungradable"; readonly why: string }
  /** It waits, or is being graded. */
  | { readonly is: "open" }
  /** Our cause: its run ended without a grade. */
  | { readonly is: "failed"; readonly why: string }
  /** Its run has ended with a grade. */
  | { readonly is: "done" };

export interface FinalGradeInput {
  readonly rubric: Rubric;
  readonly rubricHash: string;
  readonly situation: WorkSituation;
  /** Hash of what is handed in now. */
  readonly content: string | null;
  /** `rubricHash`: of the rubric it was made by. */
  readonly proposal: { readonly grade: Grade; readonly try: number; readonly rubricHash: string } | null;
  /** Of this work, in the order in which they were appended. */
  readonly events: readonly GradeEvent[];
  readonly penalty: Penalty | null;
}

/** null: nobody has said anything yet. */
export function finalGrade(input: FinalGradeInput): FinalGrade | null {
  const { rubric, proposal, penalty } = input;
  const said = input.events.filter(({ content }) => content === input.content);
  const words = lastWords(rubric, said);
  const base = baseOf(input);
  if (base === null && words.size === 0) return null;
  const criteria = rubric.criteria.map((criterion): CriterionGrade => {
    const word = words.get(criterion.id);
    const proposed = base?.criteria.find(({ id }) => id === criterion.id);
    if (word === undefined) return proposed ?? { is: "not graded", id: criterion.id, why: "nobody has graded this" };
    const kept = proposed?.is === "scored" ? proposed : blank;
    return {
      ...{ is: "scored", id: criterion.id, by: "human", points: clampPoints(word.to ?? 0, criterion), level: null },
      ...{ comment: word.comment, evidence: kept.evidence, confidence: null, tests: kept.tests, notes: [] },
    };
  });
  const review = said.findLast(
    (event) => event.kind === "reviewed" && event.try === (proposal?.try ?? 0) && event.rubricHash === input.rubricHash,
  );
  const doubtful = [...words].flatMap(([id, word]) =>
    word.rubricHash === input.rubricHash ? [] : `${id}: marked by another rubric`,
  );
  const outcome = outcomeOf(base, criteria, {
    marked: new Set(words.keys()),
    reviewed: review !== undefined,
    doubtful,
  });
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
    reviewed: review === undefined ? null : { by: review.by, at: review.at },
    released: releasedOf(said),
  };
}

const blank = { evidence: [], tests: [] } as const;

function baseOf({ rubric, rubricHash, situation, proposal }: FinalGradeInput): Grade | null {
  if (proposal?.rubricHash === rubricHash) return proposal.grade;
  if (proposal !== null) return withoutMarks(rubric, proposal.grade);
  switch (situation.is) {
    case "ungradable":
      return ungradable(rubric, situation.why);
    case "failed":
      return graderError(rubric, situation.why);
    case "done":
      return graderError(rubric, "the run ended without a grade");
    case "open":
      return null;
  }
}

/** F5. */
function withoutMarks(rubric: Rubric, { outcome, flags }: Grade): Grade {
  if (outcome.is === "ungradable") return ungradable(rubric, outcome.why, flags);
  if (outcome.is === "grader error") return graderError(rubric, outcome.why, flags);
  const why = "graded by another rubric";
  return { ...graderError(rubric, why, flags), outcome: { is: "needs human", why: [why] } };
}

/** F1: of each criterion the last one, unless it took an earlier one back. */
function lastWords(rubric: Rubric, events: readonly GradeEvent[]): ReadonlyMap<string, GradeEvent> {
  const words = new Map<string, GradeEvent>();
  for (const event of events) {
    if (event.kind !== "override" || event.criterion === null) continue;
    if (event.to === null) words.delete(event.criterion);
    else if (rubric.criteria.some(({ id }) => id === event.criterion)) words.set(event.criterion, event);
  }
  return words;
}

interface PeopleSaid {
  /** Criteria. */
  readonly marked: ReadonlySet<string>;
  readonly reviewed: boolean;
  /** What they said by another rubric. */
  readonly doubtful: readonly string[];
}

/** F3. */
function outcomeOf(
  base: Grade | null,
  criteria: readonly CriterionGrade[],
  { marked, reviewed, doubtful }: PeopleSaid,
): Outcome {
  const given = base?.outcome ?? { is: "graded" };
  if (marked.size === 0 && (given.is === "ungradable" || given.is === "grader error")) return given;
  // Whoever reviewed a work has seen its flags; what nobody has marked stays open.
  const settled = reviewed || criteria.every(({ id }) => marked.has(id));
  const reasons = base === null || settled ? [] : reasonsLeft(base, marked);
  const open = criteria.flatMap((one) => (one.is === "not graded" ? `${one.id}: ${one.why}` : []));
  const why = [...new Set([...reasons, ...open, ...(reviewed ? [] : doubtful)])];
  return why.length > 0 ? { is: "needs human", why } : { is: "graded" };
}

/** All but those that are known to be of a marked criterion. One that names a file may begin as its author likes: it is of none. */
function reasonsLeft({ outcome, criteria, flags }: Grade, marked: ReadonlySet<string>): readonly string[] {
  if (outcome.is === "graded") return [];
  if (outcome.is !== "needs human") return [`${outcome.is}: ${outcome.why}`];
  const closed = new Set([
    ...criteria.flatMap((one) => (one.is === "not graded" && marked.has(one.id) ? `${one.id}: ${one.why}` : [])),
    ...flags.flatMap(({ message, file }) =>
      file === undefined && [...marked].some((id) => message.startsWith(`${id}: `)) ? message : [],
    ),
  ]);
  return outcome.why.filter((reason) => !closed.has(reason));
}

function overrideOf(word: GradeEvent, proposal: Grade | null): Override {
  const proposed = proposal?.criteria.find(({ id }) => id === word.criterion);
  return {
    ...{ criterion: word.criterion ?? "", by: word.by, at: word.at, reason: word.reason, comment: word.comment },
    ...{ points: word.to ?? 0, proposed: proposed?.is === "scored" ? proposed.points : null },
  };
}

/** F4. */
function releasedOf(events: readonly GradeEvent[]): FinalGrade["released"] {
  const last = events.findLast(({ kind }) => kind === "released" || kind === "withdrawn");
  return last?.kind === "released" ? { by: last.by, at: last.at, total: last.to } : null;
}
