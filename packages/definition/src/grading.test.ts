import { usualGrading } from "@markmill/engine";
import type { Rubric } from "@markmill/grading";
import { describe, expect, it } from "vitest";
import { formatWorkflow } from "./dialects/codementor/format-workflow.ts";
import { type LoadOptions, loadDefinition } from "./load-definition.ts";

const table = "| id | criterion | points | kind | evidence | source | guidance |\n|---|---|---|---|---|---|---|";
const names = "| names | Names say it | 2 | levels: poor=0, good=2 | yes | llm | `i` \\| `j` are fine |";
const flow = (chart: string, rest = "", head = "") =>
  `${head}# Test\n\n# Workflow\n\n\`\`\`mermaid\nflowchart TD\n${chart}\n\`\`\`\n\n${rest}`;
const grade = 'START --> GRADE_WORK["Grade: Sort it"]';

function load(files: Record<string, string>, options: LoadOptions = {}) {
  const [root = ""] = Object.keys(files);
  const read = (path: string) => (files[path] === undefined ? undefined : new TextEncoder().encode(files[path]));
  const { definition, findings } = loadDefinition({ read, list: () => Object.keys(files) }, root, options);
  for (const { fix } of findings) expect(fix).toMatch(/\S/);
  const told = findings.map(({ code, severity, at }) => `${severity} ${code} ${at.file}:${at.line}:${at.column}`);
  return { definition, program: definition?.programs[root], told };
}
const rubricOf = (ids: readonly string[]): Rubric => ({
  criteria: ids.map((id) => ({
    id,
    title: id,
    points: 1,
    scale: { is: "binary" },
    evidence: true,
    source: { is: "llm" },
    guidance: "",
  })),
});

