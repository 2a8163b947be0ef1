import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Condition, Program } from "@markmill/engine";
import { describe, expect, it } from "vitest";
import { loadDefinition } from "../../load-definition.ts";
import { openWorkspace } from "../../open-workspace.ts";
import { formatWorkflow } from "./format-workflow.ts";
import { parseWorkflow } from "./parse-workflow.ts";

const folder = fileURLToPath(new URL("../../../../../tests/fixtures/codementor", import.meta.url));
const workspace = openWorkspace(folder);
const sound = globSync("**/*.wf.md", { cwd: folder })
  .filter((path) => !path.startsWith("broken/"))
  .sort();
const broken = globSync("*.wf.md", { cwd: `${folder}/broken` }).sort();

function load(path: string): Program {
  const { definition, findings } = loadDefinition(workspace, path);
  const program = definition?.programs[path];
  if (program === undefined) throw new Error(JSON.stringify(findings));
  return program;
}
const conditionOf = (program: Program, id: string): Condition | undefined => {
  const node = program.nodes[id];
  return node?.kind === "check" ? node.condition : undefined;
};

describe("valid workflows", () => {
  it("there are at least 20 of them", () => expect(sound.length).toBeGreaterThanOrEqual(20));

  it.each(sound)("%s compiles, and has only the expected warnings", (path) => {
    const expected: Record<string, string[]> = {
      "fences.wf.md": ["PROMPT_CUT"],
      "handlers.wf.md": ["HANDLER_SPELLING"],
      "recursive.wf.md": ["CALL_CYCLE"],
      "three-way.wf.md": ["CHECK_FORGEABLE", "CHECK_FORGEABLE"],
      "toolchain.wf.md": ["CHECK_FORGEABLE", "CHECK_FORGEABLE"],
    };
    const { definition, findings } = loadDefinition(workspace, path);
    expect(findings.map(({ code }) => code)).toEqual(expected[path] ?? []);
    expect(definition?.root).toBe(path);
  });

  it.each(sound)("%s gives the same program after it is formatted and parsed again", (path) => {
    const { definition } = loadDefinition(workspace, path);
    for (const [file, program] of Object.entries(definition?.programs ?? {}))
      expect(parseWorkflow(formatWorkflow(program, { file }), file, workspace).program).toEqual(program);
    expect(definition).not.toBeNull();
  });
});

describe("broken workflows", () => {
  const shelf = openWorkspace(`${folder}/broken`);
  it("there are at least 25 of them", () => expect(broken.length).toBeGreaterThanOrEqual(25));

  it.each(broken)("%s gives all its findings at their places", (path) => {
    const expected = readFileSync(`${folder}/broken/${path.replace(".wf.md", ".findings")}`, "utf8");
    const { definition, findings } = loadDefinition(shelf, path);
    const found = findings.map(({ at, severity, code }) => `${at.file}:${at.line}:${at.column} ${severity} ${code}\n`);
    expect(found.join("")).toBe(expected);
    expect(definition === null).toBe(findings.some(({ severity }) => severity === "error"));
    for (const { message, fix } of findings) {
      expect(message.length).toBeGreaterThan(10);
      expect(fix.length).toBeGreaterThan(5);
    }
  });
});

