import { describe, expect, it } from "vitest";
import { checkStart, type Start } from "./check-start.ts";
import { parseWorkflow } from "./dialects/codementor/parse-workflow.ts";
import { loadDefinition } from "./load-definition.ts";
import { settleFindings } from "./settle-findings.ts";
import { formatProgram } from "./write-program.ts";

const chart = (body: string, front = "") =>
  `${front === "" ? "" : `---\n${front}\n---\n`}# T\n\n# Workflow\n\n\`\`\`mermaid\nflowchart TD\n${body}\n\`\`\`\n`;

function load(files: Readonly<Record<string, string>>) {
  return loadDefinition(
    { read: (path) => (Object.hasOwn(files, path) ? new TextEncoder().encode(files[path]) : undefined) },
    "a.md",
  );
}

function problems(files: Readonly<Record<string, string>> | string, start: Partial<Start> = {}) {
  const { definition, findings } = load(typeof files === "string" ? { "a.md": files } : files);
  if (definition === null) throw new Error(JSON.stringify(findings));
  return checkStart(definition, { variables: {}, submission: null, ...start });
}
const told = (...args: Parameters<typeof problems>) =>
  problems(...args).map(({ severity, code }) => `${severity} ${code}`);

describe("parameters of a run", () => {
  const greet = chart('PARAMS["NAME, STYLE=kind"]\n    START --> ASSIGN_A["Assign: \'{{NAME}} {{STYLE}}\'"]');

  it("a missing required parameter stops the run", () => {
    expect(told(greet)).toEqual(["error PARAM_MISSING"]);
    expect(told(greet, { variables: { NAME: "" } })).toEqual([]);
    expect(told(greet, { environment: ["NAME"] })).toEqual([]);
  });

  it("an undeclared parameter stops the run, with a suggestion", () => {
    expect(problems(greet, { variables: { NAME: "x", STYL: "y" } })).toMatchObject([
      { severity: "error", code: "PARAM_UNKNOWN", fix: "Did you mean STYLE?" },
    ]);
    expect(problems(greet, { variables: { NAEM: "x" } }).map(({ fix }) => fix)).toEqual([
      "Did you mean NAME by NAEM? Pass the parameter: NAME=VALUE.",
      "Did you mean NAME?",
    ]);
  });

  it.each(["CONTENT", "STATUS", "EXIT_CODE"])("a given %s stops the run, because the run writes it itself", (name) => {
    expect(told(greet, { variables: { NAME: "x", [name]: "0" } })).toEqual(["error PARAM_UNKNOWN"]);
  });

  it("an input that no task reads is a warning, and in a flowchart an error", () => {
    const tasks = (prompt: string) =>
      JSON.stringify({
        config: { max_steps: 5, max_time: 50 },
        external_memory: {},
        return_value: { input: { type: "read", key: "a" } },
        tasks: [
          {
            id: "A",
            name: "a",
            description: "",
            prompt,
            inputs: [],
            operator: "generation",
            outputs: [{ type: "write", key: "a", value: "__result" }],
          },
          { id: "_end", name: "end", description: "", prompt: "end", inputs: [], operator: "end", outputs: [] },
        ],
        steps: [{ source: "A", target: "_end" }],
      });
    expect(told({ "a.md": tasks("Hello") }, { variables: { __input: "x" } })).toEqual(["warning INPUT_UNUSED"]);
    expect(told(chart("START --> SUCCESS"), { variables: { __input: "x" } })).toEqual(["error PARAM_UNKNOWN"]);
  });

  it("settings are known by name, and so are their misspellings", () => {
    expect(told(greet, { variables: { NAME: "x", AI_MODEL_NAME: "m", MAX_STEPS: "3", RESULT: "r" } })).toEqual([]);
    expect(problems(greet, { variables: { NAME: "x", MAX_STEP: "3", AI_TEMPRATURE: "1" } })).toMatchObject([
      { code: "PARAM_UNKNOWN", fix: "Did you mean MAX_STEPS?" },
      { code: "PARAM_UNKNOWN", fix: "Did you mean AI_TEMPERATURE?" },
    ]);
  });

  it("called workflows count: their declared and used names are known, and their callers provide the required ones", () => {
    const files = {
      "a.md": chart("START --> CALL_B[[b.md]]"),
      "b.md": chart('PARAMS["POINTS"]\n    START --> CHECK_A{"LEVEL == high"}'),
    };
    expect(told(files, { variables: { POINTS: "3", LEVEL: "high" } })).toEqual([]);
    expect(told(files)).toEqual([]);
    expect(told(files, { variables: { POINT: "3" } })).toEqual(["error PARAM_UNKNOWN"]);
  });
});