describe("a workflow that grades", () => {
  it("gets its rubric from a section, a file, or its class", () => {
    const section = load({ "a.md": flow(grade, `# Rubric\n\n${table}\n${names}\n`) });
    expect(section.told).toEqual([]);
    expect(section.program?.nodes.GRADE_WORK).toEqual({ kind: "grade", task: { from: "name", name: "Sort it" } });
    const file = load({
      "a.md": flow(grade, "", "---\nrubric: r.md\n---\n"),
      "r.md": `# Sheet\n\n# Rubric\n\n${table}\n${names}\n`,
    });
    expect(file.told).toEqual([]);
    expect(file.program?.rubric).toEqual(section.program?.rubric);
    expect(file.definition?.files.map(({ path }) => path)).toEqual(["a.md", "r.md"]);
    const given = load({ "a.md": flow(grade) }, { rubric: rubricOf(["b"]) });
    expect(given.program?.rubric).toEqual(rubricOf(["b"]));
    const other = load({ "a.md": flow(grade) }, { rubric: rubricOf(["c"]) });
    expect(other.definition?.hash).not.toBe(given.definition?.hash);
  });

  it("passes its rubric and grading settings to its callees, unless they have their own", () => {
    const root = flow(
      'START --> CALL_A[["b.md"]]',
      `# Rubric\n\n${table}\n${names}\n`,
      "---\ngrade: { twice: never }\n---\n",
    );
    const { definition, told } = load({ "a.md": root, "b.md": flow(grade) });
    expect(told).toEqual([]);
    expect(definition?.programs["b.md"]).toMatchObject({
      rubric: { criteria: [{ id: "names" }] },
      grading: { ...usualGrading, twice: "never" },
    });
  });

  it.each<readonly [string, string, string]>([
    ["no rubric", flow(grade), "error GRADE_WITHOUT_RUBRIC a.md:7:11"],
    [
      "a rubric and no GRADE",
      flow("START --> SUCCESS", `# Rubric\n\n${table}\n${names}\n`),
      "warning RUBRIC_UNUSED a.md:10:1",
    ],
    ["two rubrics", flow(grade, `# Rubric\n\n${table}\n${names}\n\n# Rubric\n`), "error RUBRIC_TWICE a.md:16:1"],
    [
      "section and file",
      flow(grade, `# Rubric\n\n${table}\n${names}\n`, "---\nrubric: r.md\n---\n"),
      "error RUBRIC_TWICE a.md:2:9",
    ],
    ["a file that is not there", flow(grade, "", "---\nrubric: no.md\n---\n"), "error FILE_MISSING a.md:2:9"],
    ["a file outside", flow(grade, "", "---\nrubric: ../r.md\n---\n"), "error FILE_MISSING a.md:2:9"],
    ["no table", flow(grade, "# Rubric\n\nBe kind.\n"), "error RUBRIC_TABLE a.md:10:1"],
    ["an id twice", flow(grade, `# Rubric\n\n${table}\n${names}\n${names}\n`), "error RUBRIC_ID a.md:15:3"],
    ["points that are none", flow(grade, `# Rubric\n\n${table}\n| a | A | many |\n`), "error RUBRIC_POINTS a.md:14:11"],
    [
      "an unknown column",
      flow(grade, "# Rubric\n\n| id | criterion | ponts |\n|-|-|-|\n| a | A | 1 |\n"),
      "error RUBRIC_COLUMN a.md:12:20",
    ],
    [
      "tests that nobody runs",
      flow(grade, `# Rubric\n\n${table}\n| t | T | 1 | | | tests | |\n`),
      "warning RUBRIC_UNTESTED a.md:10:1",
    ],
    [
      "results by hand",
      flow('START --> SET_A["TEST_RESULTS=RESULT"] --> GRADE_A', `# Rubric\n\n${table}\n${names}\n`),
      "error TEST_RESULTS_SET a.md:7:11",
    ],
    [
      "results as a parameter",
      flow(`PARAMS["TEST_RESULTS"]\n${grade}`, `# Rubric\n\n${table}\n${names}\n`),
      "error TEST_RESULTS_SET a.md:7:9",
    ],
    [
      "a task of the student",
      flow('START --> GRADE_A["Grade: file:task.md"]', `# Rubric\n\n${table}\n${names}\n`),
      "error GRADE_TASK_FILE a.md:7:20",
    ],
    [
      "an unknown way",
      flow(grade, `# Rubric\n\n${table}\n${names}\n`, "---\ngrade: { thrice: yes }\n---\n"),
      "error FRONT_MATTER_KEY a.md:2:10",
    ],
    [
      "an unknown flag",
      flow(grade, `# Rubric\n\n${table}\n${names}\n`, "---\ngrade: { review: { flags: [bad] } }\n---\n"),
      "error FRONT_MATTER_VALUE a.md:2:27",
    ],
    [
      "a share above 1",
      flow(grade, `# Rubric\n\n${table}\n${names}\n`, "---\ngrade: { review: { pass: 50 } }\n---\n"),
      "error FRONT_MATTER_VALUE a.md:2:26",
    ],
  ])("reports %s at its place", (_, text, wanted) => {
    expect(load({ "a.md": text }).told).toContain(wanted);
  });

  it("a class's rubric that no workflow uses is an error", () => {
    expect(load({ "a.md": flow("START --> SUCCESS") }, { rubric: rubricOf(["a"]) }).told).toEqual([
      "error GRADE_MISSING a.md:1:1",
    ]);
  });

  it("is the same after it is formatted and read again", () => {
    const head = "---\ngrade: { twice: flagged, panel: [a, b], review: { pass: 50%, flags: [injection] } }\n---\n";
    const rows = [
      names,
      "| tests | All pass | 6 | points in steps of 0.5 | | tests: a/* b | |",
      "| docs | Comments say why | 1 | binary | comments | | |",
      "| lost | Copied | -2 | | no | human | |",
    ];
    const chart = `START --> EXECUTE_T["Execute: run"] --> GRADE_WORK["Grade: 'Sort {{RESULT}}'"]\nEXECUTE_T@{ session: judge }\nGRADE_WORK@{ agent: Strict, temperature: 0 }`;
    const { program, told } = load({ "a.md": flow(chart, `# Rubric\n\n${table}\n${rows.join("\n")}\n`, head) });
    expect(told).toEqual([]);
    if (program === undefined) throw new Error("no program");
    expect(program.grading).toMatchObject({ twice: "flagged", panel: ["a", "b"], review: { pass: 0.5 } });
    expect(load({ "a.md": formatWorkflow(program) }).program).toEqual(program);
  });

  it("a workflow without a rubric and a GRADE keeps its program unchanged", () => {
    const prose = flow("START --> SUCCESS", "# Rubric\n\nBe kind.\n");
    const { program, told } = load({ "a.md": prose });
    expect(told).toEqual([]);
    expect(Object.keys(program ?? {})).not.toContain("rubric");
    const titled = load({
      "a.md": prose.replace("# Test", "# Rubric\n\nBe fair.").replace("# Rubric\n\nBe kind.\n", ""),
    });
    expect(titled.program).toMatchObject({ name: "Rubric", description: "Be fair." });
    expect(Object.keys(program ?? {})).not.toContain("grading");
  });
});
