/** A class for tests: members with names that must not be seen, and works whose content is a blob of a few bytes. */
import type { Grade, Rubric } from "@markmill/grading";
import type { BatchMember, Definition, NewBatch, NewWork, TenantStore } from "@markmill/store";
import type { Machine } from "@markmill/store/machine";

export const classRubric: Rubric = {
  criteria: [
    {
      id: "tests",
      title: "Tests pass",
      points: 6,
      scale: { is: "points", step: 1 },
      evidence: false,
      source: { is: "tests", patterns: ["*"] },
      guidance: "",
    },
    {
      id: "style",
      title: "Reads well",
      points: 4,
      scale: { is: "points", step: 1 },
      evidence: false,
      source: { is: "llm" },
      guidance: "",
    },
  ],
};

export const memberOf = (number: number): BatchMember => ({
  key: `s${String(number).padStart(4, "0")}`,
  name: `Secretia Hiddenson ${number}`,
  email: `secretia${number}@example.org`,
});

export async function workOf(
  store: Pick<TenantStore, "blobs">,
  number: number,
  content = `work ${number}`,
): Promise<NewWork> {
  const bytes = Buffer.from(content);
  const { hash } = await store.blobs.save(bytes);
  return {
    key: memberOf(number).key,
    by: [memberOf(number).key],
    group: null,
    attempt: 1,
    counts: true,
    label: String(number),
    sources: [`${number}.zip`],
    submittedAt: null,
    lateness: { is: "on time" },
    content: { is: "taken", hash, files: 1, bytes: bytes.length, paths: ["main.js"], notes: [] },
  };
}

export async function classOf(
  store: Pick<TenantStore, "blobs">,
  definition: Definition,
  count: number,
  more: Partial<NewBatch> = {},
): Promise<NewBatch> {
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  const works: NewWork[] = [];
  for (const number of numbers) works.push(await workOf(store, number));
  return {
    key: "class",
    name: "A class",
    definition,
    rubric: classRubric,
    settings: { run: {}, late: null, aiConsent: "any", language: null },
    members: numbers.map(memberOf),
    works,
    ...more,
  };
}

export function gradeWith(
  points: { readonly tests: number; readonly style: number },
  more: Partial<Grade> = {},
): Grade {
  const scored = { is: "scored", level: null, comment: "As it is.", evidence: [], tests: [], notes: [] } as const;
  const sum = points.tests + points.style;
  return {
    outcome: { is: "graded" },
    criteria: [
      { ...scored, id: "tests", by: "tests", points: points.tests, confidence: null },
      { ...scored, id: "style", by: "llm", points: points.style, confidence: 0.9 },
    ],
    points: sum,
    most: 10,
    penalty: null,
    total: sum,
    flags: [],
    nextSteps: [],
    ...more,
  };
}

/** As if a GRADE of the run had been completed with this, and the run with it. */
export async function endWithGrade({ database }: Machine, runId: string, grade: Grade | null): Promise<void> {
  if (grade !== null) {
    const body = JSON.stringify({ type: "activity.succeeded", outcome: { kind: "graded", grade, text: "" } });
    await database.calm.query(
      `with done as (
         insert into activities (run_id, root_id, node, generation, item, attempt, kind, queue, epoch, state, work, seq, ended_at)
         values ($1, $1, 'GRADE_x', 1, -1, 1, 'grade', 'llm', 0, 'done', '{}', 1000, clock_timestamp()))
       insert into events (run_id, seq, type, at, body) values ($1, 1000, 'activity.succeeded', clock_timestamp(), $2)`,
      [runId, body],
    );
  }
  await database.calm.query(
    "update runs set status = 'success', phase = 'ended', ended_at = clock_timestamp() where id = $1",
    [runId],
  );
}