describe("fixtures compile to the expected programs", () => {
  it("the toolchain probe compiles to the drawn flow", () => {
    const program = load("toolchain.wf.md");
    expect(program).toMatchObject({
      form: 1,
      dialect: "codementor",
      name: "Toolchain probe",
      entry: ["START"],
      handlers: { success: null, failed: null },
      params: [
        { name: "COURSE_REPO", default: null },
        { name: "STUDENT", default: null },
      ],
      limits: { hits: 3, steps: 1000, depth: 20, nanodollars: null, tokens: null, characters: null, timeMs: null },
      scheduling: "eager",
      result: { take: "RESULT" },
    });
    expect(program.edges).toEqual([
      { from: "START", to: "PROMPT_ROLE", on: "ok" },
      { from: "PROMPT_ROLE", to: "CALL_PREPARE", on: "ok" },
      { from: "CALL_PREPARE", to: "PROMPT_FETCH", on: "ok" },
      { from: "PROMPT_FETCH", to: "EXECUTE_COMMANDS", on: "ok" },
      { from: "EXECUTE_COMMANDS", to: "PROMPT_JUDGE", on: "ok" },
      { from: "PROMPT_JUDGE", to: "CHECK_PASSED", on: "ok" },
      { from: "CHECK_PASSED", to: "SUCCESS", on: "ok" },
      { from: "CHECK_PASSED", to: "CHECK_REFUSED", on: "fail" },
      { from: "CHECK_REFUSED", to: "FAILED", on: "ok" },
      { from: "CHECK_REFUSED", to: "PROMPT_REPAIR", on: "fail" },
      { from: "PROMPT_REPAIR", to: "EXECUTE_COMMANDS", on: "ok" },
    ]);
    expect(program.nodes).toMatchObject({
      START: { kind: "start", label: "start" },
      PROMPT_ROLE: { kind: "prompt", text: { from: "name", name: "System" } },
      CALL_PREPARE: { kind: "call", program: "prepare.md" },
      EXECUTE_COMMANDS: { kind: "execute", command: null, nonZero: "ok", repeat: "safe" },
      SUCCESS: { kind: "end", outcome: "success" },
      FAILED: { kind: "end", outcome: "failed" },
    });
    expect(Object.keys(program.prompts)).toEqual(["System", "User Fetch", "User Judge", "User Repair"]);
    expect(program.prompts.System?.role).toBe("system");
  });

  it("every kind of bracket can contain a caption", () => {
    const program = load("shapes.wf.md");
    const values = Object.values(program.nodes).flatMap((node) => (node.kind === "set" ? [node.value] : []));
    expect(values).toEqual(Array.from({ length: 12 }, (_, index) => ({ from: "template", text: String(index + 1) })));
  });

  it("every operator is read", () => {
    const program = load("operators.wf.md");
    const ops = Array.from({ length: 30 }, (_, index) => conditionOf(program, `CHECK_${index + 1}`)?.op);
    expect(ops).toEqual([
      ...["equals", "equals", "equals", "differs", "differs", "differs", "contains", "contains", "matches", "matches"],
      ...["greater", "greater", "greater", "greaterEqual", "greaterEqual", "greaterEqual"],
      ...["less", "less", "less", "lessEqual", "lessEqual", "lessEqual"],
      ...["in", "not", "empty", "and", "equals", "equals", "and", "equals"],
    ]);
    expect(conditionOf(program, "CHECK_7")).toMatchObject({ right: { from: "literal", text: "Score: 5" } });
    expect(conditionOf(program, "CHECK_9")).toMatchObject({ right: { text: "(?m)^Total:\\s*\\d+$" } });
  });

  it("labels of every spelling mean success or failure, and dashed lines carry no flow", () => {
    const { edges, nodes } = load("labels.wf.md");
    const targets = (on: string) => edges.filter((edge) => edge.on === on).map(({ to }) => to);
    expect(targets("fail")).toEqual(["FAILED", "FAILED", "FAILED", "FAILED_D", "FAILED_E", "SUCCESS_EARLY", "FAILED"]);
    expect(targets("ok")).toEqual([
      "CHECK_A",
      "CHECK_B",
      "CHECK_C",
      "CHECK_D",
      "CHECK_E",
      "CHECK_F",
      "SUCCESS",
      "PROMPT_X",
    ]);
    expect(Object.keys(nodes)).not.toContain("NOTE");
    expect(nodes.FAILED_E).toEqual({ kind: "end", outcome: "failed", label: "not this one" });
  });

  it("front matter sets the model, limits and lenient verdicts", () => {
    const program = load("verdict-loop.wf.md");
    expect(program.settings).toEqual({ model: "house-model" });
    expect(program.limits).toMatchObject({ hits: 5, steps: 60, depth: 20, nanodollars: 250_000_000, timeMs: 600_000 });
    expect(conditionOf(program, "CHECK_PASS")).toMatchObject({ op: "equals", lenient: true });
    expect(program.handlers).toEqual({ success: "ON_SUCCESS", failed: "ON_FAILED" });
    expect(program.prompts["System Grader"]?.role).toBe("system");
  });

  it("agents have their own settings, and nodes may override them", () => {
    const program = load("agents.wf.md");
    expect(program.settings).toEqual({ model: "small", temperature: 0.2, maxOutputTokens: 800 });
    expect(program.agents).toEqual({
      Reviewer: { model: "large", temperature: 0, topP: 0.9, stop: ["END"] },
      Author: {},
    });
    expect(program.nodes.PROMPT_DRAFT).toEqual({
      kind: "prompt",
      text: { from: "name", name: "User Draft" },
      agent: "Author",
      settings: { temperature: 0.9, model: "huge" },
    });
    expect(program.nodes.PROMPT_REVIEW).toMatchObject({ settings: { stop: ["A", "B"] } });
    expect(program.prompts["Assistant Example"]?.role).toBe("assistant");
  });

  it("sandbox needs and literal commands are read", () => {
    const program = load("sandbox.wf.md");
    expect(program.sandbox).toEqual({
      image: "course/java:21",
      memoryBytes: 512 * 1024 ** 2,
      cpus: 1.5,
      pids: 128,
      diskBytes: 2 * 1024 ** 3,
      wallMs: 120_000,
      cpuMs: 90_000,
      silenceMs: 30_000,
      outputBytes: 1024 ** 2,
      languages: ["python"],
      allow: ["git *", "mvn *"],
      deny: ["curl *"],
      checkpoint: true,
    });
    expect(program.nodes.EXECUTE_BUILD).toEqual({
      kind: "execute",
      command: "mvn -q -DskipTests package > build.log 2>&1",
      nonZero: "fail",
      repeat: "safe",
    });
    expect(program.nodes.EXECUTE_TEST).toMatchObject({
      command: 'for f in a b; do\n  echo "$f: {{STUDENT}}"\ndone',
      nonZero: "ok",
      repeat: "never",
    });
  });

  it("an ASK has a question, a timeout, and an answer for the timeout", () => {
    const { nodes } = load("ask-lecturer.wf.md");
    expect(nodes.ASK_LECTURER).toEqual({
      kind: "ask",
      question: "Accept it: yes or no?",
      timeoutMs: 9_000_000,
      otherwise: "no, thanks",
    });
    expect(nodes.ASK_AGAIN).toEqual({ kind: "ask", question: "" });
  });

  it("SET, ASSIGN and PROMPT accept names, constants and files", () => {
    const { nodes, files } = load("sets.wf.md");
    const set = (id: string) => (nodes[id]?.kind === "set" ? [nodes[id].target, nodes[id].value] : []);
    expect(set("SET_2")).toEqual([
      { to: "variable", name: "SECOND" },
      { from: "name", name: "User Text" },
    ]);
    expect(set("SET_3")[1]).toEqual({ from: "name", name: "https://example.org/?a=1&b=2" });
    expect(set("SET_4")[1]).toEqual({ from: "template", text: "" });
    expect(set("SET_5")[1]).toEqual({ from: "template", text: 'it says "hi", twice' });
    expect(set("SET_6")[0]).toEqual({ to: "file", path: "report/summary.md" });
    expect(set("SET_7")[1]).toEqual({ from: "file", path: "shared/rubric.md" });
    expect(nodes.ASSIGN_3).toEqual({ kind: "assign", value: { from: "template", text: "Score: {{SECOND}}" } });
    expect(files).toEqual({ "shared/rubric.md": "- 40 points: it runs\n- 60 points: it is explained\n" });
  });

  it("an include is inserted at its position, relative to the including file", () => {
    const { prompts } = load("includes.wf.md");
    expect(prompts["User First"]?.text).toBe(
      'Write feedback.\n\nBe kind, be brief, be exact.\n\nSign as "your tutor".\n\n```text\n!INCLUDE is plain text inside a block\n# and so is this\n```',
    );
    expect(prompts["User Second"]?.text).toBe("The second prompt comes from a file of its own.");
    expect(Object.keys(prompts)).toEqual(["User First", "User Second", "User Third"]);
    const { definition } = loadDefinition(workspace, "includes.wf.md");
    expect(definition?.sources["includes.wf.md"]?.prompts["User Second"]).toEqual({
      file: "shared/prompts.md",
      line: 1,
      column: 1,
    });
    expect(definition?.files.map(({ path }) => path)).toEqual([
      "includes.wf.md",
      "shared/prompts.md",
      "shared/sign-off.md",
      "shared/tone.md",
    ]);
  });

  it("callees are found beside the caller, then below the root, at every depth", () => {
    const { definition } = loadDefinition(workspace, "calls.wf.md");
    expect(Object.keys(definition?.programs ?? {}).sort()).toEqual([
      "calls.wf.md",
      "prepare.md",
      "units/build.wf.md",
      "units/java/jar.wf.md",
      "units/style.wf.md",
    ]);
    expect(definition?.programs["units/java/jar.wf.md"]?.nodes).toMatchObject({
      CALL_ROOT: { program: "prepare.md" },
      CALL_UP: { program: "units/style.wf.md" },
    });
  });

  it("the parameters of several nodes become one list", () => {
    expect(load("params.wf.md").params).toEqual([
      { name: "REQUIRED", default: null },
      { name: "OPTIONAL", default: "" },
      { name: "PLAIN", default: "a b c" },
      { name: "URL", default: "https://example.org/x?y=1" },
      { name: "QUOTED", default: "one, two" },
      { name: "SPACED", default: "padded" },
      { name: "APOSTROPHE", default: "it's" },
      { name: "FIRST", default: "1" },
      { name: "SECOND", default: "2" },
      { name: "MAX_COST", default: "0.5" },
    ]);
  });

  it("headings inside fences, lists and quotes, and lower headings, stay in the prompt", () => {
    const { prompts, name } = load("fences.wf.md");
    expect(name).toBe("Prompts with fences");
    expect(Object.keys(prompts)).toEqual(["User Code", "User After"]);
    const text = prompts["User Code"]?.text ?? "";
    for (const part of [
      "## Not a prompt heading",
      "## User Fake",
      "# a comment, not a title",
      "# inside a list",
      "> # quoted",
    ])
      expect(text).toContain(part);
  });

  it("ids and section names may be lower case, and ids may contain digits", () => {
    const { nodes, entry, prompts } = load("lowercase.wf.md");
    expect(entry).toEqual(["Start"]);
    expect(nodes.success).toEqual({ kind: "end", outcome: "success" });
    expect(Object.keys(prompts)).toEqual(["User A1"]);
  });

  it("a workflow without a title gets the name of its file", () => {
    expect(load("untitled.wf.md").name).toBe("untitled");
  });

  it("front matter can contain text that Markdown sections cannot", () => {
    const program = load("front-matter-prompts.wf.md");
    expect(program.name).toBe("Workflow");
    expect(program.description).toBe("Two lines\nof text");
    expect(program.params).toEqual([
      { name: "WORD", default: "both ' and \" and, a comma" },
      { name: "NEEDED", default: null },
    ]);
    expect(program.prompts["User Heading"]?.text).toBe("# A heading of its own\n\n## User inside");
  });
});
