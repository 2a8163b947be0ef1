// The keys of a class change between two commands: marks and paid replies stay, and the teacher is asked about unclear cases.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseScript, type ScriptedModel, startScriptedModel } from "@markmill/llm";
import { afterAll, beforeAll, expect, it } from "vitest";
import { gradingScript } from "../support/graded-class.ts";
import { type MarkmillPlace, makePlace, markmill } from "../support/markmill-process.ts";
import { workflow } from "../support/mill.ts";

const files: Readonly<Record<string, string>> = {
  "class/class.yaml":
    "name: Sums\nworkflow: grade.wf.md\nrubric: rubric.md\nroster: roster.csv\nsubmissions: submissions\n",
  "class/grade.wf.md": workflow(
    'START --> GRADE_WORK["Grade: Judge it"] --> SUCCESS\nSUCCESS@{ shape: stadium }',
    {},
    "---\nsubmission: required\nrubric: rubric.md\ngrade: { twice: never }\n---\n",
  ),
  "class/rubric.md":
    "# Rubric\n\n| id | criterion | points | kind | source |\n|---|---|---|---|---|\n" +
    "| names | Names say what things are | 2 | levels: poor=0, fair=1, good=2 | llm |\n| pure | No side effects | 1 | binary | llm |\n",
  "class/roster.csv": "name,email\nAda Example,ada@example.invalid\nBen Sample,ben@example.invalid\n",
  "class/submissions/ada/main.js": "const total = add(1, 2);\n",
  "class/submissions/ben/main.js": "const total = add(1, 2); // ben\n",
};

let model: ScriptedModel;
let place: MarkmillPlace & { remove(): Promise<void> };
const put = async (path: string, text: string) => {
  await mkdir(dirname(join(place.cwd, path)), { recursive: true });
  await writeFile(join(place.cwd, path), text);
};

beforeAll(async () => {
  const read = parseScript(gradingScript(), "script.json");
  if (!read.ok) throw new Error("the script is wrong");
  model = await startScriptedModel({ script: read.script, port: 0, apiKey: "test" });
  place = await makePlace(
    { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "test", DEFAULT_MODEL: "gpt-5-mini" },
    { postgres: "running" },
  );
  for (const [path, text] of Object.entries(files)) await put(path, text);
});
afterAll(async () => {
  await model.close();
  await place.remove();
});

it("a new id column keeps the grades without a paid call, and the teacher is asked if an old id now belongs to another person", async () => {
  const grade = (...more: string[]) => markmill(place, ["grade", "class", "--json", ...more]);
  const totals = (json: string) =>
    Object.fromEntries(
      (JSON.parse(json).students as { student: { name: string }; total: number | null }[]).map((one) => [
        ...[one.student.name, one.total],
      ]),
    );
  const first = await grade();
  expect(first.stderr).not.toContain("error");
  expect(totals(first.stdout)).toEqual({ "Ada Example": 3, "Ben Sample": 3 });
  const said = await markmill(place, [
    ...["override", "ada@example.invalid", "--criterion", "names", "--points", "0", "--reason", "no names"],
    ...["--by", "prof"],
  ]);
  expect(said).toMatchObject({ code: 0 });
  const paid = model.requests().length;

  await put("class/roster.csv", "id,name,email\n7,Ada Example,ada@example.invalid\n8,Ben Sample,ben@example.invalid\n");
  const second = await grade();
  expect(second.stderr).toContain("2 students with a new key");
  expect((await grade()).stderr).not.toContain("with a new key");
  expect(totals(second.stdout)).toEqual({ "Ada Example": 1, "Ben Sample": 3 });

  await put("class/roster.csv", "id,name,email\n7,Eve Other,eve@example.invalid\n8,Ben Sample,ben@example.invalid\n");
  await put("class/submissions/7/main.js", "const total = add(1, 2); // eve\n");
  const asked = await grade();
  expect(asked.code).toBe(6);
  for (const words of ["CLASS_IDENTITY", "Eve Other (7)", "Ada Example (ada@example.invalid)", "--same", "--new"])
    expect(asked.stderr).toContain(words);
  expect(model.requests()).toHaveLength(paid);

  const third = await grade("--new", "7");
  expect(totals(third.stdout)).toMatchObject({ "Eve Other": 3, "Ben Sample": 3 });
  expect(model.requests()).toHaveLength(paid + 1);
}, 300_000);
