import { describe, expect, it } from "vitest";
import { parseWorkflow } from "./parse-workflow.ts";

function read(matter: string) {
  const { program, findings } = parseWorkflow(
    `---\n${matter}\n---\n# T\n# Workflow\n\`\`\`mermaid\nflowchart TD\nSTART --> SUCCESS\n\`\`\`\n`,
    "a.wf.md",
  );
  return { program, codes: findings.map(({ code }) => code), messages: findings.map(({ message }) => message) };
}

describe("params", () => {
  it("numbers and booleans are text as written", () => {
    const { program } = read(
      "params: { POINTS: 10, SHARE: 1.50, ID: 007, BIG: 12345678901234567890, STRICT: true, N: }",
    );
    expect(program?.params).toEqual([
      { name: "POINTS", default: "10" },
      { name: "SHARE", default: "1.50" },
      { name: "ID", default: "007" },
      { name: "BIG", default: "12345678901234567890" },
      { name: "STRICT", default: "true" },
      { name: "N", default: null },
    ]);
  });

  it("names that differ by an underscore keep their own values", () => {
    expect(read("params: { a_b: 1, aB: 2 }").program?.params).toEqual([
      { name: "a_b", default: "1" },
      { name: "aB", default: "2" },
    ]);
  });

  it("lists are refused", () => {
    expect(read("params: { A: [1] }").codes).toEqual(["FRONT_MATTER_VALUE"]);
  });
});

describe("amounts beyond all bounds", () => {
  it.each([
    ["limits: { time: 999999d }", "limits.time: expected at most 10 years (3650d)."],
    ["limits: { time: 1e30 }", "limits.time: expected at most 10 years (3650d)."],
    ["limits: { cost: 9999999 }", "limits.cost: expected at most $9000000."],
    ["sandbox: { wall: 4000d }", "sandbox.wall: expected at most 10 years (3650d)."],
    ["sandbox: { memory: 9999999t }", "sandbox.memory: expected at most 8191t."],
  ])("%s", (matter, message) => {
    expect(read(matter).messages).toEqual([message]);
  });

  it.each(["tokens: 0", "characters: 0", "hits: 0", "steps: 1.5", "tokens: 9007199254740993", "depth: -1"])(
    "a count as in %s",
    (limit) => {
      expect(read(`limits: { ${limit} }`).codes).toEqual(["FRONT_MATTER_VALUE"]);
    },
  );
});

describe("prompts", () => {
  it("take the role from their first word in any case", () => {
    expect(read('prompts: { "user A": "x" }').program?.prompts).toEqual({ "user A": { role: "user", text: "x" } });
  });
});

describe("keys", () => {
  it("given twice are refused, at every level", () => {
    expect(read("name: a\nname: b").messages).toEqual(["The front matter is not valid YAML: name is given twice."]);
    expect(read("params: { A: 1, B: 2, A: 3 }").codes).toEqual(["FRONT_MATTER_YAML"]);
    expect(read('params: { 1: a, "1": b }').codes).toEqual(["FRONT_MATTER_YAML"]);
    expect(read("agents: { A: {}, B: {} }\nsettings: {}").codes).toEqual([]);
  });
});
