import { describe, expect, it } from "vitest";
import { parseWorkflow } from "./parse-workflow.ts";

function read(chart: string) {
  const text = `# T\n# Workflow\n\`\`\`mermaid\nflowchart TD\n${chart}\n\`\`\`\n`;
  const { program, findings } = parseWorkflow(text, "a.wf.md");
  return { program, findings: findings.map(({ severity, code, fix }) => ({ is: `${severity} ${code}`, fix })) };
}

describe("an edge into a handler", () => {
  it.each([
    ["a check to ON_FAILED", "START --> CHECK_A{RESULT == x} -->|NO| ON_FAILED --> SET_R[R=1]", "FAILED"],
    ["a step to ON_SUCCESS", "START --> SET_A[A=1] --> ON_SUCCESS --> SET_R[R=1]", "SUCCESS"],
    ["a step to ON_SUCCES as it is misspelt", "START --> SET_A[A=1] --> ON_SUCCES", "SUCCESS"],
    ["a handler to itself", "START --> SUCCESS\nON_FAILED --> ON_FAILED", "FAILED"],
    ["a handler to the other", "START --> SUCCESS\nON_SUCCESS --> ON_FAILED", "FAILED"],
    ["the start to a handler", "START --> ON_SUCCESS", "SUCCESS"],
  ])("from %s is an error that names the right end", (_, chart, end) => {
    const { program, findings } = read(chart);
    expect(program).toBeNull();
    expect(findings.filter(({ is }) => is.startsWith("error"))).toEqual([
      { is: "error EDGE_INTO_HANDLER", fix: `Draw the edge to ${end}. The handler then starts automatically.` },
    ]);
  });
});

describe("an edge on failure that is never taken", () => {
  it.each([
    ["START", "START --> SET_A[A=1]\nSTART -->|FALSE| SET_A"],
    ["a handler", "START --> SET_A[A=1]\nON_FAILED -->|ERROR| SET_A"],
  ])("is a warning if its source cannot fail: %s", (_, chart) => {
    const { program, findings } = read(chart);
    expect(program).not.toBeNull();
    expect(findings.map(({ is }) => is)).toEqual(["warning EDGE_NEVER_TAKEN"]);
  });
});
