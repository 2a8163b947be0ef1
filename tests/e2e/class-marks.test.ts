// Teachers grade on the command line: accepting with an open criterion, two teachers, undo, a changed rubric.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type MarkmillPlace, makePlace } from "../support/markmill-process.ts";
import { type ResidentMarkmill, residentMarkmill } from "../support/resident-markmill.ts";

const names = (words: string) => `| names | ${words} | 2 | levels: poor=0, fair=1, good=2 | llm |`;
const talk = "| talk | Explains it in the lab | 3 | points in steps of 1 | human |";
const rubric = (...rows: readonly string[]) =>
  `# Rubric\n\n| id | criterion | points | kind | source |\n|---|---|---|---|---|\n${rows.join("\n")}\n`;
const workflow = `---
submission: required
rubric: rubric.md
grade: { twice: never }
---

# Small

# Workflow

\`\`\`mermaid
flowchart TD
    START --> GRADE_WORK["Grade: judge it"]
    GRADE_WORK --> SUCCESS
    GRADE_WORK --> |FALSE| FAILED
    SUCCESS@{ shape: stadium }
    FAILED@{ shape: stadium }
\`\`\`
`;
const verdict = {
  criteria: {
    names: {
      comment: "fine",
      level: "good",
      confidence: 0.9,
      evidence: [{ file: "a.js", line: 1, quote: "const total = add(1, 2)" }],
    },
  },
  nextSteps: [],
};

