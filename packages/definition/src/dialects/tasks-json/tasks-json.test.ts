import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { loadDefinition } from "../../load-definition.ts";
import { drawProgram, formatProgram } from "../../write-program.ts";

type Workflow = Record<string, unknown> & { tasks: Record<string, unknown>[]; steps: Record<string, unknown>[] };

const generation = { id: "A", operator: "generation", prompt: "Say {what}", inputs: [], outputs: [] };
const ended = { source: "A", target: "__end" };
const base = (): Workflow => ({
  config: { max_steps: 5, max_time: 10 },
  tasks: [
    { ...generation, inputs: [{ name: "what", value: { type: "string", key: "x" }, required: true }] },
    { id: "__end", operator: "end", prompt: "", inputs: [], outputs: [] },
  ],
  steps: [ended],
});

function loadText(text: string | Uint8Array, path = "a.json") {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  return loadDefinition({ read: (asked) => (asked === path ? bytes : undefined) }, path);
}
const load = (workflow: unknown) => loadText(JSON.stringify(workflow, null, 2));
const codes = (workflow: unknown) => load(workflow).findings.map(({ severity, code }) => `${severity} ${code}`);
/** The base workflow with one change. */
function changed(change: (workflow: Workflow) => void): Workflow {
  const workflow = base();
  change(workflow);
  return workflow;
}
const first = (workflow: Workflow) => workflow.tasks[0] as Record<string, unknown>;
const programOf = (workflow: unknown) => {
  const { definition, findings } = load(workflow);
  if (definition === null) throw new Error(JSON.stringify(findings));
  return definition.programs["a.json"];
};

describe("a file of tasks", () => {
  it("loads without findings", () => {
    const { definition, findings } = load(base());
    expect(findings).toEqual([]);
    expect(definition).toMatchObject({ dialect: "tasks", root: "a.json" });
  });

  it("is recognised by its content under any name, and by its name with any content", () => {
    expect(loadText(JSON.stringify(base()), "workflow").definition?.dialect).toBe("tasks");
    expect(loadText("{}", "a.json").findings.map(({ code }) => code)).toEqual(Array(3).fill("FIELD_MISSING"));
    expect(loadText("not JSON", "a.json").findings).toMatchObject([{ code: "JSON_SYNTAX" }]);
  });

  it("may mix both revisions, which have the same meaning", () => {
    const older = changed((workflow) => {
      first(workflow).name = "Say";
      first(workflow).description = "says";
    });
    const newer = changed((workflow) => {
      const { prompt: _, ...task } = first(older);
      workflow.tasks[0] = { ...task, messages: [{ role: "user", content: "Say {what}" }] };
      workflow.tasks[1] = { ...workflow.tasks[1], prompt: undefined, messages: [] };
    });
    const [s, h] = [programOf(older), programOf(newer)];
    expect([s?.revision, h?.revision]).toEqual(["S", "H"]);
    expect({ ...s, revision: "" }).toEqual({ ...h, revision: "" });
  });

  it("reports all mistakes at once, each at its place and with a suggestion", () => {
    const text = `{
  "config": { "max_step": 5, "max_time": "10" },
  "tasks": [
    { "id": "A", "operator": "generaton", "prompt": 7, "inputs": [], "outputs": [] }
  ],
  "steps": [{ "source": "B", "target": "__end" }]
}`;
    expect(
      loadText(text).findings.map(({ severity, code, at, fix }) => [severity, code, `${at.line}:${at.column}`, fix]),
    ).toEqual([
      ["error", "FIELD_MISSING", "2:13", 'Add "max_steps": 10, how many tasks a run may do.'],
      ["warning", "FIELD_UNKNOWN", "2:15", "Did you mean max_steps? Correct its name, or remove it."],
      ["error", "FIELD_TYPE", "2:42", "Write a number."],
      ["warning", "TASK_UNUSED", "4:5", "Add a step, or remove the task."],
      ["error", "FIELD_VALUE", "4:30", expect.stringContaining("Did you mean generation?")],
      ["error", "FIELD_TYPE", "4:53", 'Write "7" in quotes.'],
      ["error", "TASK_MISSING", "6:25", "Correct the source, or add the task."],
    ]);
  });
});

