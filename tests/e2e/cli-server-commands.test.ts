// Every command, with a server that 'markmill up' started. The list comes from the command itself, and a new command needs a case here.
// Commands that end after their answer share a process.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { createClient } from "@markmill/contract";
import { parseScript, type ScriptedModel, startScriptedModel } from "@markmill/llm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { askingWorkflow, callingFiles } from "../support/api.ts";
import { gradingScript } from "../support/graded-class.ts";
import { type MarkmillPlace, makePlace, markmill, type Said, startMarkmill } from "../support/markmill-process.ts";
import { workflow } from "../support/mill.ts";
import { type ResidentMarkmill, residentMarkmill } from "../support/resident-markmill.ts";

let model: ScriptedModel;
let server: MarkmillPlace & { remove(): Promise<void> };
let place: MarkmillPlace & { remove(): Promise<void> };
let resident: ResidentMarkmill;

const work = "const total = add(1, 2);\n";
const rubric =
  "# Rubric\n\n| id | criterion | points | kind | source |\n|---|---|---|---|---|\n" +
  "| names | Names say what things are | 2 | levels: poor=0, fair=1, good=2 | llm |\n| pure | No side effects | 1 | binary | llm |\n";
const grading = workflow(
  'START --> GRADE_WORK["Grade: Judge it"] --> SUCCESS\nSUCCESS@{ shape: stadium }',
  {},
  "---\nsubmission: required\nrubric: rubric.md\ngrade: { twice: never }\n---\n",
);
const files: Readonly<Record<string, string>> = {
  ...callingFiles,
  "ask.wf.md": askingWorkflow,
  "reads.wf.md": workflow(
    '  START --> SET_T["SET: T = {{TONE}}"] --> ASSIGN_R["ASSIGN: \'{{T}}\'"] --> SUCCESS',
    {},
    "---\nparams: { TONE: plain }\n---\n",
  ),
  "script.yaml": "default: { reply: ok }\n",
  "class/class.yaml":
    "name: Sums\nworkflow: grade.wf.md\nrubric: rubric.md\nroster: roster.csv\nsubmissions: submissions\n",
  "class/grade.wf.md": grading,
  "class/rubric.md": rubric,
  "class/roster.csv": "id,name,email\nada,Ada Example,ada@example.invalid\nben,Ben Example,ben@example.invalid\n",
  "class/submissions/ada/main.js": work,
  "class/submissions/ben/main.js": work,
  "say.wf.md": workflow(
    '  PARAMS["TOPIC"]\n  START --> SET_T["SET: T = about {{TOPIC}}"] --> ASSIGN_R["ASSIGN: \'{{T}}\'"] --> SUCCESS',
  ),
  "table.cfg.json": JSON.stringify({
    workflow_files: ["say.wf.md"],
    key_values: [
      { LABEL: "one", TOPIC: "water" },
      { LABEL: "two", TOPIC: "rocks" },
    ],
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
  "human.csv": "id,names,pure\nada,2,1\nben,1,1\n",
};

function write(path: string, text: string): void {
  mkdirSync(dirname(join(place.cwd, path)), { recursive: true });
  writeFileSync(join(place.cwd, path), text);
}

beforeAll(async () => {
  resident = await residentMarkmill();
  const read = parseScript(gradingScript(), "script.yaml");
  if (!read.ok) throw new Error(JSON.stringify(read.findings));
  model = await startScriptedModel({ script: read.script, port: 0, apiKey: "test" });
  server = await makePlace({
    OPENAI_BASE_URL: model.url,
    OPENAI_API_KEY: "test",
    DEFAULT_MODEL: "gpt-5-mini",
    API_PORT: "0",
    WORKFLOW_ENV: "TONE",
    TONE: "a secret tone",
    SANDBOX: "none",
    TOOL_ALLOW: "127.0.0.1",
    API_CORS_ORIGINS: "https://portal.example.edu",
  });
  const up = await markmill(server, ["up", "--detach"]);
  const told = up.stdout + up.stderr;
  place = await makePlace({
    MARKMILL_URL: /api: (\S+)/.exec(told)?.[1] ?? told,
    MARKMILL_TOKEN: /first key.*: (mm_\S+)/.exec(told)?.[1] ?? "",
  });
  for (const [path, text] of Object.entries(files)) write(path, text);
});
afterAll(async () => {
  await resident?.close();
  if (server !== undefined) await markmill(server, ["down"]);
  await place?.remove();
  await server?.remove();
  await model?.close();
});

const ask = (...args: string[]): Promise<Said> => resident.say(place, args);

/** The command worked as without a server. */
async function works(...args: string[]): Promise<Said> {
  const said = await ask(...args);
  expect(said.code, `markmill ${args.join(" ")}\n${said.stdout}${said.stderr}`).toBe(0);
  expect(said.stderr, args.join(" ")).not.toMatch(/NOT_OVER_HTTP|embedded|Postgres/);
  return said;
}

/** The command reports that it works on this machine only. */
async function isHere(args: readonly string[], code: number): Promise<Said> {
  const said = await ask(...args);
  expect(said.stderr, args.join(" ")).toContain(`'${args[0]}' acts on this machine`);
  expect(said.code, said.stderr).toBe(code);
  return said;
}

/** A command that keeps running is started without its requirements: it prints the note and ends. */
async function isHereAndStays(name: string): Promise<void> {
  const started = startMarkmill({ ...place, env: { ...place.env, DATABASE_URL: "postgresql://127.0.0.1:1/x" } }, [
    name,
  ]);
  await started.says("stderr", new RegExp(`'${name}' acts on this machine`));
  started.child.kill("SIGKILL");
  await started.ended;
}

const runIdIn = (text: string) => /^run: (\S+)$/m.exec(text)?.[1] ?? "";
const start = async () => (await works("run", "ask.wf.md", "--detach")).stdout.trim();

/** In the order of the tests. */
const cases: Readonly<Record<string, () => Promise<unknown>>> = {
  async run() {
    const ran = await works("run", "main.wf.md", "--label", "team=red");
    expect(ran.stdout).toBe("done\n");
    for (const flags of [
      ["--script", "script.yaml"],
      ["--sandbox", "jail"],
    ]) {
      const refused = await ask("run", "main.wf.md", ...flags);
      expect(refused.code).toBe(2);
      expect(refused.stderr).toMatch(
        new RegExp(`${flags[0]} cannot be used with the server.*its operator chooses the models`),
      );
      expect(refused.stderr).toContain("unset MARKMILL_URL");
    }
    const given = await works("run", "main.wf.md", "--submission", "class/submissions/ada", "--detach", "--json");
    expect(JSON.parse(given.stdout)).toMatchObject({ id: expect.any(String) });
  },
  async status() {
    expect((await works("status")).stdout).toContain("success");
    const last = async () => JSON.parse((await works("status", "last", "--json")).stdout) as { status: string };
    // The run was started with --detach.
    await expect.poll(async () => (await last()).status).toBe("success");
    await works("status", "--batches");
  },
  watch: async () => expect((await works("watch", "last")).stdout).toBe("done\n"),
  logs: async () => expect((await works("logs", "last")).stdout).toContain("SET_C"),
  async answer() {
    const id = await start();
    await expect.poll(async () => (await ask("answer", id)).stdout).toContain("ASK_B");
    await works("answer", id, "carry", "on");
    expect((await works("watch", id)).stderr).toContain("success");
  },
  async cancel() {
    const id = await start();
    await works("cancel", id, "--reason", "enough");
    expect(JSON.parse((await works("status", id, "--json")).stdout)).toMatchObject({ status: "cancelled" });
  },
  async stop() {
    const id = await start();
    await works("stop", id);
    expect(JSON.parse((await works("status", id, "--json")).stdout)).toMatchObject({ status: "stopped" });
  },
  async resume() {
    const id = await start();
    await works("stop", id);
    const resumed = startMarkmill(place, ["resume", id]);
    await resumed.says("stderr", /What now\?/);
    await works("answer", id, "go");
    expect((await resumed.ended).code).toBe(0);
  },
  async retry() {
    const { stderr } = await works("run", "main.wf.md");
    expect((await works("retry", runIdIn(stderr), "--from", "SET_C")).stdout).toBe("done\n");
  },
  async history() {
    await works("run", "main.wf.md");
    expect((await works("history", "last")).stdout).toContain("CALL_B");
    const { items: runs } = JSON.parse((await works("history", "last", "--json")).stdout) as { items: unknown[] };
    expect(runs).toHaveLength(2);
    expect((await works("history", "last", "--out", "written")).stdout).toContain(".wfh.md");
  },
  async memory() {
    await works("run", "remembers.json");
    expect((await works("memory")).stdout).toMatch(/^course-2026 {2}1 passages/);
    expect((await works("memory", "course-2026")).stdout).toBe("A tide rises twice a day, and falls twice.\n");
    expect(JSON.parse((await works("memory", "course-2026", "--json")).stdout)).toMatchObject({
      items: [{ runId: expect.any(String) }],
    });
    await works("memory", "course-2026", "--delete");
    expect(await ask("memory", "course-2026", "--delete")).toMatchObject({ code: 1 });
    expect((await works("memory")).stdout).toBe("");
  },
  async replay() {
    const { stderr } = await works("run", "reads.wf.md");
    const id = runIdIn(stderr);
    const told = await works("replay", id);
    expect(told.stdout).toMatch(new RegExp(`^identical: ${id} .* \\(\\d+ events\\)`));
    const two = JSON.parse(
      (await works("replay", runIdIn((await works("run", "main.wf.md")).stderr), "--json")).stdout,
    );
    expect(two).toMatchObject({ identical: true, items: [{ differences: [] }, { differences: [] }] });
  },
  async estimate() {
    const said = await works("estimate", "class");
    // The model and its price are the server's.
    expect(said.stdout).toMatch(/model: gpt-5-mini[\s\S]*price: \$/);
  },
  async grade() {
    const preview = await works("grade", "class", "--dry-run");
    expect(preview.stderr).toContain("nothing was started");
    const graded = await works("grade", "class", "--json");
    expect(totals(graded)).toEqual({ ada: 3, ben: 3 });
    // Each row of a table starts with its own definition.
    const { rows } = JSON.parse((await works("grade", "table.cfg.json", "--json")).stdout) as {
      rows: { label: string; status: string; variables: object }[];
    };
    expect(rows).toMatchObject([
      { label: "one", variables: { TOPIC: "water" } },
      { label: "two", variables: { TOPIC: "rocks" } },
    ]);
    const [first, second] = rows as unknown as { resultFile: string }[];
    expect(
      [first, second].map((row) =>
        readFileSync(join(place.cwd, "table-results", row?.resultFile ?? ""), "utf8").trim(),
      ),
    ).toEqual(["about water", "about rocks"]);
    for (const flags of [
      ["--script", "script.yaml"],
      ["--sandbox", "jail"],
    ]) {
      const refused = await ask("grade", "class", ...flags);
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot be used with the server") });
    }
  },
  async review() {
    await works("review", "class", "--list");
    await works("review", "class", "--student", "ada", "--accept", "--try", "1");
  },
  async override() {
    const said = ["--student", "ben", "--criterion", "pure", "--points", "0", "--reason", "seen by hand"];
    await works("override", "--batch", "class", ...said);
    expect(totals(await works("status", "class", "--json"))).toEqual({ ada: 3, ben: 2 });
  },
  async regrade() {
    expect((await works("regrade", "class", "--where", "student=ada")).stderr).toContain("nothing was started");
    expect((await works("regrade", "class", "--where", "student=ada", "--yes")).stderr).toMatch(
      /0 changed, 1 unchanged/,
    );
    const refused = await ask("retry", await aRunOfTheClass());
    expect(refused.stderr, "a run of a class is not taken up by itself").toContain("RUN_OF_CLASS");
    expect(refused.code).toBe(1);
  },
  agree: async () => expect((await works("agree", "class", "--human", "human.csv")).stdout).toContain("names"),
  async release() {
    await works("release", "class");
    await works("release", "class", "--withdraw", "--where", "student=ada", "--reason", "second look");
  },
  async export() {
    const said = await ask("export", "class", "--to", "csv", "--out", "out");
    expect(said, "a withdrawn grade is left out and named").toMatchObject({
      code: 3,
      stderr: expect.stringContaining("Ada Example: not released"),
    });
    expect(readFileSync(said.stdout.trim(), "utf8")).toMatch(/ben,.*,graded,2,/);
  },
  report: async () => works("report", "class", "--out", "papers"),
  async pause() {
    await works("pause", "class");
    expect((await works("status", "class")).stderr).toContain("paused");
    await works("resume", "class");
  },
  validate: async () => works("validate", "main.wf.md"),
  show: async () => expect((await works("show", "main.wf.md", "--steps")).stdout).toContain("SET_C"),
  explain: async () => works("explain", "RUN_OF_CLASS"),
  async "mock-model"() {
    const serving = startMarkmill(place, ["mock-model", "script.yaml", "--port", "0"]);
    await expect.poll(() => serving.stdout() + serving.stderr()).toMatch(/http:\/\/127\.0\.0\.1:\d+/);
    serving.child.kill("SIGTERM");
    await serving.ended;
  },
  // Other tests cover the probes of the self-test.
  sandbox: async () => isHere(["sandbox", "self-test", "--sandbox", "none"], 2),
  async doctor() {
    const said = await works("doctor");
    // The server's worker has no sandbox.
    expect(said.stdout).toMatch(/ok {4}server .*database ok, queue ok, workers ok, sandbox SANDBOX_NOT_CONFIGURED/);
    expect(said.stdout).toMatch(/warn {2}sandbox .*no worker can execute commands/);
    expect(said.stdout).toMatch(/ok {4}key .*owner, ops/);
    const wrong = await resident.say({ ...place, env: { ...place.env, MARKMILL_TOKEN: "mm_no" } }, [
      "doctor",
      "--json",
    ]);
    expect(wrong.code).toBe(1);
    expect(JSON.parse(wrong.stdout)).toMatchObject({ ok: false });
    expect(wrong.stdout).not.toContain("mm_no");
  },
  init: async () => works("init", "course"),
  trust: async () => works("trust", "--list"),
  async up() {
    // The address of the server, if it is up.
    const env = { ...server.env, MARKMILL_URL: place.env.MARKMILL_URL ?? "" };
    const said = await resident.say({ ...server, env }, ["up"]);
    expect(said.stderr).toMatch(/'up' acts on this machine[\s\S]*the stack is already up/);
  },
  down: async () => expect((await isHere(["down"], 0)).stderr).toContain("the stack was not running"),
  api: () => isHereAndStays("api"),
  worker: () => isHereAndStays("worker"),
  supervisor: () => isHereAndStays("supervisor"),
  migrate: async () => expect((await isHere(["migrate"], 0)).stderr).toContain("up to date"),
};

function totals({ stdout }: Said): Record<string, number | null> {
  const { students } = JSON.parse(stdout) as { students: { student: { key: string }; total: number | null }[] };
  return Object.fromEntries(students.map(({ student, total }) => [student.key, total]));
}

async function aRunOfTheClass(): Promise<string> {
  const { stdout } = await works("status", "--json", "--limit", "100");
  const { items } = JSON.parse(stdout) as { items: { id: string; labels: Record<string, string> }[] };
  return items.find(({ labels }) => labels.batch !== undefined)?.id ?? "";
}

describe("commands with a server", () => {
  it("every command has a case in this test", async () => {
    const { stdout } = await ask("--help");
    const list = stdout.slice(stdout.indexOf("Usage:"), stdout.indexOf("Examples:"));
    const names = [...list.matchAll(/^ {2}([a-z-]+) {2,}\S/gm)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(30);
    expect(Object.keys(cases).sort()).toEqual(names.sort());
  });

  it.each(Object.keys(cases))("%s works, or reports that it works on this machine only", async (name) => {
    await cases[name]?.();
  });

  it("the server's supervisor sends webhooks, to addresses of TOOL_ALLOW", async () => {
    const { MARKMILL_URL: url = "", MARKMILL_TOKEN: token = "" } = place.env;
    const client = createClient({ url, token });
    const received = Promise.withResolvers<unknown>();
    const receiver = createServer((request, response) => {
      received.resolve(request.headers["webhook-signature"]);
      response.end();
    });
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    try {
      const address = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
      const { id } = await client.createWebhook({ body: { url: address, events: ["run.ended"] } });
      await client.testWebhook({ params: { id } });
      expect(await received.promise).toMatch(/^v1,/);
      const settled = async () => (await client.listDeliveries({ params: { id } })).items[0]?.state;
      await expect.poll(settled).toBe("delivered");
      await client.deleteWebhook({ params: { id } });
    } finally {
      receiver.closeAllConnections();
      await new Promise((resolve) => receiver.close(resolve));
    }
  });

  it("the server allows pages of API_CORS_ORIGINS to call it", async () => {
    const origin = "https://portal.example.edu";
    const response = await fetch(`${place.env.MARKMILL_URL}/health/live`, { headers: { origin } });
    await response.body?.cancel();
    expect(response.headers.get("access-control-allow-origin")).toBe(origin);
  });

  it("withdrawn submissions stop counting, as without a server", async () => {
    rmSync(join(place.cwd, "class/submissions/ben"), { recursive: true });
    write("class/submissions/ada/main.js", `${work}// again\n`);
    const graded = await ask("grade", "class", "--json");
    expect(graded.stderr).toContain("1 changed, to be graded again, 1 withdrawn and excluded");
    const { students } = JSON.parse(graded.stdout) as { students: { student: { key: string }; status: string }[] };
    expect(students.map(({ student, status }) => [student.key, status])).toEqual([
      ["ada", "graded"],
      ["ben", "nothing handed in"],
    ]);
    write("class/submissions/ben/main.js", work);
    const back = await ask("grade", "class", "--json");
    expect(totals(back)).toEqual({ ada: 3, ben: 2 });
  });
});
