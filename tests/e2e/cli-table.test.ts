// A CodeMentor batch (.cfg.json) as a table of runs: every combination is a run, none stops another, and continuing repeats nothing.
import { readFileSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseScript, type ScriptedModel, startScriptedModel } from "@markmill/llm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type MarkmillPlace, makePlace, markmill } from "../support/markmill-process.ts";
import { type ResidentMarkmill, residentMarkmill } from "../support/resident-markmill.ts";

const workflow = (title: string, task: string, params = "") => `# ${title}

# Workflow

\`\`\`mermaid
flowchart TD
    START --> PROMPT_ONE[Prompt: User One]
    ${params}
    PROMPT_ONE --> CHECK_GOOD{RESULT CONTAINS 'sea'}
    CHECK_GOOD --> |TRUE| SUCCESS
    CHECK_GOOD --> |FALSE| FAILED
\`\`\`

# Prompts

## User One

${task}
`;
const topic = 'PARAMS@{ shape: comment, label: "TOPIC" }';
const script = `rules:
  - name: bad
    when: { text: "about rocks" }
    reply: Nothing to say.
  - name: good
    when: { pattern: "(?<what>Say|Sing|Tidy|Prepare)" }
    reply: "{{what}}: the sea is wide and blue"
`;

interface Row {
  readonly number: number;
  readonly key: string;
  readonly label: string;
  readonly workflow: string;
  readonly status: string;
  readonly words: number;
  readonly lengthScore: number | null;
  readonly factsScore: number | null;
  readonly resultFile: string | null;
  readonly variables: Readonly<Record<string, string>>;
}

