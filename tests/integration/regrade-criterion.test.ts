/** A regrade of one criterion: one question about it, all other marks stay, and every grading attempt is kept. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { gradableClass, gradingFlow } from "../support/graded-class.ts";
import { type Mill, startMill } from "../support/mill.ts";
import { until } from "../support/until.ts";

const quote = { file: "main.js", line: 1, quote: "const total = add(1, 2)" };
const names = (level: string) => ({ comment: `${level} names`, evidence: [quote], level, confidence: 0.9 });
const pure = { comment: "No side effects.", evidence: [quote], met: true, confidence: 0.9 };
const reply = (criteria: object) => ({ reply: JSON.stringify({ criteria, nextSteps: [] }), verbatim: true });
// The first question has both criteria. The later one has names only.
const script = JSON.stringify({
  rules: [
    { name: "whole", when: { pattern: "- names: [^]*- pure: " }, ...reply({ names: names("fair"), pure }) },
    { name: "pure", when: { text: "- pure: " }, ...reply({ pure: { ...pure, met: false } }) },
  ],
  default: reply({ names: names("good") }),
});

let mill: Mill;
beforeAll(async () => {
  mill = await startMill({ backend: "postgres", script });
});
afterAll(() => mill?.close());

it("a regrade of one criterion grades that criterion only, and other marks, comments and the earlier attempt stay", async () => {
  const { batches, blobs } = mill.store.as("default");
  const { id } = await batches.save(await gradableClass({ blobs }, 2, { definition: gradingFlow() }));
  await until(async () => (await batches.get(id))?.counts.succeeded === 2);
  const [first, second] = (await batches.works(id)).works;
  expect(first?.grade).toMatchObject({ total: 2 });
  await batches.record(id, {
    work: first?.key ?? "",
    kind: "override",
    by: "t",
    criterion: "pure",
    points: 0,
    reason: "x",
  });
  const asked = mill.requests().length;

  await expect(batches.regrade(id, { keys: [first?.key ?? ""], criterion: "nmes" })).rejects.toThrow(
    'no criterion "nmes"; it has names, pure',
  );
  expect(await batches.regrade(id, { keys: [first?.key ?? ""], criterion: "names" })).toEqual({ works: [first?.key] });
  await until(async () => (await batches.get(id))?.counts.succeeded === 2);
  expect(mill.requests().length - asked).toBe(1);
  const question = JSON.stringify(mill.requests().at(-1));
  expect(question).toContain("- names: ");
  expect(question).not.toContain("- pure: ");

  const after = await batches.work(id, first?.key ?? "");
  expect(after?.proposal?.grade).toMatchObject({
    total: 3,
    criteria: [
      { id: "names", points: 2, comment: "good names" },
      { id: "pure", points: 1, comment: "No side effects." },
    ],
  });
  expect(after?.grade).toMatchObject({ total: 2, criteria: [{ points: 2 }, { points: 0, by: "human" }] });
  const tries = await batches.tries(id, first?.key ?? "");
  expect(tries.map(({ grade, why }) => [why, grade?.total])).toEqual([
    ["first", 2],
    ["regrade", 3],
  ]);
  expect(await batches.work(id, second?.key ?? "")).toMatchObject({ tries: 1, grade: { total: 2 } });

  // Another regrade follows the one before.
  await batches.regrade(id, { keys: [first?.key ?? ""], criterion: "pure" });
  await until(async () => (await batches.get(id))?.counts.succeeded === 2);
  expect((await batches.work(id, first?.key ?? ""))?.proposal?.grade.criteria).toMatchObject([
    { id: "names", points: 2 },
    { id: "pure", points: 0 },
  ]);
});

it("a regrade of a reworded criterion uses its new words, and the marks of all unchanged criteria stay", async () => {
  const { batches, blobs } = mill.store.as("default");
  const before = await gradableClass({ blobs }, 1, { key: "reworded", definition: gradingFlow() });
  const { id } = await batches.save(before);
  await until(async () => (await batches.get(id))?.counts.succeeded === 1);
  const [key = ""] = before.works.map((work) => work.key);
  const pureWas = (await batches.work(id, key))?.proposal?.grade.criteria[1];

  const definition = gradingFlow(undefined, undefined, { names: "Every name tells its purpose" });
  await batches.save(await gradableClass({ blobs }, 1, { key: "reworded", definition }));
  const asked = mill.requests().length;
  await batches.regrade(id, { keys: [key], criterion: "names" });
  await until(async () => (await batches.get(id))?.counts.succeeded === 1);
  expect(mill.requests().length - asked).toBe(1);
  const question = JSON.stringify(mill.requests().at(-1));
  expect(question).toContain("Every name tells its purpose");
  expect(question).not.toContain("- pure: ");
  const after = await batches.work(id, key);
  expect(after?.grade).toMatchObject({
    total: 3,
    criteria: [
      { id: "names", points: 2 },
      { id: "pure", points: 1 },
    ],
  });
  expect(after?.proposal?.grade.criteria[1]).toEqual(pureWas);
});

it("a regrade of one criterion is refused, and starts nothing, if another criterion changed too or no marks exist", async () => {
  const { batches, blobs } = mill.store.as("default");
  const before = await gradableClass({ blobs }, 1, { key: "both", definition: gradingFlow() });
  const { id } = await batches.save(before);
  await until(async () => (await batches.get(id))?.counts.succeeded === 1);
  const [key = ""] = before.works.map((work) => work.key);
  const definition = gradingFlow(undefined, undefined, { names: "Purposeful", pure: "Nothing is written anywhere" });
  await batches.save(await gradableClass({ blobs }, 1, { key: "both", definition }));
  const asked = mill.requests().length;
  await expect(batches.regrade(id, { keys: [key], criterion: "names" })).rejects.toThrow(/pure.*changed too/);
  expect(await batches.tries(id, key)).toHaveLength(1);

  const paused = await gradableClass({ blobs }, 1, { key: "unmarked", definition: gradingFlow(), whole: true });
  const { id: other } = await batches.save({ ...paused, works: [] });
  await batches.pause(other, "not yet");
  await batches.save(paused);
  await batches.cancel(other, "never");
  await mill.store.database.calm.query(
    'update batch_runs set refusal = \'{"code":"X","message":"x"}\', admitted_at = now(), end_seen_at = now() where batch_id = $1',
    [other],
  );
  await expect(batches.regrade(other, { keys: [key], criterion: "names" })).rejects.toThrow(
    /no marks that could be kept/,
  );
  expect(mill.requests().length).toBe(asked);
});

it("a regrade of one criterion fails if its marks are no longer valid when it starts, and never grades everything", async () => {
  const { batches, blobs } = mill.store.as("default");
  const before = await gradableClass({ blobs }, 1, { key: "lost", definition: gradingFlow() });
  const { id } = await batches.save(before);
  await until(async () => (await batches.get(id))?.counts.succeeded === 1);
  const [key = ""] = before.works.map((work) => work.key);
  await batches.pause(id, "to look");
  await batches.regrade(id, { keys: [key], criterion: "names" });
  await mill.store.database.calm.query("update batch_runs set hash = repeat('0', 64) where batch_id = $1 and try = 1", [
    id,
  ]);
  const asked = mill.requests().length;
  await batches.resume(id);
  await until(async () => (await batches.get(id))?.counts.failed === 1);
  expect(mill.requests().length).toBe(asked);
  expect((await batches.work(id, key))?.grade?.outcome).toMatchObject({ is: "grader error" });
});
