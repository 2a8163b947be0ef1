import { describe, expect, it } from "vitest";
import { readRubricFile } from "./read-rubric-file.ts";

const HEAD =
  "# Sheet 3\n\n# Rubric\n\n| id | criterion | points | kind | evidence | source | guidance |\n|---|:-:|--:|---|---|---|---|\n";
const read = (rows: string) => readRubricFile(HEAD + rows, "grade.wf.md");
const findings = (text: string) =>
  readRubricFile(text, "r.md").findings.map(({ code, at, fix }) => {
    expect(fix).toMatch(/\S/);
    return `${code}:${at.line}:${at.column}`;
  });

describe("a rubric", () => {
  it("is a table with kinds, evidence, sources and guidance", () => {
    const { rubric, findings: found } = read(
      [
        "| tests | All tests pass | 6 | points in steps of 0.5 | | tests: median/* even* | |",
        "| names | Names say what things are | 2 | levels: poor=0, fair=1, good=2 | yes | llm | `x` \\| `y` are fine |",
        "| doc | There is a readme | 1 | binary | no | | |",
        "| talk | Explains it in person | 3 | | | human | |",
        "| copied | Code without its source | -2 | binary | | llm | |",
      ].join("\n"),
    );
    expect(found).toEqual([]);
    expect(rubric?.criteria).toEqual([
      {
        id: "tests",
        title: "All tests pass",
        points: 6,
        scale: { is: "points", step: 0.5 },
        evidence: false,
        source: { is: "tests", patterns: ["median/*", "even*"] },
        guidance: "",
      },
      {
        id: "names",
        title: "Names say what things are",
        points: 2,
        scale: {
          is: "levels",
          levels: [
            { name: "poor", points: 0 },
            { name: "fair", points: 1 },
            { name: "good", points: 2 },
          ],
        },
        evidence: true,
        source: { is: "llm" },
        guidance: "`x` | `y` are fine",
      },
      {
        id: "doc",
        title: "There is a readme",
        points: 1,
        scale: { is: "binary" },
        evidence: false,
        source: { is: "llm" },
        guidance: "",
      },
      {
        id: "talk",
        title: "Explains it in person",
        points: 3,
        scale: { is: "points", step: 1 },
        evidence: false,
        source: { is: "human" },
        guidance: "",
      },
      {
        id: "copied",
        title: "Code without its source",
        points: -2,
        scale: { is: "binary" },
        evidence: true,
        source: { is: "llm" },
        guidance: "",
      },
    ]);
  });

  it("is ignored in a code block, and ends at the next section", () => {
    const text = `\`\`\`\n# Rubric\n\`\`\`\n# Rubric\n| id | criterion | points |\n|-|-|-|\n| a | A | 1 |\n# Prompts\n| b | B | 1 |\n`;
    expect(readRubricFile(text, "r.md").rubric?.criteria.map(({ id }) => id)).toEqual(["a"]);
  });

  it.each([
    ["| 1st | A | 1 | | | | |", "RUBRIC_ID:7:3"],
    ["| | A | 1 | | | | |", "RUBRIC_ID:7:3"],
    ["| a |  | 1 | | | | |", "RUBRIC_CRITERION:7:8"],
    ["| a | A | many | | | | |", "RUBRIC_POINTS:7:11"],
    ["| a | A | 0 | | | | |", "RUBRIC_POINTS:7:11"],
    ["| a | A | 1 | binry | | | |", "RUBRIC_KIND:7:15"],
    ["| a | A | 1 | points in steps of 7 | | | |", "RUBRIC_STEP:7:15"],
    ["| a | A | 3.3 | points in steps of 0.5 | | | |", "RUBRIC_STEP:7:17"],
    ["| a | A | 1 | points in steps of 0 | | | |", "RUBRIC_KIND:7:15"],
    ["| a | A | 2 | levels: no=0, half=1 | | | |", "RUBRIC_LEVELS:7:15"],
    ["| a | A | 2 | levels: no=0, full=two | | | |", "RUBRIC_LEVELS:7:15"],
    ["| a | A | 2 | levels: a=0, A=2 | | | |", "RUBRIC_LEVELS:7:15"],
    ["| a | A | 2 | levels: a=-2, b=2 | | | |", "RUBRIC_LEVELS:7:15"],
    ["| a | A | 1 | | maybe | | |", "RUBRIC_EVIDENCE:7:17"],
    ["| a | A | 1 | | | tset | |", "RUBRIC_SOURCE:7:19"],
    ["| a | A | 1 | | | | | x |", "RUBRIC_CELLS:7:23"],
    ["| a | A | 1 |\n| A | B | 1 |", "RUBRIC_ID:8:3"],
    ["| a | A | 1 |\nb | B | 2 |\n| c | C | 3 |", "RUBRIC_ROW:8:1"],
    ["| a | A | 1 |\n  b | B | 2", "RUBRIC_ROW:8:3"],
    ["| a | A | 1 |\n\nb | B | 2", "RUBRIC_ROW:9:1"],
    ["| a | A | 1 |\n> | b | B | 2 |", "RUBRIC_ROW:8:1"],
    ["| a | A goes on\nhere | 1 |\n| b | B | 2 |", "RUBRIC_ROW:8:1"],
    ["| a | A | -1 |", "RUBRIC_POINTS:3:1"],
    ["", "RUBRIC_EMPTY:3:1"],
  ])("the mistake in %j is reported at its place", (row, code) => {
    expect(findings(HEAD + row)).toContain(code);
  });

  it("a sentence with a bar below the table is not read as a row", () => {
    expect(findings(`${HEAD}| a | A | 1 |\n\nSteps are 1 \\| 2 \\| 3, or \`a | b | c\`, or | alone.\n`)).toEqual([]);
  });

  it("findings suggest the right word", () => {
    const fix = (text: string) => readRubricFile(text, "r.md").findings[0]?.fix;
    expect(fix(`${HEAD}| a | A | 1 | binry |`)).toMatch("mean binary?");
    expect(fix(`${HEAD}| a | A | 1 | | | tset |`)).toMatch(/mean tests?\?/);
    expect(fix("# Rubrik\n")).toMatch('mean "# Rubric"');
    expect(fix("# Rubric\n| id | criterion | ponts |\n|-|-|-|\n")).toMatch("mean points?");
  });

  it("is reported if it is missing, has no table or appears twice", () => {
    expect(findings("# Nothing\n")).toEqual(["RUBRIC_MISSING:1:1"]);
    expect(findings("# Rubric\ntext\n")).toEqual(["RUBRIC_TABLE:1:1"]);
    expect(findings("# Rubric\n| id | points |\n|-|-|\n| a | 1 |\n")).toEqual(["RUBRIC_COLUMN:2:3"]);
    expect(findings(`${HEAD}| a | A | 1 |\n# Rubric\n`)).toEqual(["RUBRIC_TWICE:8:1"]);
  });
});