describe("a table of runs (.cfg.json)", () => {
  let place: MarkmillPlace & { remove(): Promise<void> };
  let resident: ResidentMarkmill;
  let model: ScriptedModel;
  const table = {
    setup_workflow_file: "setup.wf.md",
    workflow_files: ["say.wf.md", "sing.wf.md"],
    key_values: [
      { LABEL: "one; =1+1", TOPIC: "water" },
      { LABEL: "two", TOPIC: "rocks" },
    ],
    ai_model_names: ["gpt-5-mini", "gpt-5-nano"],
    repeats: 1,
    expected_length: 6,
    expected_facts: ["sea", ["blue", "grey"], "salt"],
    cleanup_workflow_file: "cleanup.wf.md",
    csv_file: "old.csv",
  };
  const write = (name: string, content: unknown) =>
    writeFile(
      join(place.cwd, "tables", name),
      typeof content === "string" ? content : JSON.stringify(content, null, 2),
    );
  const grade = (...args: string[]) => resident.say(place, ["grade", ...args]);
  const rowsOf = (json: string) => (JSON.parse(json) as { readonly rows: readonly Row[] }).rows;

  beforeAll(async () => {
    resident = await residentMarkmill();
    const read = parseScript(script, "model.yaml");
    if (!read.ok) throw new Error("the script is wrong");
    model = await startScriptedModel({ script: read.script, port: 0, apiKey: "test" });
    place = await makePlace(
      { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "test", DEFAULT_MODEL: "gpt-5-mini" },
      { postgres: "running" },
    );
    await mkdir(join(place.cwd, "tables"));
    await write("say.wf.md", workflow("Say", "Say a word about {{TOPIC}}.", topic));
    await write("sing.wf.md", workflow("Sing", "Sing about {{TOPIC}}.", topic));
    await write("setup.wf.md", workflow("Setup", "Prepare for {{TOPIC}}.", topic));
    await write("cleanup.wf.md", workflow("Cleanup", "Tidy up after {{TOPIC}}.", topic));
    await write("sea.cfg.json", table);
  });
  afterAll(async () => {
    await resident.close();
    await model.close();
    await place.remove();
  });

  it("runs every combination in the order of the file, with setup before and cleanup after, and a failed row stops no other", async () => {
    const said = await markmill(place, ["grade", "tables/sea.cfg.json", "--json", "--out", "out"]);
    expect(said.stderr).not.toContain("grader error");
    expect(said.code).toBe(3);
    const rows = rowsOf(said.stdout);
    expect(rows.map(({ number, key }) => (number > 0 ? number : key))).toEqual([
      "setup",
      1,
      2,
      3,
      4,
      5,
      6,
      7,
      8,
      "cleanup",
    ]);
    const own = rows.filter(({ number }) => number > 0);
    expect(
      own.map(({ workflow: file, label, variables, status }) => [file, label, variables.AI_MODEL_NAME, status]),
    ).toEqual(
      ["say.wf.md", "sing.wf.md"].flatMap((file) =>
        ["gpt-5-mini", "gpt-5-nano"].flatMap((name) => [
          [file, "one; =1+1", name, "success"],
          [file, "two", name, "failed"],
        ]),
      ),
    );
    expect(own[0]).toMatchObject({
      words: 7,
      factsScore: expect.closeTo(200 / 3),
      lengthScore: expect.closeTo(250 / 3),
    });
    expect(own[1]).toMatchObject({ factsScore: null, lengthScore: null });
    const asked = model.requests().map(({ messages }) => JSON.stringify(messages));
    expect(asked).toHaveLength(10);
    expect(asked[0]).toContain("Prepare for water");
    expect(asked[9]).toContain("Tidy up after water");
    expect(new Set(model.requests().map(({ model: name }) => name))).toEqual(new Set(["gpt-5-mini", "gpt-5-nano"]));

    const csv = readFileSync(join(place.cwd, "out/sea.csv"), "utf8");
    const [head = "", first = ""] = csv.split("\r\n");
    expect(head.split(";")).toHaveLength(23);
    expect(first).toMatch(/^1;say\.wf\.md;"one; =1\+1";gpt-5-mini;/);
    expect(first).toContain(";SUCCESS;sea_results/");
    const results = await readdir(join(place.cwd, "out/sea_results"));
    expect(results).toHaveLength(10);
    expect(readFileSync(join(place.cwd, "out", own[0]?.resultFile ?? ""), "utf8")).toBe(
      "Say: the sea is wide and blue",
    );
  });

  it("sends no request again, and after a new first entry runs only that entry", async () => {
    const before = model.requests().length;
    expect((await grade("tables/sea.cfg.json", "--json", "--out", "out")).code).toBe(3);
    expect(model.requests()).toHaveLength(before);
    await write("sea.cfg.json", { ...table, key_values: [{ LABEL: "zero", TOPIC: "shells" }, ...table.key_values] });
    const said = await grade("tables/sea.cfg.json", "--json", "--out", "out");
    expect(said.stderr).toContain("continuing sea: 12 runs");
    expect(rowsOf(said.stdout).map(({ number }) => number)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0]);
    const later = model.requests().slice(before);
    // Setup and cleanup use the values of the first entry, which has changed.
    expect(later.filter(({ messages }) => /Say|Sing/.test(JSON.stringify(messages)))).toHaveLength(4);
  });

  it("is shown as a table, retries its failed rows, and has no grades", async () => {
    const status = await resident.say(place, ["status", "tables/sea.cfg.json"]);
    expect(status.stdout).toMatch(/^nr +label +workflow +model +status +words/);
    for (const line of status.stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
    const before = model.requests().length;
    expect((await resident.say(place, ["retry", "tables/sea.cfg.json"])).code).toBe(3);
    expect(model.requests().length - before).toBe(4);
    for (const verb of ["review", "release", "report"]) {
      const said = await resident.say(place, [verb, "tables/sea.cfg.json"]);
      expect(said.code).not.toBe(0);
      expect(said.stderr).toContain("CLASS_IS_TABLE");
    }
  });

  it.each([
    [
      "key.cfg.json",
      '{\n  "workflow_file": "say.wf.md"\n}',
      /CFG_KEY: tables\/key\.cfg\.json:2:3: [\s\S]*Did you mean workflow_files/,
    ],
    [
      "value.cfg.json",
      '{\n  "workflow_files": "say.wf.md",\n  "repeats": "x"\n}',
      /CFG_VALUE: tables\/value\.cfg\.json:3:14: repeats/,
    ],
    ["json.cfg.json", '{"workflow_files": ["say.wf.md"', /CFG_JSON: tables\/json\.cfg\.json:1:/],
    ["empty.cfg.json", "", /CFG_VALUE: tables\/empty\.cfg\.json:1:1: workflow_files/],
    [
      "missing.cfg.json",
      '{"workflow_files": "nowhere.wf.md"}',
      /CFG_FILE_MISSING: tables\/missing\.cfg\.json:1:20: workflow nowhere\.wf\.md not found/,
    ],
    [
      "param.cfg.json",
      '{"workflow_files": "say.wf.md", "key_values": [{"TOPIK": "x"}]}',
      /PARAM_MISSING: tables\/param\.cfg\.json:1:48: run 1, say\.wf\.md: TOPIC[\s\S]*Did you mean TOPIC by TOPIK/,
    ],
    [
      "many.cfg.json",
      '{"workflow_files": "say.wf.md", "repeats": 10000, "ai_temperature_values": [0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1]}',
      /CFG_RUNS: tables\/many\.cfg\.json/,
    ],
  ])("%s is refused before anything starts, with its position", async (name, content, says) => {
    await write(name, content);
    const said = await grade(`tables/${name}`);
    expect(said.stderr).toMatch(says);
    expect(said.stderr).toContain("was not run: it is invalid");
    expect(said.code).toBe(6);
  });

  it("refuses flags for classes by name, and a dry run starts nothing", async () => {
    const flag = await grade("tables/sea.cfg.json", "--sample", "3");
    expect([flag.code, flag.stderr]).toEqual([2, expect.stringContaining("--sample works only for a class")]);
    const detach = await grade("tables/sea.cfg.json", "--detach");
    expect([detach.code, detach.stderr]).toEqual([2, expect.stringContaining("before or after all others")]);
    const before = model.requests().length;
    const dry = await grade("tables/sea.cfg.json", "--dry-run");
    expect(dry.code).toBe(0);
    expect(dry.stdout).toContain("sea: 12 runs");
    expect(model.requests()).toHaveLength(before);
  });
});
