/** Names, paths and near misses in a workflow file: a mistake that a reader does not see is reported at its place. */
import { describe, expect, it } from "vitest";
import { loadDefinition } from "../../load-definition.ts";
import { formatWorkflow } from "./format-workflow.ts";
import { parseWorkflow } from "./parse-workflow.ts";

const fence = "```";
const chart = (body: string) => `${fence}mermaid\nflowchart TD\n${body}\n${fence}\n`;
const file = (body: string, more = "", head = "") => `${head}# T\n\n# Workflow\n\n${chart(body)}\n${more}`;
const parse = (text: string) => parseWorkflow(text, "a.wf.md");
const codes = (text: string) => parse(text).findings.map(({ severity, code }) => `${severity} ${code}`);
const node = (body: string, id: string) => parse(file(body)).program?.nodes[id];
const load = (files: Readonly<Record<string, string>>, root: string) =>
  loadDefinition(
    {
      read: (path: string) => (files[path] === undefined ? undefined : new TextEncoder().encode(files[path])),
      list: () => Object.keys(files),
    } as never,
    root,
  );

describe("typographic quotes in a workflow file", () => {
  it.each([
    "\u201cPASSED\u201d",
    "\u201ePASSED\u201c",
    "\u2018PASSED\u2019",
    "\u201aPASSED\u2018",
    "\u00abPASSED\u00bb",
    "\u00ab PASSED \u00bb",
    "\u201dPASSED\u201d",
    "`PASSED`",
    "`ALL PASSED`",
    "\u00b4PASSED\u00b4",
    "\u2032PASSED\u2032",
  ])("RESULT == %s is refused", (right) => {
    expect(codes(file(`START --> CHECK_A{"RESULT == ${right}"}`))).toEqual(["error QUOTE_TYPOGRAPHIC"]);
    expect(codes(file(`START --> CHECK_A{"RESULT IN (${right}, 'b')"}`))).toEqual(["error QUOTE_TYPOGRAPHIC"]);
    expect(codes(file(`START --> CHECK_A{"${right} == RESULT"}`))).toEqual(["error QUOTE_TYPOGRAPHIC"]);
  });

  it("inside straight quotes are text, and so are apostrophes", () => {
    for (const right of [
      ...["'\u201cyes\u201d'", "don\u2019t stop", "the students\u2019 work"],
      ...["'`yes`'", "```", "```python", "6\u2032"],
    ])
      expect(codes(file(`START --> CHECK_A{"RESULT == ${right}"}`))).toEqual([]);
  });

  it("cause a warning at the beginning of a value of SET and ASSIGN", () => {
    expect(codes(file(`START --> SET_A["Set: X=\u201ctext\u201d"]`))).toEqual(["warning QUOTE_TYPOGRAPHIC"]);
    expect(codes(file(`START --> ASSIGN_A["Assign: \u2018text\u2019"]`))).toContain("warning QUOTE_TYPOGRAPHIC");
  });
});

describe("numbers of a CHECK", () => {
  it.each(["1,500", "2,7", "\u22123", "1.500.000", "1'000"])("%s on the right is refused", (right) => {
    expect(codes(file(`START --> CHECK_A{"RESULT >= ${right}"}`))).toEqual(["error CHECK_NUMBER"]);
  });

  it("are read as the attributes define", () => {
    const body = `START --> CHECK_A{"RESULT >= 2,7 and not RESULT > 9"}\nCHECK_A@{ number: last, decimal: comma }`;
    const numbers = { which: "last", decimal: "comma" };
    expect(node(body, "CHECK_A")).toMatchObject({
      condition: { of: [{ op: "greaterEqual", numbers }, { of: { op: "greater", numbers } }] },
    });
    expect(node(`START --> CHECK_A{"RESULT >= 2"}\nCHECK_A@{ number: 2 }`, "CHECK_A")).toMatchObject({
      condition: { numbers: { which: 2 } },
    });
  });

  it("keep their attributes when the program is formatted again", () => {
    const { program } = parse(file(`START --> CHECK_A{"RESULT >= 2"}\nCHECK_A@{ number: 2, decimal: point }`));
    if (program === null) throw new Error("no program");
    expect(parse(formatWorkflow(program, { file: "a.wf.md" })).program).toEqual(program);
  });

  it.each([
    ["number: 0", "error ATTRIBUTE_VALUE"],
    ["number: second", "error ATTRIBUTE_VALUE"],
    ["number: 100", "error ATTRIBUTE_VALUE"],
    ["decimal: dot", "error ATTRIBUTE_VALUE"],
  ])("the attribute %s is refused", (attribute, code) => {
    expect(codes(file(`START --> CHECK_A{"RESULT >= 2"}\nCHECK_A@{ ${attribute} }`))).toEqual([code]);
  });

  it("the attributes cause a warning if the CHECK compares no number", () => {
    const body = `START --> CHECK_A{"RESULT == 2"}\nCHECK_A@{ number: last }`;
    expect(codes(file(body))).toEqual(["warning ATTRIBUTE_UNKNOWN"]);
  });
});

