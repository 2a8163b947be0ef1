import { describe, expect, it } from "vitest";
import { parseWorkflow } from "./dialects/codementor/parse-workflow.ts";

function warnings(chart: string): string[] {
  const text = `# T\n# Workflow\n\`\`\`mermaid\nflowchart TD\n${chart}\n\`\`\`\n`;
  const { program, findings } = parseWorkflow(text, "a.wf.md");
  expect(program).not.toBeNull();
  return findings.map(({ code, message }) => `${code} ${message}`);
}

describe("loops", () => {
  it("reports a loop without an exit once, in the order of the flow", () => {
    expect(warnings("START --> SET_A[A=1] --> SET_B[B=1] --> SET_C[C=1] --> SET_A")).toEqual([
      "LOOP_WITHOUT_EXIT Only the limit of visits can end this loop: SET_A -> SET_B -> SET_C -> SET_A.",
    ]);
    expect(warnings("START --> SET_A[A=1] --> SET_A")).toHaveLength(1);
  });

  it.each([
    ["a CHECK without an edge for false, which fails", "START --> SET_A[A=1] --> CHECK_A{A == 1} --> SET_A"],
    ["a CHECK without an edge for true, which succeeds", "START --> SET_A[A=1] --> CHECK_A{A == 1} -->|FALSE| SET_A"],
    ["an edge to an end", "START --> SET_A[A=1] --> SET_A\nSET_A -->|ERROR| FAILED"],
    ["a command that may fail", 'START --> EXECUTE_A["Execute: x"] --> EXECUTE_A\nEXECUTE_A@{ on-failure: fail }'],
  ])("accepts as an exit: %s", (_, chart) => {
    expect(warnings(chart)).toEqual([]);
  });

  it("reports a loop of a command whose failure continues the flow", () => {
    expect(warnings('START --> EXECUTE_A["Execute: x"] --> EXECUTE_A')).toHaveLength(1);
  });

  it("reports a loop inside a handler", () => {
    expect(warnings("START --> SUCCESS\nON_FAILED --> SET_A[A=1] --> SET_A")).toHaveLength(1);
  });
});

describe("unreachable nodes", () => {
  it("are reported, but nodes behind a handler count as reachable", () => {
    expect(warnings("START --> SUCCESS\nON_FAILED --> SET_A[A=1]\nSET_B[B=1] --> SET_C[C=1]")).toEqual([
      "NODE_UNREACHABLE No path leads to SET_B.",
      "NODE_UNREACHABLE No path leads to SET_C.",
    ]);
  });
});