describe("the marks of a class", () => {
  let place: MarkmillPlace & { remove(): Promise<void> };
  let resident: ResidentMarkmill;
  const say = (...args: string[]) => resident.say(place, args);
  const grade = (...more: string[]) => say("grade", "c", "--script", "c/model.yaml", ...more);
  const write = (name: string, text: string) => writeFile(join(place.cwd, "c", name), text);
  const mark = (by: string, ...more: string[]) =>
    say("override", "1001", "--criterion", "talk", "--by", by, "--reason", "r", ...more);
  const listed = async () =>
    (JSON.parse((await say("review", "--list", "--json")).stdout) as { items: { students: string[] }[] }).items.flatMap(
      ({ students }) => students,
    );
  const statusOf = async (key: string) => {
    const { students } = JSON.parse((await say("status", "c", "--json")).stdout) as {
      students: {
        student: { key: string };
        status: string;
        total: number | null;
        released: { total: number } | null;
      }[];
    };
    return students.find(({ student }) => student.key === key);
  };

  beforeAll(async () => {
    resident = await residentMarkmill();
    place = await makePlace({}, { postgres: "running" });
    for (const key of ["1001", "1002"]) {
      await mkdir(join(place.cwd, "c/submissions", key), { recursive: true });
      await write(`submissions/${key}/a.js`, `const total = add(1, 2); // ${key}\n`);
    }
    await write("roster.csv", "id,name\n1001,Ada Byron\n1002,Bob Kahn\n");
    await write(
      "class.yaml",
      "name: Small\nroster: roster.csv\nsubmissions: submissions\nworkflow: grade.wf.md\nrubric: rubric.md\n",
    );
    await write("grade.wf.md", workflow);
    await write("rubric.md", rubric(names("Names say what things are"), talk));
    await write("model.yaml", JSON.stringify({ default: { verbatim: true, reply: JSON.stringify(verdict) } }));
  });
  afterAll(async () => {
    await resident.close();
    await place.remove();
  });

  it("accepting a submission with an open criterion leaves it on the review list, with the criterion named", async () => {
    expect(await grade()).toMatchObject({ code: 3 });
    expect(await listed()).toEqual(["1001", "1002"]);
    const accepted = await say("review", "--student", "1001", "--accept");
    expect(accepted).toMatchObject({ code: 3 });
    expect(accepted.stderr).toContain("accepted except for talk");
    expect(await listed()).toEqual(["1001", "1002"]);
    const other = await say("review", "--student", "1001", "--undo", "--by", "eve");
    expect(other).toMatchObject({ code: 1 });
    const [, entry = ""] = /--undo --entry (\d+)/.exec(other.stderr) ?? [];
    expect(await say("review", "--student", "1001", "--undo", "--entry", entry, "--by", "eve")).toMatchObject({
      code: 0,
    });
    expect(await say("review", "--student", "1001", "--undo")).toMatchObject({ code: 1 });
    expect((await say("status", "c")).stderr).toContain("Small: 2 needs human");
  });

  it("a colleague's mark is replaced only by naming it, and an undo restores it", async () => {
    expect(await mark("ada", "--points", "2")).toMatchObject({ code: 0, stdout: "4 of 5\n" });
    expect(await listed()).toEqual(["1002"]);
    const unseen = await mark("bob", "--points", "3");
    expect(unseen).toMatchObject({ code: 1, stdout: "" });
    expect(unseen.stderr).toMatch(/OVERRIDE_UNSEEN.*ada gave talk 2 points/);
    const [, id = ""] = /--replace (\d+)/.exec(unseen.stderr) ?? [];
    expect(await mark("bob", "--points", "3", "--replace", "99999")).toMatchObject({ code: 1 });
    expect(await mark("bob", "--points", "3", "--replace", id)).toMatchObject({ code: 0, stdout: "5 of 5\n" });
    const undone = await mark("bob", "--undo");
    expect(undone).toMatchObject({ code: 0, stdout: "4 of 5\n" });
    expect(undone.stderr).toContain("the mark of ada");
    expect(await mark("bob", "--undo")).toMatchObject({ code: 1 });
    const below = await mark("bob", "--points", "-1");
    expect(below).toMatchObject({ code: 2, stdout: "" });
    expect(below.stderr).toContain("talk is worth 0 to 3, not -1");
    expect((await say("review", "--student", "1001")).stdout).toMatch(/bob gave talk 3 .*taken back by entry/);
  });

  it("criteria that change places void no released grade", async () => {
    await say("release", "c");
    expect(await statusOf("1001")).toMatchObject({ status: "graded", total: 4, released: { total: 4 } });
    await write("rubric.md", rubric(talk, names("Names  say what things are")));
    const again = await grade();
    expect(again.stderr).not.toContain("the rubric of this class has changed");
    expect(await statusOf("1001")).toMatchObject({ status: "graded", total: 4, released: { total: 4 } });
  });

  it("a changed criterion is reported with the grades it voids before anything happens", async () => {
    await write("rubric.md", rubric(talk, names("Names say everything")));
    const told = await grade();
    expect(told).toMatchObject({ code: 1, stdout: "" });
    expect(told.stderr).toContain("changed: names");
    expect(told.stderr).toContain("1 released grade no longer valid");
    expect(told.stderr).toContain("CLASS_RUBRIC_CHANGED");
    expect(await statusOf("1001")).toMatchObject({ status: "graded", total: 4 });
    expect(await grade("--yes")).toMatchObject({ code: 3 });
    expect(await statusOf("1001")).toMatchObject({ status: "needs human", total: null });
    expect((await say("review", "--student", "1001")).stdout).toContain("talk: 2 of 3 by human");
    // After a return to the old rubric all grades stand as before.
    await write("rubric.md", rubric(names("Names say what things are"), talk));
    await grade("--yes");
    expect(await statusOf("1001")).toMatchObject({ status: "graded", total: 4, released: { total: 4 } });
  });

  it("the command that review shows decides which of a student's submissions counts", async () => {
    const people: Record<string, string> = {
      "1001": "Ada Byron",
      "1002": "Bob Kahn",
      "1003": "Cleo Diaz",
      "1004": "Dan Eco",
    };
    const submitted = (name: string, ...keys: string[]) =>
      `${name}:\n  :submitters:\n${keys.map((key) => `  - :name: ${people[key]}\n    :sid: "${key}"\n`).join("")}  :created_at: 2026-11-20 10:00:00 Z\n`;
    const works = { s1: ["1001", "1002"], s2: ["1001", "1003"], s3: ["1004"], s4: ["1004"] };
    for (const name of Object.keys(works)) {
      await mkdir(join(place.cwd, "pairs/submissions", name), { recursive: true });
      await write(`../pairs/submissions/${name}/a.js`, `const total = add(1, 2); // ${name}\n`);
    }
    const yaml = Object.entries(works).map(([name, keys]) => submitted(name, ...keys));
    await write("../pairs/submissions/submission_metadata.yml", `---\n${yaml.join("")}`);
    await write("../pairs/roster.csv", `id,name\n${Object.entries(people).join("\n")}\n`);
    await write("../pairs/grade.wf.md", workflow);
    await write("../pairs/rubric.md", rubric(names("Names say what things are")));
    await write(
      "../pairs/class.yaml",
      "name: Pairs\nroster: roster.csv\nsubmissions: submissions\nworkflow: grade.wf.md\nrubric: rubric.md\n",
    );
    const statuses = async () => {
      const { students } = JSON.parse((await say("status", "pairs", "--json")).stdout) as {
        students: { student: { key: string }; status: string; work: string | null }[];
      };
      return Object.fromEntries(students.map(({ student, status, work }) => [student.key, `${status} ${work}`]));
    };
    const first = await say("grade", "pairs", "--script", "c/model.yaml");
    expect(first).toMatchObject({ code: 3 });
    expect(first.stderr).toContain("--counts '1001=s1'");
    expect(await statuses()).toMatchObject({ "1002": "graded 1001+1002#1", "1003": "graded 1001+1003#1" });
    for (const [student, label] of [
      ["1001", "s2"],
      ["1004", "s3"],
    ] as const) {
      const shown = await say("review", "pairs", "--student", student);
      const command = shown.stderr.split("\n").find((line) => line.endsWith(`--counts '${student}=${label}'`));
      expect(command).toMatch(/^next: markmill grade /);
      // A mark of the student would belong to no submission. A mark of a named submission is kept.
      const refused = await say("override", student, "--criterion", "names", "--points", "1", "--reason", "r");
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toContain("STUDENT_UNDECIDED");
      expect(refused.stderr).toContain(`--counts '${student}=${label}'`);
      if (student === "1004")
        await say("override", "1004#1", "--criterion", "names", "--points", "1", "--reason", "r", "--by", "prof");
      const [, path = "", choice = ""] = /grade (\S+) --script FILE --counts '(.+)'$/.exec(command ?? "") ?? [];
      await say("grade", path, "--script", "c/model.yaml", "--counts", choice);
    }
    const settled = { "1001": "graded 1001+1003#1", "1004": "graded 1004#1" };
    expect(await statuses()).toMatchObject(settled);
    expect((await say("review", "pairs", "--student", "1004")).stdout).toContain("names: 1 of 2 by human");
    // The choice is stored until the teacher withdraws it.
    expect(await say("grade", "pairs")).toMatchObject({ code: 0 });
    expect(await statuses()).toMatchObject(settled);
    const released = await say("release", "pairs");
    expect(released).toMatchObject({ code: 0 });
    expect(released.stderr).toContain("released: 4\n");
    expect((await say("grade", "pairs")).stderr).not.toContain("next: markmill release");
    expect(await say("grade", "pairs", "--counts", "1004=")).toMatchObject({ code: 3 });
    expect((await say("release", "pairs")).stderr).toMatch(
      /released: 0, 3 before, 1 left out:\n {2}Dan Eco: needs human: .*s3, s4/,
    );
    expect((await statuses())["1004"]).toContain("needs human");
    expect(await say("grade", "pairs", "--counts", "nobody=s1")).toMatchObject({ code: 1 });
    expect(await say("grade", "pairs", "--counts", "1004=s1")).toMatchObject({ code: 6 });
  });
});