describe("a broken file of tasks", () => {
  const condition = { input: { type: "size", key: "q" }, expected: "2", expression: "GreaterThan", target_if_not: "A" };
  it.each<[string, string, (workflow: Workflow) => void]>([
    ["two tasks of one id", "error TASK_TWICE", ({ tasks }) => tasks.push({ ...generation, prompt: "x" })],
    ["two steps of one source", "error STEP_DEAD", ({ steps }) => steps.push({ ...ended })],
    ["a step from nowhere", "error TASK_MISSING", ({ steps }) => steps.push({ source: "X", target: "A" })],
    ["a step from the end", "warning STEP_DEAD", ({ steps }) => steps.push({ source: "__end", target: "A" })],
    [
      "a target that is no task",
      "warning TASK_MISSING",
      (workflow) => (workflow.steps = [{ ...ended, target: "__ned" }]),
    ],
    [
      "a target without a step",
      "warning TASK_WITHOUT_STEP",
      (workflow) => {
        workflow.tasks.push({ ...generation, id: "B", prompt: "x" });
        workflow.steps = [{ ...ended, target: "B" }];
      },
    ],
    [
      "a task that nothing names",
      "warning TASK_UNUSED",
      ({ tasks }) => tasks.push({ ...generation, id: "B", prompt: "" }),
    ],
    ["no steps", "error FIELD_VALUE", (workflow) => (workflow.steps = [])],
    ["an unknown operator", "error FIELD_VALUE", (workflow) => (first(workflow).operator = "generate")],
    ["no id", "error FIELD_MISSING", (workflow) => delete first(workflow).id],
    ["an empty id", "error NAME_RESERVED", (workflow) => (first(workflow).id = " ")],
    [
      "an id that objects have",
      "error NAME_RESERVED",
      ({ tasks }) => tasks.push(JSON.parse('{"id":"__proto__","operator":"end"}')),
    ],
    ["a number as a prompt", "error FIELD_TYPE", (workflow) => (first(workflow).prompt = 3)],
    ["no prompt", "error FIELD_MISSING", (workflow) => delete first(workflow).prompt],
    ["both forms of a prompt", "error FIELD_TWICE", (workflow) => (first(workflow).messages = [])],
    [
      "an unknown role",
      "error FIELD_VALUE",
      (workflow) => Object.assign(first(workflow), { prompt: undefined, messages: [{ role: "boss", content: "x" }] }),
    ],
    [
      "an unknown input type",
      "error FIELD_VALUE",
      (workflow) => (first(workflow).inputs = [{ name: "what", value: { type: "raed", key: "x" }, required: true }]),
    ],
    [
      "an input that does not say whether it is required",
      "error FIELD_MISSING",
      (workflow) => (first(workflow).inputs = [{ name: "what", value: { type: "read", key: "x" } }]),
    ],
    [
      "a negative position",
      "error FIELD_VALUE",
      (workflow) =>
        (first(workflow).inputs = [{ name: "what", value: { type: "peek", key: "x", index: -1 }, required: true }]),
    ],
    [
      "two inputs of one name",
      "error INPUT_TWICE",
      (workflow) => (first(workflow).inputs as object[]).push(...(first(base()).inputs as object[])),
    ],
    ["a place without an input", "warning PLACEHOLDER_UNDECLARED", (workflow) => (first(workflow).inputs = [])],
    [
      "an output without a key",
      "error FIELD_MISSING",
      (workflow) => (first(workflow).outputs = [{ type: "push", value: "__result" }]),
    ],
    [
      "an output of a number",
      "error FIELD_TYPE",
      (workflow) => (first(workflow).outputs = [{ type: "push", key: "a", value: 1 }]),
    ],
    ["a check without its inputs", "error CHECK_INPUTS", (workflow) => (first(workflow).operator = "check")],
    [
      "a function call without tools",
      "error TOOLS_MISSING",
      (workflow) => (first(workflow).operator = "function_calling"),
    ],
    [
      "an unknown tool",
      "error TOOL_NAME_UNKNOWN",
      ({ config }) => Object.assign(config as object, { tools: ["serpr"] }),
    ],
    [
      "ALL beside others",
      "error TOOL_NAME_UNKNOWN",
      ({ config }) => Object.assign(config as object, { tools: ["ALL", "jina"] }),
    ],
    ["a schema that is not a schema", "error SCHEMA_INVALID", (workflow) => (first(workflow).schema = "?")],
    ["a schema that refers to itself", "error SCHEMA_INVALID", (workflow) => (first(workflow).schema = { $ref: "#" })],
    [
      "a schema that refers in a circle",
      "error SCHEMA_INVALID",
      (workflow) =>
        (first(workflow).schema = { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } }),
    ],
    [
      "a schema that refers elsewhere",
      "error SCHEMA_INVALID",
      (workflow) => (first(workflow).schema = { $ref: "https://example.org/schema" }),
    ],
    [
      "a number of steps that is none",
      "error FIELD_VALUE",
      ({ config }) => Object.assign(config as object, { max_steps: 0 }),
    ],
    ["a fraction of a step", "error FIELD_VALUE", ({ config }) => Object.assign(config as object, { max_steps: 1.5 })],
    [
      "an expected number",
      "error FIELD_TYPE",
      (workflow) => (workflow.steps = [{ ...ended, condition: { ...condition, expected: 2 } }]),
    ],
    [
      "an expected word where numbers are compared",
      "warning CONDITION_NEVER_DECIDED",
      (workflow) => (workflow.steps = [{ ...ended, condition: { ...condition, expected: "two" } }]),
    ],
    [
      "a condition without an else",
      "error FIELD_MISSING",
      (workflow) => (workflow.steps = [{ ...ended, condition: { ...condition, target_if_not: undefined } }]),
    ],
    [
      "a return value that searches",
      "error INPUT_MISPLACED",
      (workflow) => (workflow.return_value = { input: { type: "search", key: "x" } }),
    ],
    [
      "a loop that nothing leaves",
      "warning LOOP_WITHOUT_EXIT",
      (workflow) => (workflow.steps = [{ source: "A", target: "A" }]),
    ],
    ["memory that is a number", "error FIELD_TYPE", (workflow) => (workflow.external_memory = { a: 1 })],
    ["memory that is null", "error FIELD_TYPE", (workflow) => (workflow.external_memory = { a: null })],
    ["memory that is a list of lists", "error FIELD_TYPE", (workflow) => (workflow.external_memory = { a: [["b"]] })],
    [
      "a rule without its operand",
      "warning POST_PROCESS_INCOMPLETE",
      (workflow) =>
        (workflow.return_value = { input: { type: "input" }, post_process: [{ process_type: "replace", lhs: "a" }] }),
    ],
    ["a NUL in a text", "error TEXT_UNSTORABLE", (workflow) => (first(workflow).prompt = "a\0b {what}")],
    ["half of a pair in a text", "error TEXT_UNSTORABLE", (workflow) => (first(workflow).prompt = "a\ud800b {what}")],
    ["half of a pair in a key", "error TEXT_UNSTORABLE", (workflow) => (workflow.external_memory = { "\udc00": "x" })],
  ])("with %s gives %s", (_title, expected, change) => {
    const found = codes(changed(change));
    expect(found).toContain(expected);
    if (expected.startsWith("warning")) expect(found.filter((code) => code.startsWith("error"))).toEqual([]);
  });

  it("with a duplicate field reports the second one", () => {
    const text = JSON.stringify(base()).replace('"max_time":10', '"max_time":10,"max_time":20');
    expect(loadText(text).findings).toMatchObject([
      { code: "JSON_KEY_TWICE", at: { column: text.lastIndexOf('"max_time"') + 1 } },
    ]);
  });

  it("in strict mode reports lost fields and missing targets as errors", () => {
    const doubtful = changed((workflow) => {
      workflow.author = "x";
      workflow.steps = [{ ...ended, target: "nowhere" }];
    });
    expect(codes(doubtful)).toEqual(["warning TASK_MISSING", "warning FIELD_UNKNOWN"]);
    Object.assign(doubtful.config as object, { strict: true });
    expect(codes(doubtful)).toEqual(["error TASK_MISSING", "error FIELD_UNKNOWN"]);
  });

  it("with 50 MB, with deep JSON or with a million values is refused", () => {
    expect(loadText(new Uint8Array(50 * 1024 * 1024).fill(0x20)).findings).toMatchObject([{ code: "FILE_TOO_LARGE" }]);
    expect(loadText("[".repeat(1_000_000)).findings).toMatchObject([{ code: "JSON_TOO_DEEP" }]);
    expect(loadText(`{"a":[${"0,".repeat(2_000_000)}0]}`).findings).toMatchObject([{ code: "JSON_TOO_MANY" }]);
  });

  it("with names of a megabyte gets short messages", () => {
    const long = "x".repeat(1_000_000);
    const { findings } = load(
      changed((workflow) => {
        Object.assign(workflow, {
          [long]: 1,
          external_memory: { [long]: "y" },
          steps: [{ source: "A", target: long }],
        });
        workflow.tasks.push({ ...generation, id: long });
      }),
    );
    expect(findings.length).toBeGreaterThan(3);
    for (const { message, fix } of findings) expect(message.length + fix.length).toBeLessThan(500);
  });

  it("with 10,000 tasks is compiled, and 10,000 mistakes are all reported", () => {
    const ids = Array.from({ length: 10_000 }, (_, index) => `task ${index}`);
    const workflow = {
      config: { max_steps: 20_000, max_time: 10 },
      tasks: ids.map((id) => ({ ...generation, id, prompt: "x" })),
      steps: ids.map((source, index) => ({ source, target: ids[index + 1] ?? "__end" })),
    };
    expect(load(workflow)).toMatchObject({ findings: [] });
    const wrong = { ...workflow, tasks: workflow.tasks.map((task) => ({ ...task, operator: "generaton" })) };
    expect(load(wrong).findings.filter(({ code }) => code === "FIELD_VALUE")).toHaveLength(10_000);
  });
});

