import { describe, expect, it } from "vitest";
import { loadDefinition } from "./load-definition.ts";

const chart = (body: string) => `# T\n\n# Workflow\n\n\`\`\`mermaid\nflowchart TD\n${body}\n\`\`\`\n`;
const found = (body: string, more: Readonly<Record<string, string>> = {}) => {
  const files: Readonly<Record<string, string>> = { "a.md": chart(body), "hidden.py": "assert 1", ...more };
  const read = (path: string) => (files[path] === undefined ? undefined : new TextEncoder().encode(files[path]));
  return loadDefinition({ read }, "a.md").findings.filter(({ code }) => code === "TESTS_EXPOSED");
};
const run = `EXECUTE_R["Execute: python main.py"]`;
const write = `SET_T["Set: file:hidden_test.py=file:hidden.py"]`;

describe("hidden tests in a session in which the submission has run", () => {
  it.each([
    ["named by path", `START --> ${run} --> ${write} --> EXECUTE_T["Execute: python hidden_test.py"]`],
    ["found by a test runner", `START --> ${run} --> ${write} --> EXECUTE_T["Execute: pytest -q"]`],
    ["as a module", `START --> ${run} --> ${write} --> EXECUTE_T["Execute: python -m hidden_test"]`],
    [
      "over a variable",
      `START --> SET_V["Set: TESTS=file:hidden.py"] --> ${run} --> SET_T["Set: file:t.py=TESTS"] --> EXECUTE_T["Execute: python t.py"]`,
    ],
    [
      "written by a command",
      `START --> ${run} --> EXECUTE_W["Execute: echo 'assert 1' > t.py"] --> EXECUTE_T["Execute: python t.py"]`,
    ],
    ["within one command", `START --> EXECUTE_A["Execute: python main.py; echo 'assert 1' > t.py; python t.py"]`],
    ["in a loop", `START --> ${write} --> EXECUTE_T["Execute: python hidden_test.py"]\n    EXECUTE_T --> SET_T`],
    [
      "on one of two paths",
      `START --> CHECK_A{"EXIT_CODE == 0"}\n    CHECK_A -->|YES| ${run}\n    EXECUTE_R --> ${write}\n    CHECK_A -->|NO| SET_T\n    SET_T --> EXECUTE_T["Execute: bash hidden_test.py"]`,
    ],
    [
      "written by a model and called a test",
      `START --> ${run} --> PROMPT_P["Prompt: 'Write tests'"] --> SET_T["Set: file:test_a.py=RESULT"] --> EXECUTE_T["Execute: pytest"]`,
    ],
  ])("are reported: %s", (_, body) => {
    const [finding] = found(body);
    expect(finding).toMatchObject({ severity: "warning", fix: expect.stringMatching(/judge session/) });
  });

  it.each([
    [
      "in a judge session",
      `START --> ${run} --> ${write} --> EXECUTE_T["Execute: python /judge/hidden.py"]\n    EXECUTE_T@{ session: judge }`,
    ],
    ["written before the submission runs", `START --> ${write} --> EXECUTE_T["Execute: python hidden_test.py"]`],
    [
      "after commands that only look",
      `START --> EXECUTE_L["Execute: ls -l"] --> ${write} --> EXECUTE_T["Execute: python hidden_test.py"]`,
    ],
    [
      "after the submission ran in a judge",
      `START --> EXECUTE_J["Execute: guest python main.py"] --> ${write} --> EXECUTE_T["Execute: python hidden_test.py"]\n    EXECUTE_J@{ session: judge }`,
    ],
    [
      "an input that is only read",
      `START --> ${run} --> SET_T["Set: file:input.txt='3 4'"] --> EXECUTE_T["Execute: python main.py < input.txt"]`,
    ],
    [
      "a program that a model wrote",
      `START --> ${run} --> PROMPT_P["Prompt: 'Repair it'"] --> SET_T["Set: file:main.py=RESULT"] --> EXECUTE_T["Execute: python main.py"]`,
    ],
    ["a file that nothing runs", `START --> ${run} --> ${write} --> EXECUTE_T["Execute: ls"]`],
  ])("are not reported: %s", (_, body) => expect(found(body)).toEqual([]));

  it("are found through called workflows, which share the session", () => {
    const callee = { "b.md": chart(`START --> ${write} --> EXECUTE_T["Execute: python hidden_test.py"]`) };
    expect(found(`START --> ${run} --> CALL_B[[b.md]]`, callee)).toHaveLength(1);
    expect(found(`START --> CALL_B[[b.md]]`, callee)).toEqual([]);
    const runner = { "b.md": chart(`START --> ${run}`) };
    expect(
      found(`START --> CALL_B[[b.md]] --> ${write} --> EXECUTE_T["Execute: python hidden_test.py"]`, runner),
    ).toHaveLength(1);
  });
});