describe("a doubled quote", () => {
  it("means one quote in ASSIGN, SET and PROMPT, as in CHECK", () => {
    const value = { from: "template", text: "it's 'so'" };
    expect(node(`START --> ASSIGN_A["Assign: 'it''s ''so'''"]`, "ASSIGN_A")).toMatchObject({ value });
    expect(node(`START --> SET_A["Set: X='it''s ''so'''"]`, "SET_A")).toMatchObject({ value });
    expect(node(`START --> PROMPT_A["Prompt: 'it''s ''so'''"]`, "PROMPT_A")).toMatchObject({ text: value });
    expect(node(`START --> ASSIGN_A["Assign: ''"]`, "ASSIGN_A")).toMatchObject({ value: { text: "" } });
    expect(node(`START --> ASSIGN_A["Assign: 'it's'"]`, "ASSIGN_A")).toMatchObject({ value: { text: "it's" } });
  });
});

describe("an included file", () => {
  const part = `${chart(`START --> CALL_B[[b.wf.md]] --> ASSIGN_C["Assign: file:c.txt"]`)}`;
  const callee = file("START --> SUCCESS");

  it("finds its callees and files beside itself", () => {
    const files = {
      "a.wf.md": "# T\n\n# Workflow\n\n!INCLUDE parts/flow.md\n",
      "parts/flow.md": part,
      "parts/b.wf.md": callee,
      "b.wf.md": "# nothing\n",
      "parts/c.txt": "of the part",
      "c.txt": "of the root",
    };
    const { definition, findings } = load(files, "a.wf.md");
    expect(findings.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(definition?.programs["a.wf.md"]).toMatchObject({
      nodes: { CALL_B: { program: "parts/b.wf.md" }, ASSIGN_C: { value: { path: "parts/c.txt" } } },
      files: { "parts/c.txt": "of the part" },
    });
  });

  it("finds its callees and files beside the workflow if they are not beside itself", () => {
    const files = {
      "w/a.wf.md": "# T\n\n# Workflow\n\n!INCLUDE parts/flow.md\n",
      "w/parts/flow.md": part,
      "w/b.wf.md": callee,
      "w/c.txt": "of the workflow",
    };
    expect(load(files, "w/a.wf.md").definition?.programs["w/a.wf.md"]?.nodes).toMatchObject({
      CALL_B: { program: "w/b.wf.md" },
      ASSIGN_C: { value: { path: "w/c.txt" } },
    });
  });
});

describe("a line break in a caption", () => {
  it("keeps the indentation of the next line", () => {
    const body = `    START --> EXECUTE_A["Execute: python3 - <<'E'\nfor i in range(3):\n    if i:\n\tprint(i)\nE"]`;
    expect(node(body, "EXECUTE_A")).toMatchObject({
      command: "python3 - <<'E'\nfor i in range(3):\n    if i:\n\tprint(i)\nE",
    });
    expect(node(`    START --> EXECUTE_A["Execute: python3 -c 'if 1:\n    print(1)'"]`, "EXECUTE_A")).toMatchObject({
      command: "python3 -c 'if 1:\n    print(1)'",
    });
  });
});

describe("a System heading", () => {
  const prompts = (name: string) => `# Prompts\n\n## System ${name}\n\nBe kind.\n\n## User Q\n\nSo?\n`;
  const body = (name: string) => `START --> PROMPT_S["Prompt: System ${name}"] --> PROMPT_Q["Prompt: User Q"]`;
  const head = "---\nagents: { Reviewer: { temperature: 0 } }\n---\n";

  it("with an undeclared agent causes a warning that suggests a similar name", () => {
    const { findings } = parse(file(body("Reviwer"), prompts("Reviwer"), head));
    expect(findings).toMatchObject([
      { code: "AGENT_UNKNOWN", severity: "warning", fix: expect.stringContaining("Did you mean Reviewer?") },
    ]);
  });

  it("with a declared agent, with no agent, or with an agent that a node names is valid", () => {
    expect(codes(file(body("Reviewer"), prompts("Reviewer"), head))).toEqual([]);
    expect(codes(file(body(""), prompts(""), head))).toEqual([]);
    expect(codes(file(body("Other"), prompts("Other")))).toEqual([]);
  });
});

describe("names of parameters", () => {
  it.each(["RESULT", "CONTENT", "STATUS", "EXIT_CODE"])("%s is refused, with and without a default", (name) => {
    expect(codes(file(`PARAMS["${name}"]\nSTART --> SUCCESS`))).toEqual(["error PARAM_RESERVED"]);
    expect(codes(file(`PARAMS["A, ${name}=x"]\nSTART --> SUCCESS`))).toEqual(["error PARAM_RESERVED"]);
    expect(codes(file("START --> SUCCESS", "", `---\nparams: { ${name}: x }\n---\n`))).toEqual([
      "error PARAM_RESERVED",
    ]);
  });
});

describe("SET of a setting", () => {
  it.each([
    "MAX_COST='abc'",
    "MAX_STEPS=0",
    "MAX_ACTIVITY_HITS=2.5",
    "AI_TEMPERATURE=9",
    "AI_TOP_P='1.5'",
    "MAX_DURATION='10m'",
  ])("%s is refused, as for a parameter's default", (set) =>
    expect(codes(file(`START --> SET_A["Set: ${set}"]`))).toEqual(["error SET_NUMBER"]),
  );
  it.each([
    "MAX_COST='0.5'",
    "MAX_STEPS=10",
    "AI_TEMPERATURE=",
    "AI_TEMPERATURE='{{RESULT}}'",
    "AI_MODEL_NAME='any'",
    "MAX_POINTS='many'",
    "MAX_COST=RESULT",
  ])("%s is accepted", (set) => expect(codes(file(`START --> SET_A["Set: ${set}"]`))).toEqual([]));
});

describe("headings that are nearly those of a section or prompt", () => {
  const flow = chart("START --> SUCCESS");
  it.each([
    ["#Workflow", "a plain space must follow"],
    ["## Workflow", "it has ## in front"],
    ["# **Workflow**", "these words alone"],
    ["# Workflow:", "these words alone"],
    ["#\u00a0Workflow", "a plain space must follow"],
    ["Workflow\n========", "underlined headings"],
    ["Workflow\n--------", "underlined headings"],
    ["# Workflows", "these words alone"],
    ["# Work flow", "these words alone"],
    ["# Work\u00adflow", "these words alone"],
    ["# 1. Workflow", "these words alone"],
    ["# Workflow \u{1f642}", "these words alone"],
    ["\ufeff# Workflow", "an invisible character"],
    ["\u200b# Workflow", "an invisible character"],
    ["    # Workflow", "four spaces"],
  ])("%j is reported", (heading, why) => {
    const { findings } = parse(`# T\n\n${heading}\n\n${flow}`);
    const near = findings.find(({ code }) => code === "HEADING_NEAR_MISS");
    expect(near).toMatchObject({ message: expect.stringContaining(why), fix: expect.stringContaining("# Workflow") });
    expect(near?.at.line).toBe(3);
    expect(findings.some(({ code }) => code === "NO_FLOWCHART")).toBe(true);
  });

  it.each(["# **Prompts**", "#Prompts", "## Prompts", "Prompts\n===", "# __Prompts__", "# Prompt"])(
    "%j is reported",
    (heading) => {
      const text = file(`START --> PROMPT_A["Prompt: User A"]`, `${heading}\n\n## User A\n\nHello\n`);
      expect(codes(text)).toContain("warning HEADING_NEAR_MISS");
    },
  );

  it.each(["##User B", "# User B", "## **User B**", "##\u00a0User B", "User B\n------", "User B\n======"])(
    "%j among the prompts is reported",
    (heading) => {
      const text = file(
        `START --> PROMPT_A["Prompt: User A"]`,
        `# Prompts\n\n## User A\n\nHello\n\n${heading}\n\nSo?\n`,
      );
      expect(codes(text)).toContain("warning HEADING_NEAR_MISS");
    },
  );

  it("an underlined title is reported", () => {
    expect(codes(`My title\n========\n\n# Workflow\n\n${flow}`)).toEqual(["warning HEADING_NEAR_MISS"]);
  });

  it("a valid document causes no such warning, whatever its prose and prompts contain", () => {
    const prose = "## Workflow\n\nSee below.\n\n## Prompts\n\n#hashtag\n\nRules\n-----\n\n";
    const prompts = "# Prompts\n\n## User A\n\n## Rubric\n\nRules\n-----\n\n### User stories\n\n#5 is\n\n---\n";
    const text = `# T\n\n${prose}# Workflow\n\n${chart('START --> PROMPT_A["Prompt: User A"]')}\n${prompts}`;
    expect(codes(text)).toEqual([]);
  });
});

describe("an edge between subgraphs", () => {
  const groups = "subgraph Build\nSET_A[\"Set: A='1'\"]\nend\nsubgraph CHECK_ALL\nSET_B[\"Set: B='1'\"]\nend\n";
  it("is reported, on either side, even if the subgraph has the name of a kind", () => {
    for (const edge of ["Build --> CHECK_ALL", "START --> Build", "Build --> SET_B", "CHECK_ALL --> SET_A"]) {
      const found = codes(file(`START --> SET_A --> SET_B\n${groups}${edge}`));
      expect([edge, found]).toEqual([edge, ["error EDGE_SUBGRAPH"]]);
    }
    expect(codes(file(`Build --> CHECK_ALL\nSTART --> SET_A --> SET_B\n${groups}`))).toEqual(["error EDGE_SUBGRAPH"]);
  });

  it("is ignored if it is a note link", () => {
    expect(codes(file(`START --> SET_A --> SET_B\n${groups}Build -.- CHECK_ALL`))).toEqual([]);
  });
});

describe("a no-break space", () => {
  it("is reported in the name of a prompt, a caption, a variable or a parameter", () => {
    const heading = file(`START --> PROMPT_A["Prompt: User A"]`, "# Prompts\n\n## User\u00a0A\n\nHello\n");
    expect(codes(heading)).toContain("warning NAME_INVISIBLE");
    const caption = file(`START --> PROMPT_A["Prompt: User\u00a0A"]`, "# Prompts\n\n## User A\n\nHello\n");
    expect(codes(caption)).toContain("warning NAME_INVISIBLE");
    const said = (text: string) =>
      parse(text)
        .findings.map(({ message }) => message)
        .join();
    expect(said(file(`START --> SET_A["Set: MY\u00a0NAME='x'"]`))).toContain("no-break space (U+00A0)");
    expect(said(file(`PARAMS["MY\u00a0NAME=x"]\nSTART --> SUCCESS`))).toContain("no-break space (U+00A0)");
  });

  it("is ignored in a text", () => {
    expect(codes(file(`PARAMS["A='x\u00a0y'"]\nSTART --> ASSIGN_A["Assign: 'x\u00a0y'"]`))).toEqual([]);
  });
});

describe("an unknown variable", () => {
  it("is reported, and the fix mentions WORKFLOW_ENV", () => {
    const { findings } = load({ "a.wf.md": file(`START --> ASSIGN_A["Assign: 'x {{HOMEPAGE}}'"]`) }, "a.wf.md");
    expect(findings).toMatchObject([{ code: "VARIABLE_UNKNOWN", fix: expect.stringContaining("WORKFLOW_ENV") }]);
  });
});
