import type { Node } from "@markmill/engine";
import { describe, expect, it } from "vitest";
import { parseWorkflow } from "./parse-workflow.ts";

function read(node: string, id = node.split(/[^A-Z_]/, 1)[0] ?? "") {
  const text = `# T\n# Workflow\n\`\`\`mermaid\nflowchart TD\nSTART --> ${node}\n\`\`\`\n`;
  const { program, findings } = parseWorkflow(text, "a.wf.md");
  return { node: program?.nodes[id] as Node | undefined, findings };
}
const codes = (node: string) => read(node).findings.map(({ severity, code }) => `${severity} ${code}`);

describe("double quotes inside a quoted caption", () => {
  it.each([
    'EXECUTE["Execute: echo "hi""]',
    'ASSIGN["Assign: "OK""]',
    'SET["Set: X="5""]',
    'CHECK{"Check: RESULT == "OK""}',
    'PROMPT["Prompt: "hello""]',
    'ASK["Ask: is "x" right or "y""]',
  ])("are an error that explains how to write them: %s", (node) => {
    const { findings } = read(node);
    expect(findings.map(({ severity, code }) => `${severity} ${code}`)).toEqual(["error CAPTION_QUOTES"]);
    expect(findings[0]?.fix).toContain("#quot;");
  });

  it("are text if they are written as #quot;", () => {
    const { node, findings } = read('EXECUTE["Execute: echo #quot;hi#quot;"]');
    expect(findings).toEqual([]);
    expect(node).toMatchObject({ command: 'echo "hi"' });
  });

  it("a question may begin with a word in quotes that is a prefix elsewhere", () => {
    const { node, findings } = read('ASK["#quot;Set: x#quot; or not?"]');
    expect(findings).toEqual([]);
    expect(node).toMatchObject({ question: '"Set: x" or not?' });
  });

  it("the fix for a missing prefix is a valid caption", () => {
    const { findings } = read("EXECUTE[#quot;my tool#quot; -x<br>ls]");
    expect(findings.map(({ code, fix }) => [code, fix])).toEqual([
      ["CAPTION_PREFIX", 'Write EXECUTE["Execute: #quot;my tool#quot; -x<br>ls"].'],
    ]);
  });
});

describe("settings on a PROMPT", () => {
  it.each([
    ["temperature: 0.5", { temperature: 0.5 }],
    ["presence-penalty: -1", { presencePenalty: -1 }],
    ["temperature: 1e-7", { temperature: 1e-7 }],
    ["max-output-tokens: 800", { maxOutputTokens: 800 }],
  ])("accepts %s", (attribute, settings) => {
    expect(read(`PROMPT["Prompt: 'x'"]@{ ${attribute} }`).node).toMatchObject({ settings });
  });

  it.each([
    "temperature: 0x1",
    "temperature: 3",
    "top-p: .",
    "max-output-tokens: 0x10",
    "max-output-tokens: 1.5",
    "top-p: Infinity",
  ])("refuses %s", (attribute) => {
    expect(codes(`PROMPT["Prompt: 'x'"]@{ ${attribute} }`)).toEqual(["error ATTRIBUTE_VALUE"]);
  });
});

describe("ASK", () => {
  it("refuses a timeout of more than ten years", () => {
    const { findings } = read('ASK@{ label: "Ask: well?", timeout: 4000d }');
    expect(findings.map(({ code, message }) => [code, message])).toEqual([
      ["ATTRIBUTE_VALUE", '"4000d" is not a time to wait: expected at most 10 years (3650d).'],
    ]);
  });
});

describe("SET", () => {
  it("warns of a value that begins with =, and keeps it", () => {
    const { node, findings } = read("SET[\"Set: X=='5'\"]");
    expect(findings.map(({ severity, code, at }) => [severity, code, at.column])).toEqual([
      ["warning", "SET_EQUALS", 23],
    ]);
    expect(node).toMatchObject({ value: { from: "name", name: "='5'" } });
  });
});

describe("a literal \\n in a command", () => {
  it("becomes a line break, with a warning at its place", () => {
    const { node, findings } = read(String.raw`EXECUTE["Execute: printf 'a\nb'"]`);
    expect(node).toMatchObject({ command: "printf 'a\nb'" });
    expect(findings.map(({ severity, code, at }) => [severity, code, at.column])).toEqual([
      ["warning", "EXECUTE_LINE_BREAK", 38],
    ]);
  });

  it("is kept if it is written as #92;n", () => {
    const { node, findings } = read(`EXECUTE["Execute: printf 'a#92;nb'"]`);
    expect(findings).toEqual([]);
    expect(node).toMatchObject({ command: String.raw`printf 'a\nb'` });
  });

  it("a <br> and a real line break in the caption cause no warning", () => {
    expect(codes('EXECUTE["Execute: cd x<br>ls\n  pwd"]')).toEqual([]);
  });

  it("causes no warning outside commands", () => {
    expect(codes(String.raw`ASSIGN["Assign: 'a\nb'"]`)).toEqual([]);
  });
});
