// The output of --json has the API's names and units. The test compares it with the schemas of the contract.
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { routes } from "@markmill/contract";
import { parseScript, type ScriptedModel, startScriptedModel } from "@markmill/llm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { commands } from "../../apps/cli/src/command-table.ts";
import { gradingScript } from "../support/graded-class.ts";
import { type MarkmillPlace, makePlace, markmill } from "../support/markmill-process.ts";
import { workflow } from "../support/mill.ts";
import { type ResidentMarkmill, residentMarkmill } from "../support/resident-markmill.ts";
import { writeWorkflows } from "./cli-workflows.ts";

const classFiles: Readonly<Record<string, string>> = {
  "class/class.yaml":
    "name: Sums\nworkflow: grade.wf.md\nrubric: rubric.md\nroster: roster.csv\nsubmissions: submissions\n",
  "class/grade.wf.md": workflow(
    'START --> GRADE_WORK["Grade: Judge it"] --> SUCCESS\nSUCCESS@{ shape: stadium }',
    {},
    "---\nsubmission: required\nrubric: rubric.md\ngrade: { twice: never }\n---\n",
  ),
  "class/rubric.md":
    "# Rubric\n\n| id | criterion | points | kind | source |\n|---|---|---|---|---|\n" +
    "| names | Names say what things are | 2 | levels: poor=0, fair=1, good=2 | llm |\n",
  "class/roster.csv": "id,name,repository\n7,Ada Example,https://ada:secret@git.invalid/ada\n8,Ben Sample,\n",
  "class/submissions/7/main.js": "const total = add(1, 2);\n",
  "human.csv": "id,names\n7,1\n8,2\n",
  "nobody.csv": "id,names\n99,1\n",
  "table.cfg.json": JSON.stringify({
    workflow_files: ["greet.wf.md"],
    key_values: [{ LABEL: "one", NAME: "Ada" }],
    ai_model_names: ["gpt-5-mini"],
  }),
  "remembers.json": JSON.stringify({
    config: { max_steps: 5, max_time: 60, memory: { scope: "course-2026" } },
    tasks: [
      {
        id: "keep",
        operator: "generation",
        prompt: "Say something.",
        inputs: [],
        outputs: [{ type: "insert", key: "", value: "A tide rises twice a day, and falls twice." }],
      },
    ],
    steps: [{ source: "keep", target: "__end" }],
  }),
  "wrong.wf.md": "# Nothing\n",
};

let place: MarkmillPlace & { remove(): Promise<void> };
let resident: ResidentMarkmill;
let model: ScriptedModel;

beforeAll(async () => {
  resident = await residentMarkmill();
  const read = parseScript(gradingScript(), "script.json");
  if (!read.ok) throw new Error("the script is wrong");
  model = await startScriptedModel({ script: read.script, port: 0, apiKey: "test" });
  place = await makePlace(
    { SANDBOX: "none", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "test", DEFAULT_MODEL: "gpt-5-mini" },
    { postgres: "running" },
  );
  writeWorkflows(place.cwd);
  for (const [path, text] of Object.entries(classFiles)) {
    mkdirSync(dirname(join(place.cwd, path)), { recursive: true });
    writeFileSync(join(place.cwd, path), text);
  }
});
afterAll(async () => {
  await resident.close();
  await model.close();
  await place.remove();
});

type Answered = {
  [Name in keyof typeof routes]: (typeof routes)[Name]["answer"] extends { readonly schema: z.ZodType } ? Name : never;
}[keyof typeof routes];
const schemaOf = (name: Answered) => (routes[name].answer as unknown as { readonly schema: z.ZodType }).schema;

/** Names outside the schema, by their path. A list appears as its first index. */
function unknownNames(schema: z.ZodType, said: unknown): string[] {
  const read = schema.safeParse(said);
  if (!read.success) return read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  return missingIn(read.data, said, "");
}

