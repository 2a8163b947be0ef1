// Fewer sequences than apps/cli/src/student-outcomes.test.ts, through the real store: every student has an outcome, no mark is lost.
import fc from "fast-check";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { brokenOutcomes, lostMarks } from "../../apps/cli/src/testing-outcomes.ts";
import { type AttemptChoice, holdChoices } from "../../packages/classroom/src/attempt-choices.ts";
import { countingWorks } from "../../packages/classroom/src/counting-works.ts";
import { everyMember, everyWork } from "../../packages/stack/src/every-page.ts";
import { classRubric, endWithGrade, gradeWith, memberOf } from "../support/class.ts";
import { migratedDatabase, type TestDatabase } from "../support/postgres.ts";
import {
  admitWorks,
  type BatchWork,
  type NewBatch,
  type NewWork,
  openStore,
  type Store,
  type TenantStore,
} from "../support/store.ts";
import { definition, onePrompt } from "./store-programs.ts";

let database: TestDatabase;
let store: Store;
let tenant: TenantStore;

beforeAll(async () => {
  database = await migratedDatabase();
  store = await openStore({ url: database.url });
  tenant = store.as("default");
});
afterAll(async () => {
  await store.close();
  await database.drop();
});

const number = fc.nat({ max: 100 });
const by = fc.constantFrom("ada", "bob");
const step = fc.oneof(
  fc.record({
    does: fc.constant("end" as const),
    of: number,
    how: fc.constantFrom("well", "open", "error", "none", "flagged"),
  }),
  fc.record({ does: fc.constant("end" as const), of: number, how: fc.constant("well") }),
  fc.record({ does: fc.constant("accept" as const), of: number, by }),
  fc.record({
    does: fc.constant("override" as const),
    of: number,
    criterion: fc.constantFrom("tests", "style"),
    points: fc.nat({ max: 4 }),
    by,
    seen: fc.boolean(),
  }),
  fc.record({ does: fc.constant("undo" as const), of: number, criterion: fc.constantFrom("tests", "style"), by }),
  fc.record({ does: fc.constant("regrade" as const), of: number }),
  fc.record({ does: fc.constant("release" as const), of: number, by }),
  fc.record({ does: fc.constant("withdraw release" as const), of: number }),
  fc.record({ does: fc.constant("hand in" as const), of: number, pair: fc.boolean(), dated: fc.boolean() }),
  fc.record({ does: fc.constant("choose" as const), of: number, which: number }),
  fc.record({ does: fc.constant("resubmit" as const), of: number, content: fc.nat({ max: 2 }) }),
  fc.record({ does: fc.constant("withdraw submission" as const), of: number }),
  fc.record({ does: fc.constant("roster" as const) }),
  fc.record({ does: fc.constant("rubric" as const), how: fc.constantFrom("swap", "words", "remove", "restore") }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const refusals = new Set<string | null>([null, "STORE_GRADE_REFUSED", "STORE_GRADE_UNSEEN", "STORE_BATCH_REFUSED"]);

/** The codes with which a step may end; null: no error. An override of a criterion outside the rubric is always invalid. */
function expectedEnds({ rubric }: Course, step: Step): ReadonlySet<string | null> {
  const asked = step.does === "override" || step.does === "undo" ? step.criterion : null;
  if (asked === null || rubric.criteria.some(({ id }) => id === asked)) return refusals;
  return new Set([step.does === "override" ? "STORE_GRADE_INVALID" : "STORE_GRADE_REFUSED"]);
}

type Submission = NewWork & { readonly instant: number | null };

/** The files of a teacher, and the batch that was saved from them. */
class Course {
  rubric = classRubric;
  people = 3;
  works: Submission[] = [];
  choices: ReadonlyMap<string, AttemptChoice> = new Map();
  id = "";
  readonly #key: string;
  readonly #best: boolean;

  constructor(key: string, best: boolean) {
    this.#key = key;
    this.#best = best;
  }

  async handIn(person: number, other: number | null, dated: boolean): Promise<void> {
    const by = [person, ...(other === null ? [] : [other])].map((one) => memberOf(one).key).sort();
    const attempt = this.works.filter((work) => work.by.join() === by.join()).length + 1;
    const key = `${by.join("+")}#${attempt}`;
    this.works.push({
      key,
      by,
      group: null,
      attempt,
      counts: true,
      label: key,
      sources: [key],
      instant: dated ? attempt : null,
      submittedAt: null,
      lateness: { is: "late", byMs: 3_600_000 },
      content: await contentOf(attempt % 2),
    });
  }

  /** The submissions as the intake of a class returns them. */
  counting(): NewWork[] {
    const read = this.works.map((work) => ({
      work,
      label: work.label,
      attempt: null,
      instant: work.instant,
      isLate: false,
      isEmpty: work.content.is === "empty",
      hash: work.content.is === "taken" ? work.content.hash : null,
      by: work.by.map((key) => ({ key, name: key })),
    }));
    const people = new Map(read.flatMap(({ by }) => by.map((member) => [member.key, member] as const)));
    const { works, held } = holdChoices(this.choices, read, people, new Set(), { file: "c", line: 1, column: 1 });
    this.choices = new Map(held.map((choice) => [choice.student, choice]));
    return countingWorks(read, this.#best ? "best" : "last", works).map(({ countsFor, undecidedFor }, index) => {
      const { instant: _, ...work } = this.works[index] as Submission;
      const waits = countsFor.length === 0 && undecidedFor.length > 0;
      const counted = (waits ? undecidedFor : countsFor).map(({ key }) => key);
      const hash = read[index]?.hash ?? null;
      return {
        ...work,
        counts: counted.length > 0,
        countsFor: counted,
        content: waits ? { is: "undecided", hash, message: "several", fix: "choose" } : work.content,
      };
    });
  }

  async save(): Promise<void> {
    const batch: NewBatch = {
      key: this.#key,
      name: "A class",
      definition: definition({ main: onePrompt }),
      rubric: this.rubric,
      settings: { run: {}, late: { percentPerDay: 10, mostPercent: 50 }, aiConsent: "any", language: null },
      members: Array.from({ length: this.people }, (_, index) => memberOf(index + 1)),
      works: this.counting(),
      whole: true,
    };
    ({ id: this.id } = await tenant.batches.save(batch));
    await admitWorks(store, {
      most: 100,
      enqueue: async () => undefined,
      onSkipped: (error) => {
        throw error;
      },
    });
  }
}

async function contentOf(number: number): Promise<NewWork["content"]> {
  if (number === 2) return { is: "empty" };
  const { hash } = await tenant.blobs.save(Buffer.from(`content ${number}`));
  return { is: "taken", hash, files: 1, bytes: 9, paths: ["main.js"], notes: [] };
}

function gradeOf(how: string) {
  switch (how) {
    case "well":
      return gradeWith({ tests: 5, style: 3 });
    case "flagged":
      return gradeWith({ tests: 5, style: 3 }, { flags: [{ kind: "injection", message: "asks for points" }] });
    case "open":
      return gradeWith(
        { tests: 5, style: 3 },
        {
          outcome: { is: "needs human", why: ["style: no model has graded this"] },
          points: null,
          total: null,
          criteria: [
            ...gradeWith({ tests: 5, style: 3 }).criteria.slice(0, 1),
            { is: "not graded", id: "style", why: "no model has graded this" },
          ],
        },
      );
    case "error":
      return gradeWith(
        { tests: 0, style: 0 },
        { outcome: { is: "grader error", why: "the tests did not run" }, points: null, total: null },
      );
    default:
      return null;
  }
}

async function perform(course: Course, step: Step): Promise<void> {
  const works = await everyWork(tenant.batches, course.id);
  const work = "of" in step ? works[step.of % works.length] : undefined;
  const say = (more: object) =>
    tenant.batches.record(course.id, { work: work?.key ?? "", by: "ada", ...more } as never);
  switch (step.does) {
    case "end":
      if (work?.standing.is === "running") await endWithGrade(store, work.try?.runId ?? "", gradeOf(step.how));
      return;
    case "accept":
      await say({ kind: "reviewed", by: step.by });
      return;
    case "override": {
      const { criterion, points, seen } = step;
      await say({
        kind: "override",
        by: step.by,
        criterion,
        points,
        reason: "so",
        ...(seen ? { seen: [work?.etag ?? ""] } : {}),
      });
      return;
    }
    case "undo":
      await say({ kind: "override", by: step.by, criterion: step.criterion, points: null, reason: "no" });
      return;
    case "regrade":
      await tenant.batches.regrade(course.id, { keys: [work?.key ?? ""] });
      await course.save();
      return;
    case "release":
      await say({ kind: "released", by: step.by });
      return;
    case "withdraw release":
      await say({ kind: "withdrawn", reason: "wrong" });
      return;
    case "hand in":
      await course.handIn(
        (step.of % course.people) + 1,
        step.pair ? ((step.of + 1) % course.people) + 1 : null,
        step.dated,
      );
      return await course.save();
    case "choose": {
      const student = memberOf((step.of % course.people) + 1).key;
      const own = course.works.filter((one) => one.by.includes(student));
      const label = own[step.which % Math.max(1, own.length)]?.label;
      if (label === undefined) return;
      course.choices = new Map([...course.choices, [student, { label, among: null }]]);
      return await course.save();
    }
    case "resubmit": {
      const content = await contentOf(step.content);
      course.works = course.works.map((one) => (one.key === work?.key ? { ...one, content } : one));
      return await course.save();
    }
    case "withdraw submission":
      course.works = course.works.filter(({ key }) => key !== work?.key);
      return await course.save();
    case "roster":
      course.people += 1;
      return await course.save();
    case "rubric":
      course.rubric = rubricBy(step.how);
      return await course.save();
  }
}

/** A criterion is removed, a teacher marks it and takes the mark back, and the criterion returns. */
const withoutStyle: Step[] = [
  { does: "override", of: 0, criterion: "style", points: 2, by: "ada", seen: true },
  { does: "rubric", how: "remove" },
  { does: "override", of: 0, criterion: "style", points: 1, by: "ada", seen: true },
  { does: "undo", of: 0, criterion: "style", by: "ada" },
  { does: "override", of: 0, criterion: "tests", points: 1, by: "ada", seen: true },
  { does: "rubric", how: "restore" },
  { does: "override", of: 0, criterion: "style", points: 1, by: "ada", seen: true },
  { does: "undo", of: 0, criterion: "style", by: "ada" },
];

function rubricBy(how: string): typeof classRubric {
  const { criteria } = classRubric;
  switch (how) {
    case "swap":
      return { criteria: [...criteria].reverse() };
    case "words":
      return { criteria: criteria.map((one) => (one.id === "style" ? { ...one, title: "Reads very well" } : one)) };
    case "remove":
      return { criteria: criteria.slice(0, 1) };
    default:
      return classRubric;
  }
}

it("every student has an outcome through the store, no mark is lost, and every number follows from its parts", {
  timeout: 900_000,
}, async () => {
  let classes = 0;
  let steps = 0;
  let refused = 0;
  let invalid = 0;
  let undecided = 0;
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.array(step, { minLength: 8, maxLength: 16 }), async (best, todo) => {
      classes += 1;
      const course = new Course(`class ${classes}`, best);
      await course.handIn(1, null, true);
      await course.handIn(2, classes % 2 === 0 ? 1 : null, false);
      await course.save();
      let before: readonly BatchWork[] = [];
      for (const one of todo) {
        steps += 1;
        const expected = expectedEnds(course, one);
        const ended = await perform(course, one).then(
          () => null,
          (error: { readonly code?: string }) => {
            if (!expected.has(error.code ?? "")) throw error;
            return error.code ?? "";
          },
        );
        if (!expected.has(ended)) throw new Error(`${JSON.stringify(one)} must be refused: ${[...expected].join()}`);
        if (ended !== null) refused += 1;
        if (ended === "STORE_GRADE_INVALID") invalid += 1;
        const members = await everyMember(tenant.batches, course.id);
        const works = await everyWork(tenant.batches, course.id);
        if (works.some(({ content }) => content.is === "undecided")) undecided += 1;
        const broken = [...brokenOutcomes(course.rubric, members, works), ...lostMarks(before, works)];
        before = works;
        if (broken.length > 0) throw new Error(`after ${JSON.stringify(one)}: ${broken.join("; ")}`);
      }
    }),
    {
      numRuns: inject("thorough") ? 300 : 30,
      endOnFailure: true,
      examples: [[true, withoutStyle]],
    },
  );
  expect(classes).toBeGreaterThanOrEqual(30);
  expect(undecided).toBeGreaterThan(10);
  expect(invalid).toBeGreaterThan(0);
  // Most of the random steps succeeded.
  expect(refused).toBeLessThan(steps / 2);
});
