import { describe, expect, it } from "vitest";
import { loadDefinition } from "../load-definition.ts";
import { recogniseDialect } from "./dialects.ts";

const chart = "# Workflow\n\n```mermaid\nflowchart TD\n    START --> SUCCESS\n```\n";
const bytes = (text: string) => new TextEncoder().encode(text);
const load = (files: Readonly<Record<string, string>>, root: string) =>
  loadDefinition(
    {
      read: (path) => (Object.hasOwn(files, path) ? bytes(files[path] ?? "") : undefined),
      list: () => Object.keys(files),
    },
    root,
  );

describe("the dialect of a file", () => {
  it.each([
    ["grade.wf.md", chart, "codementor"],
    ["by its content alone", chart, "codementor"],
    ["a chart in tildes", "~~~ mermaid\nflowchart TD\n~~~", "codementor"],
    ["empty.md", "", "codementor"],
    ["NOTES.MD", "A text.", "codementor"],
    ["tasks.json", '{"tasks": [{"prompt": "```mermaid\\n# Workflow\\n"}], "steps": []}', "tasks"],
    ["tasks by their content alone", '{"tasks": [], "steps": []}', "tasks"],
    ["other.json", "[]", "tasks"],
    ["notes.txt", "the word workflow, and mermaid", null],
  ])("recognises %s", (path, text, dialect) => expect(recogniseDialect({ path, text })).toBe(dialect));

  it("is part of the definition", () => expect(load({ "a.md": chart }, "a.md").definition?.dialect).toBe("codementor"));
});

describe("a file of no dialect", () => {
  it("is reported with a list of the known kinds of workflow files", () => {
    const { definition, findings } = load({ "a.txt": "{}" }, "a.txt");
    expect(definition).toBeNull();
    expect(findings).toMatchObject([{ code: "DIALECT_UNKNOWN", at: { file: "a.txt", line: 1, column: 1 } }]);
    expect(findings[0]?.fix).toContain("# Workflow");
  });

  it("is reported at its own place if another file calls it", () => {
    const caller = chart.replace("START -->", 'START --> CALL_B[["b.txt"]] -->');
    const { definition, findings } = load({ "a.md": caller, "b.txt": "Not a workflow." }, "a.md");
    expect(definition).toBeNull();
    expect(findings).toMatchObject([{ code: "DIALECT_UNKNOWN", at: { file: "b.txt" } }]);
  });
});
