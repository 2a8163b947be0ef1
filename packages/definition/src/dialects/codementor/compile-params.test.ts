import { describe, expect, it } from "vitest";
import { parseWorkflow } from "./parse-workflow.ts";

function read(params: string) {
  const text = `# T\n# Workflow\n\`\`\`mermaid\nflowchart TD\nPARAMS["${params}"]\nSTART --> SUCCESS\n\`\`\`\n`;
  const { program, findings } = parseWorkflow(text, "a.wf.md");
  return { params: program?.params, codes: findings.map(({ severity, code }) => `${severity} ${code}`) };
}

describe("parameters that are settings", () => {
  it.each([
    "MAX_ACTIVITY_HITS=1",
    "MAX_ACTIVITY_HITS",
    "MAX_CALL_DEPTH=0",
    "MAX_COST=0.25",
    "MAX_DURATION=1.5",
    "MAX_TOKENS= 5000 ",
    "AI_TEMPERATURE=0.3",
    "AI_TEMPERATURE=",
    "AI_MODEL_NAME=any-thing",
    "AI_STOP_SEQUENCE=END",
    "AI_MAX_PROMPT_LENGTH=1000",
    "MAX_POINTS=many",
    "AI_TUTOR=yes",
  ])("accepts %s", (params) => {
    expect(read(params).codes).toEqual([]);
  });

  it.each([
    "MAX_ACTIVITY_HITS=0",
    "MAX_ACTIVITY_HITS=2.5",
    "MAX_STEPS=-1",
    "MAX_STEPS=0x10",
    "MAX_TOKENS=0",
    "MAX_TOKENS=9007199254740993",
    "MAX_CHARACTERS=1e3",
    "MAX_CALL_DEPTH=0.5",
    "MAX_COST=9999999",
    "MAX_COST=$1",
    "MAX_DURATION=10m",
    "MAX_DURATION=315360001",
    "AI_TEMPERATURE=hot",
    "AI_TEMPERATURE=0x1",
    "AI_TEMPERATURE=3",
    "AI_TOP_P=1.1",
    "AI_MAX_OUTPUT_TOKENS=0",
    "AI_MAX_PROMPT_LENGTH=1.5",
  ])("refuses %s", (params) => {
    expect(read(params).codes).toEqual(["error PARAM_NUMBER"]);
  });
});

describe("duplicate parameters", () => {
  it("keep the position of the first and the default of the last", () => {
    const { params, codes } = read("A=1, B=1, A=2, C=1, C=2, B=2");
    expect(codes).toEqual(Array(3).fill("warning PARAM_DUPLICATE"));
    expect(params).toEqual([
      { name: "A", default: "2" },
      { name: "B", default: "2" },
      { name: "C", default: "2" },
    ]);
  });

  it("names such as constructor and __proto__ are ordinary names", () => {
    const { params, codes } = read("constructor=1, __proto__=2, toString");
    expect(codes).toEqual([]);
    expect(params?.map(({ name }) => name)).toEqual(["constructor", "__proto__", "toString"]);
  });
});
