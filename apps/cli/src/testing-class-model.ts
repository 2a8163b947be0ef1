/** A class in memory for property tests. It applies a teacher's commands with the product's own code, without a store. */
import { type AttemptChoice, countingWorks, holdChoices } from "@markmill/classroom";
import {
  decideGrade,
  finalGrade,
  type Grade,
  type GradeDecision,
  type GradeEvent,
  type GradeInput,
  gradeWork,
  latePenalty,
  mostPoints,
  personMarks,
  type Rubric,
  regradeCriterion,
  rubricHash,
} from "@markmill/grading";
import type { BatchMember, BatchWork, NewGradeEvent } from "@markmill/store";

export interface Try {
  readonly content: string;
  readonly rubricHash: string;
  readonly criterion: string | null;
  readonly end: { readonly grade: Grade } | "failed" | null;
}

export interface ModelWork {
  readonly key: string;
  readonly by: readonly string[];
  readonly attempt: number;
  /** The submission time. null: it is unknown, and several such submissions cannot be ordered. */
  readonly instant: number | null;
  /** The submission was withdrawn. */
  withdrawn: boolean;
  counts: boolean;
  countsFor: readonly string[];
  /** The submission waits until a person has decided which submission counts. */
  undecided: boolean;
  content: string | null;
  lateMs: number | null;
  tries: Try[];
  events: GradeEvent[];
}

const hashes = new WeakMap<Rubric, string>();
function hashOf(rubric: Rubric): string {
  const hash = hashes.get(rubric) ?? rubricHash(rubric);
  hashes.set(rubric, hash);
  return hash;
}

const late = { percentPerDay: 10, mostPercent: 50 };
const noSpent = { calls: 0, promptTokens: 0, completionTokens: 0, characters: 0, nanodollars: 0 };

export class ClassModel {
  rubric: Rubric;
  readonly rubrics = new Map<string, Rubric>();
  readonly members: BatchMember[] = [];
  readonly works: ModelWork[] = [];
  /** Choices by student, as stored with a class. */
  choices: ReadonlyMap<string, AttemptChoice> = new Map();
  readonly #policy: "last" | "first" | "best";
  #events = 0;

  constructor(rubric: Rubric, policy: "last" | "first" | "best") {
    this.#policy = policy;
    this.rubric = rubric;
    this.rubrics.set(hashOf(rubric), rubric);
  }

  setRubric(rubric: Rubric): void {
    this.rubric = rubric;
    this.rubrics.set(hashOf(rubric), rubric);
  }

