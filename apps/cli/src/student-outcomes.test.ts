// Runs random sequences of actions by teachers, students and graders: at every moment every student has an outcome and no mark is lost.
import { changedCriteria, type GradeInput, type Rubric } from "@markmill/grading";
import { countingWorkOf, undecidedWorksOf } from "@markmill/stack";
import type { BatchWork } from "@markmill/store";
import fc from "fast-check";
import { expect, it } from "vitest";
import { ClassModel } from "./testing-class-model.ts";
import { brokenOutcomes, lostMarks } from "./testing-outcomes.ts";

type Criterion = Rubric["criteria"][number];
const criterion = (id: string, points: number, source: Criterion["source"]): Criterion => ({
  id,
  title: id,
  points,
  scale: { is: "points", step: 0.1 },
  evidence: false,
  source,
  guidance: "",
});
const first: Rubric = {
  criteria: [
    criterion("tests", 3.3, { is: "tests", patterns: ["*"] }),
    criterion("names", 2.2, { is: "llm" }),
    criterion("talk", 1.1, { is: "human" }),
    criterion("late", -1, { is: "llm" }),
  ],
};

/** All criteria. Each random rubric may lack some. */
const everyCriterion = ["tests", "names", "talk", "late", "extra"] as const;
let invalidMarks = 0;

const teachers = ["ada", "bob", "cleo"] as const;
const policies = ["last", "first", "best"] as const;
const number = fc.nat({ max: 1_000 });

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ does: fc.constant("begin" as const) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      does: fc.constant("end" as const),
      of: number,
      how: fc.constantFrom("well", "well", "unsure", "flagged", "doubt", "no verdict", "no tests", "failed"),
      shares: fc.array(fc.nat({ max: 10 }), { minLength: 6, maxLength: 6 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ does: fc.constant("accept" as const), of: number, by: fc.constantFrom(...teachers) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant("override" as const),
      of: number,
      which: number,
      share: fc.nat({ max: 10 }),
      by: fc.constantFrom(...teachers),
      seen: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant("undo" as const),
      of: number,
      which: number,
      named: fc.boolean(),
      by: fc.constantFrom(...teachers),
      seen: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ does: fc.constant("regrade" as const), of: number, which: number, whole: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.record({ does: fc.constant("release" as const), by: fc.constantFrom(...teachers) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("withdraw release" as const), of: number }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant("hand in" as const),
      of: number,
      pair: fc.boolean(),
      broken: fc.boolean(),
      dated: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ does: fc.constant("choose" as const), of: number, which: number, back: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ does: fc.constant("resubmit" as const), of: number, content: fc.nat({ max: 2 }) }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("withdraw submission" as const), of: number }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("roster" as const) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant("late" as const), of: number, hours: fc.nat({ max: 200 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant("rubric" as const),
      which: number,
      // Removals are frequent, because a mark whose criterion was removed is otherwise the rarest case.
      how: fc.constantFrom("swap", "points", "words", "add", "remove", "remove", "remove", "remove"),
    }),
  },
);
const todo = fc.array(step, { minLength: 5, maxLength: 25 });
/** The initial submissions: which student, in a pair or alone, with or without a time. */
const starts = [
  [
    [0, false, true],
    [1, false, true],
    [0, true, true],
  ],
  // Two pairs share one student, and their submissions cannot be ordered.
  [
    [0, true, false],
    [3, true, false],
  ],
  [
    [0, false, false],
    [0, false, false],
    [1, true, false],
  ],
] as const;
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const pick = <Item>(items: readonly Item[], at: number): Item | undefined => items[at % Math.max(1, items.length)];

function graderInput(rubric: Rubric, { how, shares }: Extract<Step, { does: "end" }>): GradeInput | null {
  if (how === "failed") return null;
  const verdicts = rubric.criteria.flatMap(({ id, points, source }, index) =>
    source.is !== "llm"
      ? []
      : [
          {
            criterion: id,
            points: Math.round(points * (shares[index % 6] ?? 0) * 100) / 1000,
            level: null,
            evidence: [],
            confidence: how === "unsure" ? 0.2 : 0.9,
            comment: "c",
            notes: [],
          },
        ],
  );
  const test = { name: "t", passed: true, weight: 1, message: "", visibility: "visible" } as const;
  return {
    tests:
      how === "no tests"
        ? { is: "unusable", why: "no tests" }
        : { is: "read", tests: [{ ...test, share: (shares[5] ?? 0) / 10 }], notes: [] },
    verdicts:
      how === "no verdict"
        ? { verdicts: [], problems: [{ criterion: null, problem: "the model said nothing" }], nextSteps: [] }
        : { verdicts, problems: [], nextSteps: [] },
    flags: how === "flagged" ? [{ kind: "injection", message: "asks for points", file: "names: a.js", line: 1 }] : [],
    doubts: how === "doubt" ? ["a part was not seen"] : [],
    review: { confidenceBelow: 0.5, flags: ["low confidence"] },
  };
}

