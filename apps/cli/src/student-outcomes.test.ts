// Random sequences of what teachers, students and graders do: at every moment every student has an outcome and no mark is lost.
import { changedCriteria, type GradeInput, type Rubric } from "@markmill/grading";
import type { BatchWork } from "@markmill/store";
import fc from "fast-check";
import { expect, it } from "vitest";
import { ClassModel, type ModelWork } from "./testing-class-model.ts";
import { brokenOutcomes } from "./testing-outcomes.ts";

type Criterion = Rubric["criteria"][number];
const criterion = (id: string, points: number, source: Criterion["source"]): Criterion => ({
  ...{ id, title: id, points, scale: { is: "points", step: 0.1 }, evidence: false, source, guidance: "" },
});
const first: Rubric = {
  criteria: [
    criterion("tests", 3.3, { is: "tests", patterns: ["*"] }),
    criterion("names", 2.2, { is: "llm" }),
    criterion("talk", 1.1, { is: "human" }),
    criterion("late", -1, { is: "llm" }),
  ],
};

const teachers = ["ada", "bob", "cleo"] as const;
const policies = ["last", "first", "best"] as const;
const number = fc.nat({ max: 1_000 });

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ does: fc.constant("begin" as const) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      ...{ does: fc.constant("end" as const), of: number },
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
      ...{ does: fc.constant("override" as const), of: number, which: number, share: fc.nat({ max: 10 }) },
      ...{ by: fc.constantFrom(...teachers), seen: fc.boolean() },
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      ...{ does: fc.constant("undo" as const), of: number, which: number, named: fc.boolean() },
      ...{ by: fc.constantFrom(...teachers), seen: fc.boolean() },
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
    }),
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
      how: fc.constantFrom("swap", "points", "words", "add", "remove"),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
type Policy = (typeof policies)[number];

const pick = <Item>(items: readonly Item[], at: number): Item | undefined => items[at % Math.max(1, items.length)];

function graderInput(rubric: Rubric, { how, shares }: Extract<Step, { does: "end" }>): GradeInput | null {
  if (how === "failed") return null;
  const verdicts = rubric.criteria.flatMap(({ id, points, source }, index) =>
    source.is !== "llm"
      ? []
      : [
          {
            ...{ criterion: id, points: Math.round(points * (shares[index % 6] ?? 0) * 100) / 1000, level: null },
            ...{ evidence: [], confidence: how === "unsure" ? 0.2 : 0.9, comment: "c", notes: [] },
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

function perform(model: ClassModel, policy: Policy, step: Step): void {
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
      const { id = "", points = 0 } = pick(rubric.criteria, step.which) ?? {};
      const given = Math.round(points * step.share * 100) / 1000;
      const said = { kind: "override", by: step.by, criterion: id, points: given, reason: "so" } as const;
      if (work !== undefined) model.say(work, { ...said, ...(step.seen ? { seen: "any" } : {}) });
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
      const other = model.members.find(({ key }) => key !== member)?.key;
      const by = step.pair && other !== undefined ? [member, other].sort() : [member];
      const earlier = model.works.filter((one) => one.by.join() === by.join());
      const attempt = earlier.length + 1;
      model.works.push({
        ...{ key: `${by.join("+")}#${attempt}`, by, attempt, counts: true, content: step.broken ? null : "c0" },
        ...{ lateMs: null, tries: [], events: [] },
      });
      return count([...earlier, ...model.works.slice(-1)], policy);
    }
    case "resubmit":
      if (work !== undefined) work.content = step.content === 2 ? null : `c${step.content}`;
      return;
    case "withdraw submission":
      if (work !== undefined) work.counts = false;
      return;
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

/** Which attempts of one owner count. */
function count(attempts: readonly ModelWork[], policy: Policy): void {
  for (const [index, one] of attempts.entries())
    one.counts = policy === "best" || index === (policy === "first" ? 0 : attempts.length - 1);
}

/** What a change of the rubric must leave: every mark of a criterion that says the same, and with rows that only moved every number. */
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

it("every student has an outcome, no mark of a person is lost, and every number follows from its parts", () => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(fc.constantFrom(...policies), fc.array(step, { minLength: 5, maxLength: 25 }), (policy, steps) => {
      const model = new ClassModel(first);
      for (const name of ["m1", "m2", "m3"]) model.members.push({ key: name, name });
      for (const [of, pair] of [
        [0, false],
        [1, false],
        [0, true],
      ] as const)
        perform(model, policy, { does: "hand in", of, pair, broken: false });
      model.begin();
      let works = model.shown();
      for (const one of steps) {
        const { rubric } = model;
        perform(model, policy, one);
        const after = model.shown();
        const broken = [
          ...brokenOutcomes(model.rubric, model.members, after),
          ...(one.does === "rubric" ? brokenByRubric(rubric, model.rubric, works, after) : []),
        ];
        if (broken.length > 0) throw new Error(`after ${JSON.stringify(one)}: ${broken.join("; ")}`);
        works = after;
        for (const { grade, marks } of works) {
          for (const name of [grade?.outcome.is ?? "waiting", ...marks.map(({ fate }) => fate.is)])
            seen.set(name, (seen.get(name) ?? 0) + 1);
        }
      }
    }),
    { numRuns: 2_000 },
  );
  // The sequences reach every outcome and every fate of a mark.
  const all = ["graded", "needs human", "ungradable", "grader error", "waiting"];
  for (const name of [...all, "stands", "replaced", "taken back", "other content", "no criterion"])
    expect(seen.get(name) ?? 0, name).toBeGreaterThan(100);
}, 240_000);