describe("a submission", () => {
  const execute = 'START --> EXECUTE_A["Execute: make"]';

  it("must be given if any of the workflows requires it", () => {
    expect(told(chart(execute, "submission: required"))).toEqual(["error SUBMISSION_REQUIRED"]);
    expect(told(chart(execute, "submission: required"), { submission: [] })).toEqual([]);
    const files = { "a.md": chart("START --> CALL_B[[b.md]]"), "b.md": chart(execute, "submission: required") };
    expect(told(files)).toEqual(["error SUBMISSION_REQUIRED"]);
  });

  it("if it is missing, commands cause a warning, unless the workflow sets submission to optional or none", () => {
    expect(told(chart(execute))).toEqual(["warning NO_SUBMISSION"]);
    expect(told(chart(execute), { submission: ["a.c"] })).toEqual([]);
    for (const wish of ["optional", "none"]) expect(told(chart(execute, `submission: ${wish}`))).toEqual([]);
    expect(told(chart(execute, "submission: none"), { submission: ["a.c"] })).toEqual(["warning SUBMISSION_UNUSED"]);
  });

  it("the setting submission has three values, which are formatted unchanged, and no other", () => {
    for (const wish of ["required", "optional", "none"]) {
      const { definition } = load({ "a.md": chart(execute, `submission: ${wish}`) });
      const program = definition?.programs["a.md"];
      if (program === undefined) throw new Error("invalid");
      expect(program.submission).toBe(wish);
      expect(parseWorkflow(formatProgram(program), "a.md").program).toEqual(program);
    }
    expect(load({ "a.md": chart(execute, "submission: maybe") }).findings.map(({ code }) => code)).toEqual([
      "FRONT_MATTER_VALUE",
    ]);
  });
});

describe("files that a run reads", () => {
  const read = 'ASSIGN_A["Assign: file:essay.md"]';

  it("a file that is not given stops a run without a submission, and is a warning for a submission without it", () => {
    expect(told(chart(`START --> ${read}`))).toEqual(["error FILE_NOT_GIVEN"]);
    expect(told(chart(`START --> ${read}`), { submission: ["essay.md"] })).toEqual([]);
    expect(told(chart(`START --> ${read}`), { submission: ["other.md"] })).toEqual(["warning FILE_NOT_GIVEN"]);
    expect(told(chart(`START --> ${read}`, "submission: optional"))).toEqual(["warning FILE_NOT_GIVEN"]);
    expect(told({ "a.md": chart(`START --> ${read}`), "essay.md": "x" })).toEqual([]);
  });

  it.each([
    ['START --> CHECK_A{"file:a.txt CONTAINS x"}', true],
    ['START --> PROMPT_A["Prompt: file:a.txt"]', true],
    ['START --> SET_A["Set: X=file:a.txt"]', true],
    ['START --> SET_W["Set: file:a.txt=\'x\'"] --> ASSIGN_A["Assign: file:a.txt"]', false],
    ['START --> SET_W["Set: file:b.txt=\'x\'"] --> ASSIGN_A["Assign: file:a.txt"]', true],
    ['START --> ASSIGN_A["Assign: file:a.txt"] --> SET_W["Set: file:a.txt=\'x\'"]', true],
    ['START --> EXECUTE_M["Execute: make"] --> ASSIGN_A["Assign: file:a.txt"]', false],
    ['START --> ASSIGN_A["Assign: file:a.txt"] --> EXECUTE_M["Execute: make"]', true],
    // In the second lap of the loop the file may exist.
    [
      'START --> CHECK_A{"file:a.txt CONTAINS x"}\n    CHECK_A -->|FALSE| EXECUTE_M["Execute: make"] --> CHECK_A',
      false,
    ],
    ['START --> EXECUTE_M["Execute: make"]\n    ON_FAILED --> ASSIGN_A["Assign: file:a.txt"]', false],
  ])("in %s, the run is stopped: %j", (body, unmet) => {
    expect(told(chart(body)).includes("error FILE_NOT_GIVEN")).toBe(unmet);
  });

  it("a file that a called workflow writes, or that was written before the call, counts as given", () => {
    const writer = chart("START --> SET_W[\"Set: file:a.txt='x'\"]");
    const reader = chart('START --> ASSIGN_A["Assign: file:a.txt"]');
    expect(
      told({ "a.md": chart('START --> CALL_W[[w.md]] --> ASSIGN_A["Assign: file:a.txt"]'), "w.md": writer }),
    ).toEqual([]);
    expect(
      told({ "a.md": chart("START --> SET_W[\"Set: file:a.txt='x'\"] --> CALL_R[[r.md]]"), "r.md": reader }),
    ).toEqual([]);
    expect(told({ "a.md": chart("START --> CALL_R[[r.md]]"), "r.md": reader })).toEqual(["error FILE_NOT_GIVEN"]);
  });

  it("a file of the given submission causes no warning of the definition", () => {
    const { findings } = load({ "a.md": chart(`START --> ${read}`) });
    expect(findings.map(({ code }) => code)).toEqual(["FILE_NOT_IN_WORKSPACE"]);
    expect(settleFindings(findings, ["essay.md"])).toEqual([]);
    expect(settleFindings(findings, ["other.md"])).toHaveLength(1);
    expect(settleFindings(findings, null)).toHaveLength(1);
  });
});