function changedRubric({ criteria }: Rubric, which: number, how: string): Rubric {
  const at = which % criteria.length;
  const one = criteria[at];
  if (one === undefined) return { criteria };
  switch (how) {
    case "swap":
      return { criteria: [...criteria.slice(1), ...criteria.slice(0, 1)] };
    case "points":
      return { criteria: criteria.with(at, { ...one, points: one.points + 0.7 }) };
    case "words":
      return { criteria: criteria.with(at, { ...one, title: `${one.title}'` }) };
    case "add":
      return criteria.some(({ id }) => id === "extra")
        ? { criteria }
        : { criteria: [...criteria, criterion("extra", 1.7, { is: "llm" })] };
    default:
      return criteria.length < 2 ? { criteria } : { criteria: criteria.toSpliced(at, 1) };
  }
}

function perform(model: ClassModel, step: Step): void {
  const work = "of" in step ? pick(model.works, step.of) : undefined;
  const { rubric } = model;
  switch (step.does) {
    case "begin":
      return model.begin();
    case "end":
      return work === undefined ? undefined : model.end(work, graderInput(rubric, step));
    case "accept":
      if (work !== undefined) model.say(work, { kind: "reviewed", by: step.by });
      return;
    case "override": {
      const id = pick(everyCriterion, step.which) ?? "";
      const criterion = rubric.criteria.find((one) => one.id === id);
      const given = Math.round((criterion?.points ?? 1) * step.share * 100) / 1000;
      const said = { kind: "override", by: step.by, criterion: id, points: given, reason: "so" } as const;
      const is = work === undefined ? null : model.say(work, { ...said, ...(step.seen ? { seen: "any" } : {}) });
      // A mark is invalid exactly when the rubric lacks its criterion.
      if (is !== null && (is === "invalid") !== (criterion === undefined))
        throw new Error(`a mark of ${id} is ${is}, and the rubric has ${rubric.criteria.map((one) => one.id).join()}`);
      if (is === "invalid") invalidMarks += 1;
      return;
    }
    case "undo": {
      if (work === undefined) return;
      const named = pick(work.events, step.which)?.id;
      const criterion = pick(rubric.criteria, step.which)?.id ?? "";
      const target = step.named && named !== undefined ? { takesBack: named } : { criterion };
      model.say(work, {
        kind: "override",
        by: step.by,
        points: null,
        reason: "no",
        ...target,
        ...(step.seen ? { seen: "any" } : {}),
      });
      return;
    }
    case "regrade":
      return work === undefined
        ? undefined
        : model.regrade(work, step.whole ? null : (pick(rubric.criteria, step.which)?.id ?? null));
    case "release":
      for (const one of model.works) model.say(one, { kind: "released", by: step.by });
      return;
    case "withdraw release":
      if (work !== undefined) model.say(work, { kind: "withdrawn", by: "ada", reason: "wrong" });
      return;
    case "hand in": {
      const member = pick(model.members, step.of)?.key;
      if (member === undefined) return;
      const others = model.members.filter(({ key }) => key !== member);
      const other = pick(others, step.of)?.key;
      const by = step.pair && other !== undefined ? [member, other].sort() : [member];
      const attempt = model.works.filter((one) => one.by.join() === by.join()).length + 1;
      model.works.push({
        key: `${by.join("+")}#${attempt}`,
        by,
        attempt,
        content: step.broken ? null : `c${model.works.length % 2}`,
        instant: step.dated ? model.works.length : null,
        withdrawn: false,
        counts: false,
        countsFor: [],
        undecided: false,
        lateMs: null,
        tries: [],
        events: [],
      });
      return model.read();
    }
    case "choose": {
      const student = pick(model.members, step.of)?.key ?? "";
      const own = model.works.filter(({ by, withdrawn }) => !withdrawn && by.includes(student));
      const label = pick(own, step.which)?.key;
      if (label !== undefined) model.choose(student, step.back ? null : label);
      return;
    }
    case "resubmit":
      if (work !== undefined) work.content = step.content === 2 ? null : `c${step.content}`;
      return model.read();
    case "withdraw submission":
      if (work !== undefined) work.withdrawn = true;
      return model.read();
    case "roster":
      model.members.push({ key: `m${model.members.length + 1}`, name: "New Student" });
      return;
    case "late":
      if (work !== undefined) work.lateMs = step.hours * 3_600_000;
      return;
    case "rubric":
      return model.setRubric(changedRubric(rubric, step.which, step.how));
  }
}