describe("the program of a file of tasks", () => {
  it("an entry of the cache never becomes a setting, RESULT or another entry", () => {
    const keys = ["RESULT", "STATUS", "AI_MODEL_NAME", "MAX_STEPS", "cache.RESULT", "plain"];
    const program = programOf(
      changed((workflow) => (workflow.external_memory = Object.fromEntries(keys.map((key) => [key, "x"])))),
    );
    const names = program?.params.map(({ name }) => name) ?? [];
    expect(names).toEqual([
      "cache.RESULT",
      "cache.STATUS",
      "cache.AI_MODEL_NAME",
      "cache.MAX_STEPS",
      "cache.cache.RESULT",
      "plain",
    ]);
  });

  it("an object in memory keeps its order and its digits", () => {
    const text = JSON.stringify(base()).replace(
      '"tasks"',
      '"external_memory":{"o":{"b":1.50,"a":12345678901234567890}},"tasks"',
    );
    const { definition } = loadText(text);
    expect(definition?.programs["a.json"]?.params).toEqual([
      { name: "o", default: '{"b":1.50,"a":12345678901234567890}' },
    ]);
  });

  it("_end and end are ends, unless a task of that name has a step", () => {
    for (const target of ["__end", "_end", "end"]) {
      expect(programOf(changed((workflow) => (workflow.steps = [{ ...ended, target }])))?.edges).toEqual([
        { from: "A", to: "__end", on: "ok" },
      ]);
    }
    const program = programOf(
      changed((workflow) => {
        workflow.tasks.push({ ...generation, id: "end", prompt: "x" });
        workflow.steps = [
          { ...ended, target: "end" },
          { source: "end", target: "__end" },
        ];
      }),
    );
    expect(program?.nodes.end?.kind).toBe("prompt");
  });

  it("{{name}} means {name}, and with keep_braces keeps one pair of braces", () => {
    const text = (keep: boolean) =>
      programOf(
        changed((workflow) => {
          first(workflow).prompt = `a {{what}} {{{what}}} {nobody} ${"$"}{what}`;
          Object.assign(workflow.config as object, { keep_braces: keep });
        }),
      )?.nodes.A;
    const said = (parts: string[]) => ({
      text: {
        of: parts.map((part) => (part === "what" ? { from: "read", name: part } : { from: "literal", text: part })),
      },
    });
    expect(text(false)).toMatchObject(said(["a ", "what", " {", "what", "} {nobody} $", "what"]));
    expect(text(true)).toMatchObject(said(["a {", "what", "} {{", "what", "}} {nobody} $", "what"]));
  });

  it("tools keep secrets by name, require all arguments, and refuse an invalid address", () => {
    const tool = {
      name: "Water Gauge",
      description: "reads",
      mode: "http_request",
      method: "get",
      url: "https://example.org/{place}",
      headers: { Authorization: { secret: "GAUGE", before: "Bearer " } },
      body: { unit: "" },
    };
    const file = (custom: object) =>
      changed((workflow) => {
        Object.assign(workflow.config as object, { custom_tools: [custom] });
        first(workflow).operator = "function_calling";
      });
    expect(programOf(file(tool))).toMatchObject({
      tools: {
        water_gauge: {
          kind: "http",
          method: "GET",
          url: "https://example.org/{place}",
          repeat: "safe",
          headers: { Authorization: { secret: "GAUGE", before: "Bearer " } },
          schema: { required: ["unit", "place"], additionalProperties: false },
        },
      },
      nodes: { A: { tools: ["water_gauge"], toolUse: "outputs" } },
    });
    expect(codes(file({ ...tool, url: "file:///etc/passwd" }))).toContain("error FIELD_VALUE");
    expect(codes(file({ ...tool, method: "TRACE" }))).toContain("error FIELD_VALUE");
    expect(codes(file({ ...tool, headers: { "X-A": "b\r\nc" } }))).toContain("error FIELD_TYPE");
    expect(codes(file({ ...tool, mode: "custom", parameters: { type: "object" } }))).toContain("error TOOLS_MISSING");
  });
});

