/** A class whose works are graded by a real GRADE, with a scripted model that gives each the same verdict. */

import type { Definition, NewBatch, NewWork, TenantStore } from "@markmill/store";
import { packFiles } from "../../packages/sandbox/src/pack-files.ts";
import { memberOf } from "./class.ts";
import { definitionOf, workflow } from "./mill.ts";

const quote = { file: "main.js", line: 1, quote: "const total = add(1, 2)" };
const verdict = JSON.stringify({
  criteria: {
    names: { comment: "They say what they hold.", evidence: [quote], level: "good", confidence: 0.9 },
    pure: { comment: "No side effects.", evidence: [quote], met: true, confidence: 0.9 },
  },
  nextSteps: [],
});

/** `delay`: of every reply, in ms. */
export const gradingScript = (delay = 0) =>
  JSON.stringify({ default: { reply: verdict, verbatim: true, ...(delay === 0 ? {} : { delay }) } });

const rubricOf = ({ names = "Names say what things are", pure = "No side effects" }) => `# Rubric

| id | criterion | points | kind | source |
|---|---|---|---|---|
| names | ${names} | 2 | levels: poor=0, fair=1, good=2 | llm |
| pure | ${pure} | 1 | binary | llm |
`;

/** One call per work. `words`: of a criterion, by its id. */
export function gradingFlow(
  task = "Judge it",
  head = "---\ngrade: { twice: never }\n---\n",
  words: { readonly names?: string; readonly pure?: string } = {},
): Definition {
  const text = workflow(`START --> GRADE_WORK["Grade: ${task}"]`, {}, head).replace(
    "# Prompts",
    `${rubricOf(words)}\n# Prompts`,
  );
  return definitionOf({ "a.md": text });
}

/** By their texts: an archive holds the time of its making, and the same work handed in again has the same content. */
const packed = new Map<string, Promise<Buffer>>();

/** Of a student who signs it. */
export async function gradableWork(store: Pick<TenantStore, "blobs">, number: number, more = ""): Promise<NewWork> {
  const text = `const total = add(1, 2);\n// by ${memberOf(number).name}\nprint(${number}); ${more}\n`;
  const files = [{ path: "main.js", mode: 0o644, bytes: Buffer.from(text) }];
  const packing = packed.get(text) ?? packFiles({ kind: "list", files }, 1 << 20).then((bytes) => Buffer.from(bytes));
  packed.set(text, packing);
  const tar = await packing;
  const { hash } = await store.blobs.save(tar);
  return {
    key: memberOf(number).key,
    by: [memberOf(number).key],
    group: null,
    attempt: 1,
    counts: true,
    label: String(number),
    sources: [`${memberOf(number).name}.zip`],
    submittedAt: null,
    lateness: { is: "on time" },
    content: { is: "taken", hash, files: 1, bytes: tar.length, paths: ["main.js"], notes: [] },
  };
}

export async function gradableClass(
  store: Pick<TenantStore, "blobs">,
  count: number,
  more: Partial<NewBatch> = {},
): Promise<NewBatch> {
  const definition = more.definition ?? gradingFlow();
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  const works: NewWork[] = [];
  for (const number of numbers) works.push(await gradableWork(store, number));
  const program = definition.programs[definition.root];
  return {
    key: "class",
    name: "A class",
    definition,
    rubric: program?.rubric as unknown as NewBatch["rubric"],
    settings: { run: {}, late: null, aiConsent: "any", language: null },
    members: numbers.map(memberOf),
    works,
    ...more,
  };
}