  /** Reads the class again by the rules of the intake. */
  read(): void {
    const there = this.works.filter(({ withdrawn }) => !withdrawn);
    const candidates = there.map((work) => ({
      label: work.key,
      attempt: null,
      instant: work.instant,
      isLate: false,
      isEmpty: work.content === null,
      hash: work.content,
      by: work.by.map((key) => ({ key, name: key })),
    }));
    const people = new Map(this.members.map((member) => [member.key, member]));
    const at = { file: "class", line: 1, column: 1 };
    const { works: chosen, held } = holdChoices(this.choices, candidates, people, new Set(), at);
    this.choices = new Map(held.map((choice) => [choice.student, choice]));
    const counting = countingWorks(candidates, this.#policy, chosen);
    for (const work of this.works) Object.assign(work, { counts: false, countsFor: [], undecided: false });
    for (const [index, work] of there.entries()) {
      const { countsFor = [], undecidedFor = [] } = counting[index] ?? {};
      work.undecided = countsFor.length === 0 && undecidedFor.length > 0;
      work.counts = countsFor.length > 0 || work.undecided;
      work.countsFor = (work.undecided ? undecidedFor : countsFor).map(({ key }) => key);
    }
  }

  /** Works like `markmill grade PATH --counts STUDENT=SUBMISSION`. null takes the choice back. */
  choose(student: string, label: string | null): void {
    const choices = new Map(this.choices);
    if (label === null) choices.delete(student);
    else choices.set(student, { label, among: null });
    this.choices = choices;
    this.read();
  }

  shown(): BatchWork[] {
    return this.works.map((work) => this.shownWork(work));
  }

  shownWork(work: ModelWork): BatchWork {
    const { key, by, attempt, counts, countsFor, undecided, content, lateMs, tries, events } = work;
    const { rubric } = this;
    const last = tries.at(-1);
    const at = tries.findLastIndex((one) => one.content === content && one.end !== null && one.end !== "failed");
    const found = tries[at];
    const grade =
      !undecided && found !== undefined && found.end !== null && found.end !== "failed" ? found.end.grade : null;
    const proposal =
      found === undefined || grade === null ? null : { grade, try: at + 1, rubricHash: found.rubricHash };
    const standing =
      content === null || undecided
        ? ({ is: "ungradable", why: "nothing to grade" } as const)
        : !counts
          ? ({ is: "not counted" } as const)
          : last === undefined
            ? ({ is: "waiting" } as const)
            : last.end === null
              ? ({ is: "running", wait: null } as const)
              : last.end === "failed"
                ? ({ is: "failed", status: "failed", failure: null } as const)
                : ({ is: "succeeded" } as const);
    const situation = {
      ungradable: { is: "ungradable", why: "nothing to grade" },
      waiting: { is: "open" },
      running: { is: "open" },
      "not counted": { is: "open" },
      succeeded: { is: "done" },
      failed: { is: "failed", why: "the run failed" },
    } as const;
    return {
      key,
      by,
      group: null,
      attempt,
      counts,
      countsFor,
      label: key,
      sources: [],
      submittedAt: null,
      pseudonym: key,
      lateness: lateMs === null ? { is: "on time" } : { is: "late", byMs: lateMs },
      content: undecided
        ? { is: "undecided", hash: content, message: "several were handed in", fix: "choose one" }
        : content === null
          ? { is: "empty" }
          : { is: "taken", hash: content, files: 1, bytes: 1, paths: [], notes: [] },
      standing,
      try: null,
      tries: tries.length,
      events,
      etag: `${events.at(-1)?.id ?? 0}`,
      spent: noSpent,
      proposal: proposal === null ? null : { grade: proposal.grade, try: proposal.try },
      grade: finalGrade({
        rubric,
        rubricHash: hashOf(rubric),
        rubrics: this.rubrics,
        situation: undecided ? ({ is: "undecided", why: "several were handed in" } as const) : situation[standing.is],
        content,
        proposal,
        events,
        penalty: latePenalty(mostPoints(rubric), late, lateMs),
      }),
      marks: personMarks({ rubric, content, events }),
    };
  }

  say(work: ModelWork, said: Omit<NewGradeEvent, "work">): GradeDecision["is"] {
    const { grade, marks, proposal } = this.shownWork(work);
    const decision = decideGrade(
      { rubric: this.rubric, grade, marks, undecided: work.undecided },
      { ...said, seen: said.seen !== undefined },
    );
    if (decision.is !== "taken") return decision.is;
    this.#events += 1;
    const { is: _, ...change } = decision;
    work.events = [
      ...work.events,
      {
        id: this.#events,
        work: work.key,
        at: "2026-01-01T00:00:00.000Z",
        by: said.by,
        kind: said.kind,
        ...change,
        reason: said.reason ?? "",
        comment: said.comment ?? "",
        rubricHash: hashOf(this.rubric),
        content: work.content,
        try: proposal?.try ?? 0,
      },
    ];
    return "taken";
  }

  /** Starts a grading attempt for each counting submission without one for its content. */
  begin(): void {
    for (const work of this.works) {
      if (!work.counts || work.undecided || work.content === null) continue;
      if (work.tries.at(-1)?.content !== work.content) this.#try(work, null);
    }
  }

  regrade(work: ModelWork, criterion: string | null): void {
    const last = work.tries.at(-1);
    if (!work.counts || work.undecided || work.content === null || last === undefined || last.end === null) return;
    // As in the store: there must be other marks, made with exactly this rubric (store/batches/standing-marks.ts).
    const { proposal } = this.shownWork(work);
    const is = proposal?.grade.outcome.is;
    const by = proposal === null ? undefined : work.tries[proposal.try - 1]?.rubricHash;
    if (criterion !== null && ((is !== "graded" && is !== "needs human") || by !== hashOf(this.rubric))) return;
    this.#try(work, criterion);
  }

  #try(work: ModelWork, criterion: string | null): void {
    if (work.content === null) return;
    work.tries = [...work.tries, { content: work.content, rubricHash: hashOf(this.rubric), criterion, end: null }];
  }

  /** Ends the open grading attempt of a submission. null: its run failed. */
  end(work: ModelWork, input: GradeInput | null): void {
    const last = work.tries.at(-1);
    if (last === undefined || last.end !== null) return;
    const rubric = this.rubrics.get(last.rubricHash) ?? this.rubric;
    const end = input === null ? "failed" : { grade: this.#grade(work, last, rubric, input) };
    work.tries = work.tries.with(-1, { ...last, end });
  }

  #grade(work: ModelWork, { criterion, content }: Try, rubric: Rubric, input: GradeInput): Grade {
    const before = work.tries.findLast((one) => one.content === content && one.end !== null && one.end !== "failed");
    const standing =
      before?.end !== undefined && before.end !== null && before.end !== "failed" ? before.end.grade : null;
    return criterion === null || standing === null
      ? gradeWork(rubric, input)
      : regradeCriterion(rubric, standing, criterion, input);
  }
}