it.each(["Contains", "HaveSimilar"])("a condition that searches, with %s, is formatted unchanged", (expression) => {
  const input = { type: "search", key: "", search_query: { type: "pop", key: "words" } };
  const asked = { input, expression, expected: "0.5", target_if_not: "A" };
  const program = programOf(changed((workflow) => (workflow.steps = [{ ...ended, condition: asked }])));
  if (program === undefined) throw new Error("no program");
  expect(Object.keys(program.nodes)).toContain("A/search condition");
  expect(loadText(formatProgram(program)).definition?.programs["a.json"]).toEqual(program);
});

describe("the fixtures of tasks", () => {
  const folder = new URL("../../../../../tests/fixtures/tasks-json/", import.meta.url);
  it.each(readdirSync(folder))(
    "%s loads without findings, can be drawn, and gives the same program when it is formatted again",
    (name) => {
      const text = readFileSync(new URL(name, folder), "utf8");
      const { definition, findings } = loadText(text);
      expect(findings).toEqual([]);
      const program = definition?.programs["a.json"];
      if (program === undefined) throw new Error("no program");
      expect(loadText(formatProgram(program)).definition?.programs["a.json"]).toEqual(program);
      const { lines, names } = drawProgram(program) ?? { lines: [] };
      expect(lines[0]).toBe("flowchart TD");
      for (const id of Object.keys(program.nodes)) expect(lines.join("\n")).toContain(`    ${names?.get(id)}`);
    },
  );
});