/**
 * N1  Every question can be answered: each submission among which a person must choose can be chosen, and the choice answers the question.
 * N2  A choice loses no marks: marks of the chosen content stay valid unless a person replaced them or took them back.
 * N3  While the question is open the student has no grade, however many marks people have given.
 */
function brokenChoices(model: ClassModel, works: readonly BatchWork[]): string[] {
  return model.members.flatMap(({ key }) => {
    const open = undecidedWorksOf(key, works);
    const total = open.length === 0 ? null : (countingWorkOf(key, works)?.grade?.total ?? null);
    if (total !== null) return [`${key} has ${total} points, and it is not decided for which submission`];
    return open.flatMap(({ key: label, marks }) => {
      const before = model.choices;
      model.choose(key, label);
      const after = model.shown();
      const chosen = after.find((one) => one.key === label);
      const left = undecidedWorksOf(key, after);
      const lost = marks.filter(({ id, fate }) => {
        const now = chosen?.marks.find((mark) => mark.id === id)?.fate.is;
        return fate.is === "stands" && now !== "stands";
      });
      model.choices = before;
      model.read();
      return [
        ...(left.length === 0 && countingWorkOf(key, after)?.key === label ? [] : [`${key} is stuck with ${label}`]),
        ...lost.map(({ id }) => `${key}: mark ${id} is lost when ${label} is chosen`),
      ];
    });
  });
}

/** What a changed rubric must keep: every mark of an unchanged criterion and, if rows only moved, every number. */
function brokenByRubric(before: Rubric, after: Rubric, was: readonly BatchWork[], is: readonly BatchWork[]): string[] {
  const changed = new Set(changedCriteria(before, after));
  return was.flatMap((old, index) => {
    const now = is[index]?.grade;
    const lost = (old.grade?.criteria ?? []).flatMap((one) => {
      const kept = now?.criteria.find(({ id }) => id === one.id);
      if (one.is !== "scored" || changed.has(one.id)) return [];
      return kept?.is === "scored" && kept.points === one.points ? [] : `${old.key}: ${one.id} lost its points`;
    });
    const moved = changed.size > 0 || (old.grade?.outcome.is === now?.outcome.is && old.grade?.total === now?.total);
    return moved ? lost : [...lost, `${old.key}: rows changed places, and the grade changed`];
  });
}

it("in any sequence of actions every student has an outcome, no mark of a person is lost, and every number follows from its parts", () => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(fc.constantFrom(...policies), fc.constantFrom(...starts), todo, (policy, start, steps) => {
      const model = new ClassModel(first, policy);
      for (const name of ["m1", "m2", "m3"]) model.members.push({ key: name, name });
      for (const [of, pair, dated] of start) perform(model, { does: "hand in", of, pair, broken: false, dated });
      model.begin();
      let works = model.shown();
      for (const one of steps) {
        const { rubric } = model;
        perform(model, one);
        const after = model.shown();
        const broken = [
          ...brokenOutcomes(model.rubric, model.members, after),
          ...lostMarks(works, after),
          ...brokenChoices(model, after),
          ...(one.does === "rubric" ? brokenByRubric(rubric, model.rubric, works, after) : []),
        ];
        if (broken.length > 0) throw new Error(`after ${JSON.stringify(one)}: ${broken.join("; ")}`);
        works = after;
        const meet = (name: string) => seen.set(name, (seen.get(name) ?? 0) + 1);
        for (const { grade, marks, content } of works) {
          for (const name of [grade?.outcome.is ?? "waiting", ...marks.map(({ fate }) => fate.is)]) meet(name);
          if (content.is !== "undecided") continue;
          meet("undecided");
          if (marks.some(({ fate }) => fate.is === "stands")) meet("marked while undecided");
        }
        for (const { key } of model.members) {
          const own = works.filter(({ counts, by }) => counts && by.includes(key));
          if (own.length > 0 && own.every(({ countsFor }) => countsFor?.includes(key) === false))
            meet("only for others");
          if (new Set(own.map(({ by }) => by.join())).size > 1) meet("in several works");
          if (model.choices.has(key)) meet("chosen");
        }
      }
    }),
    { numRuns: 2_000 },
  );
  const questions = ["undecided", "marked while undecided", "only for others", "in several works", "chosen"];
  // The sequences reach every outcome, every state of a mark, and every question about which submission counts.
  const all = ["graded", "needs human", "ungradable", "grader error", "waiting"];
  for (const name of [...all, "stands", "replaced", "taken back", "other content", "no criterion", ...questions])
    expect(seen.get(name) ?? 0, name).toBeGreaterThan(100);
  expect(invalidMarks).toBeGreaterThan(100);
}, 240_000);