function missingIn(known: unknown, said: unknown, at: string): string[] {
  if (typeof said !== "object" || said === null || typeof known !== "object" || known === null) return [];
  return Object.entries(said).flatMap(([name, value]) => {
    const path = at === "" ? name : `${at}.${name}`;
    return name in known ? missingIn((known as Record<string, unknown>)[name], value, path) : [path];
  });
}

const json = async (...args: string[]): Promise<unknown> => {
  const { stdout, stderr } = await resident.say(place, [...args, "--json"]);
  if (stdout === "") throw new Error(`no JSON: ${stderr}`);
  return JSON.parse(stdout);
};
/** The object without the fields that the API has under other names. */
const without = (said: unknown, ...names: string[]) =>
  Object.fromEntries(Object.entries(said as object).filter(([name]) => !names.includes(name)));
const anyList = z.strictObject({ items: z.array(z.looseObject({})), next: z.null() });

/** Compares a command's output on a batch with GET /v1/batches/{id}. */
const batchOf = (schemaOf("getBatch") as z.ZodObject).omit({
  rubric: true,
  rubricHash: true,
  settings: true,
  members: true,
  budgetNearlySpent: true,
  runMs: true,
});
const batchBeside = ["end", "exitCode", "papers"];
const classBeside = [...batchBeside, "similar", "comparedPartly", "unmatched", "most", "students"];
const tableBeside = [...batchBeside, "rows"];
/** Each item of a list: the schema's names, and additional ones. */
const besideItems = (item: z.ZodType, said: unknown) => {
  const { items } = anyList.parse(said);
  return { some: items.length > 0, names: [...new Set(items.flatMap((one) => unknownNames(item, one)))] };
};
const itemOf = (name: Answered) =>
  (schemaOf(name) as z.ZodObject<{ items: z.ZodArray<z.ZodType> }>).shape.items.element;

