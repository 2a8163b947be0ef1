import { describe, expect, it } from "vitest";
import { parseWorkflow } from "./parse-workflow.ts";

function read(prompts: string) {
  const text = `# T\n# Workflow\n\`\`\`mermaid\nflowchart TD\nSTART --> SUCCESS\n\`\`\`\n# Prompts\n${prompts}\n`;
  return parseWorkflow(text, "a.wf.md");
}

describe("a heading of level 1 among the prompts", () => {
  it("ends the prompt before it, with a warning that names the prompt", () => {
    const { program, findings } = read("## User A\nkept\n\n# Rules\nlost\n\n## User B\nlost, too");
    expect(program?.prompts).toEqual({ "User A": { role: "user", text: "kept" } });
    expect(findings.map(({ severity, code, at }) => [severity, code, at.line, at.column])).toEqual([
      ["warning", "PROMPT_CUT", 11, 1],
    ]);
    expect(findings[0]?.message).toContain('"User A"');
    expect(findings[0]?.fix).toContain("###");
  });

  it.each([
    ["before the first prompt", "# Rules\ntext"],
    ["that is a section of the workflow", "## User A\nkept\n# Prompts\n## User B\nx"],
    ["inside a code fence", "## User A\n```\n# Rules\n```"],
  ])("does not end a prompt if it is %s", (_, prompts) => {
    expect(read(prompts).findings).toEqual([]);
  });
});

describe("the role of a prompt", () => {
  it("is the first word of its heading in any case, and the id is the unchanged heading", () => {
    const { program } = read("## user R\na\n## SYSTEM\nb\n## assistant Example\nc\n## usage\nd");
    expect(program?.prompts).toEqual({
      "user R": { role: "user", text: "a" },
      SYSTEM: { role: "system", text: "b" },
      "assistant Example": { role: "assistant", text: "c\n## usage\nd" },
    });
  });
});