/** Every command with --json, by its first word. Later commands use things that earlier ones created. */
const says: Readonly<Record<string, () => Promise<void>>> = {
  async run() {
    const run = await json("run", "greet.wf.md", "NAME=Ada");
    expect(unknownNames(schemaOf("getRun"), run)).toEqual(["warnings"]);
    expect(run).toMatchObject({ status: "success", spent: { nanodollars: expect.any(Number), calls: 1 } });
    const detached = await json("run", "ask.wf.md", "--detach");
    expect(unknownNames(schemaOf("startRun"), detached)).toEqual([]);
    await resident.say(place, ["cancel", (detached as { id: string }).id]);
  },
  async watch() {
    expect(unknownNames(schemaOf("getRun"), await json("watch", await greeted()))).toEqual(["warnings"]);
  },
  async status() {
    const shown = await json("status", await greeted());
    expect(unknownNames(schemaOf("getRun"), shown)).toEqual(["warnings", "hits", "asks", "workers", "pauses"]);
    const runs = (await json("status")) as { items: object[] };
    const beside = unknownNames(schemaOf("listRuns"), runs).filter((name) => !/^items\.\d+\.waits$/.test(name));
    expect({ beside, some: runs.items.length > 0 }).toEqual({ beside: ["pauses"], some: true });
    expect(await json("status", "--batches")).toEqual({ items: [], next: null });
  },
  async logs() {
    const lines = (await resident.say(place, ["logs", await greeted(), "--json"])).stdout.trim().split("\n");
    const page = {
      items: lines.map((line) => JSON.parse(line)),
      last: 1,
      next: "1",
      rev: 1,
      status: "success",
      ended: true,
    };
    const decided = /^items\.\d+\.(checked|failed|again|ended)$/;
    expect(unknownNames(schemaOf("listEvents"), page).filter((name) => !decided.test(name))).toEqual([]);
  },
  async history() {
    const history = (await json("history", await greeted())) as { items: { calls: object[] }[] };
    const [one] = history.items;
    expect(unknownNames(schemaOf("getRun"), one)).toEqual([
      "variables",
      "hits",
      "events",
      "activities",
      "calls",
      "toolCalls",
    ]);
    expect(unknownNames(schemaOf("listCalls"), { items: one?.calls, next: null })).toEqual([]);
    expect(one?.calls).toHaveLength(1);
  },
  async replay() {
    const replayed = (await json("replay", await greeted())) as { items: object[] };
    expect(unknownNames(schemaOf("replayRun"), replayed.items[0])).toEqual(["id", "name"]);
  },
  async retry() {
    const again = await json("retry", await greeted(), "--from", "PROMPT_HI");
    expect(unknownNames(schemaOf("getRun"), again)).toEqual(["warnings"]);
  },
  async resume() {
    const { id } = (await json("run", "ask.wf.md", "--detach")) as { id: string };
    await resident.say(place, ["stop", id]);
    const resumed = markmill(place, ["resume", id, "--json"]);
    await expect.poll(async () => (await resident.say(place, ["answer", id, "pass"])).code).toBe(0);
    const { stdout, stderr } = await resumed;
    expect(unknownNames(schemaOf("getRun"), JSON.parse(stdout || stderr))).toEqual(["warnings"]);
  },
  async memory() {
    expect(await json("memory")).toEqual({ items: [], next: null });
    expect(await json("run", "remembers.json")).toMatchObject({ status: "success" });
    expect(unknownNames(schemaOf("listMemoryScopes"), await json("memory"))).toEqual([]);
    const passages = await json("memory", "course-2026");
    expect(unknownNames(schemaOf("listPassages"), passages)).toEqual(["name"]);
    expect(anyList.parse(without(passages, "name")).items).toHaveLength(1);
  },
  async validate() {
    const checked = await json("validate", "greet.wf.md", "broken.wf.md");
    expect(besideItems(schemaOf("validateDefinition"), without(checked, "valid"))).toEqual({
      some: true,
      names: ["file"],
    });
    expect(checked).toMatchObject({
      valid: false,
      items: [{ findings: [] }, { findings: [{ hint: expect.any(String) }] }],
    });
  },
  async show() {
    const shown = await json("show", "greet.wf.md");
    const definition = (schemaOf("getDefinition") as z.ZodObject).omit({ createdAt: true, files: true });
    expect(unknownNames(definition, shown)).toEqual(["files", "compiled"]);
    const { compiled } = shown as { compiled: unknown };
    expect(besideItems(schemaOf("getDefinitionProgram"), { items: compiled, next: null })).toEqual({
      some: true,
      names: [],
    });
  },
  async explain() {
    const item = z.strictObject({
      code: z.string(),
      group: z.string(),
      message: z.string(),
      follows: z.string(),
      hint: z.string(),
    });
    expect(besideItems(item, await json("explain", "PROMPT_UNKNOWN"))).toEqual({ some: true, names: [] });
  },
  async trust() {
    expect(anyList.parse(await json("trust", "--list"))).toMatchObject({ next: null });
  },
  async doctor() {
    const told = await json("doctor", "--quick");
    const item = z.strictObject({
      check: z.string(),
      state: z.string(),
      message: z.string(),
      hint: z.string().nullable(),
    });
    expect(besideItems(item, without(told, "ok", "version", "config"))).toEqual({ some: true, names: [] });
    expect(unknownNames((schemaOf("getReady") as z.ZodObject).omit({ components: true }), told)).toEqual([
      ...["items", "next", "config"],
    ]);
  },
  async estimate() {
    const told = await json("estimate", "class");
    const counts = (itemOf("getUsage") as z.ZodObject).pick({
      calls: true,
      promptTokens: true,
      completionTokens: true,
    });
    const priced = (itemOf("listModels") as z.ZodObject).pick({ priced: true });
    expect(unknownNames(z.object({ ...counts.shape, ...priced.shape }), told)).toEqual([
      ...["works", "model", "lowNanodollars", "highNanodollars", "pilotWorks", "durationMs"],
    ]);
  },
  async grade() {
    const preview = await json("grade", "class", "--dry-run");
    const { members, works } = (routes.saveBatch.body as unknown as z.ZodObject).shape;
    expect(unknownNames(z.object({ name: z.string(), members, works } as z.ZodRawShape), preview)).toEqual([
      ...["roster", "layout", "unfetched", "unmatched", "withoutWork", "choices", "findings"],
    ]);
    expect(JSON.stringify(preview)).not.toContain("secret");
    expect(preview).toMatchObject({ withoutWork: ["8"], works: [{ by: ["7"], content: { is: "taken" } }] });
    const graded = await json("grade", "class");
    expect(unknownNames(batchOf, graded)).toEqual(classBeside);
    expect(graded).toMatchObject({
      state: { is: "ended" },
      counts: { succeeded: 1 },
      spent: { calls: expect.any(Number) },
    });
    expect(unknownNames(batchOf, await json("status", "class"))).toEqual(classBeside);
    expect(unknownNames(batchOf, await json("grade", "table.cfg.json"))).toEqual(tableBeside);
    expect(unknownNames(schemaOf("listBatches"), await json("status", "--batches"))).toEqual([]);
  },
  async review() {
    const work = (itemOf("listWorks") as z.ZodObject).pick({ attempt: true, grade: true });
    expect(besideItems(work, await json("review", "class", "--list")).names).toEqual([]);
    const one = await json("review", "class", "--student", "7");
    const shown = (itemOf("listWorks") as z.ZodObject).pick({ attempt: true, grade: true, marks: true });
    expect(unknownNames(shown, one)).toEqual(["work", "students", "name", "why", "try", "left"]);
  },
  async agree() {
    const compared = await json("agree", "class", "--human", "human.csv");
    expect(unknownNames(anyList.extend({ id: z.string() }).loose(), compared)).toEqual([]);
    expect(compared).toMatchObject({ items: [{ criterion: "names" }], unknown: [], doubtful: [] });
    expect(await json("agree", "class", "--human", "nobody.csv")).toMatchObject({ items: [], next: null });
  },
  async regrade() {
    const none = await json("regrade", "class", "--where", "total<0");
    expect(without(none, "id")).toEqual({ items: [], next: null });
    const regraded = await json("regrade", "class", "--where", "student=7", "--yes");
    expect(anyList.parse(without(regraded, "id")).items).toMatchObject([{ work: expect.any(String), students: ["7"] }]);
  },
};

/** Their output has no counterpart in the API. */
const aside: Readonly<Record<string, string>> = { sandbox: "walls and probes of this machine" };

const greeted = async (): Promise<string> => {
  const { items } = (await json("status")) as { items: { id: string; name: string }[] };
  return items.find(({ name }) => name === "Greet")?.id ?? "";
};

it("every command with --json has a case in this test", async () => {
  const helps = await Promise.all(
    Object.entries(commands).map(async ([name, { load }]) => ({ name, help: (await load()).help })),
  );
  const offered = helps.filter(({ help }) => help.includes("--json")).map(({ name }) => name);
  expect(offered.toSorted()).toEqual([...Object.keys(says), ...Object.keys(aside)].toSorted());
  // The help of every command that accepts --json mentions it.
  const sources = globSync(join(import.meta.dirname, "../../apps/cli/src/commands/*.ts"));
  const taken = sources.filter((file) => /\bjson: \{ type: "boolean" \}/.test(readFileSync(file, "utf8")));
  expect(taken.map((file) => basename(file, ".ts")).toSorted()).toEqual(offered.toSorted());
});

describe("the JSON output has the names and units of the API", () => {
  it.each(Object.entries(says))("in '%s'", async (_, check) => {
    await check();
  });
});
