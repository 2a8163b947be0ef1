import { type CriterionGrade, formatPoints, type Grade, readGradescopeResults } from "@markmill/grading";
import fc from "fast-check";
import { describe, expect, inject, it } from "vitest";
import { readTable } from "../../csv/read-table.ts";
import { writeTable } from "../../csv/write-table.ts";
import type { GradeSheet } from "../grade-sheet.ts";
import { canvasBook, importCanvas } from "../import-rules/canvas.ts";
import { checkExport } from "../import-rules/check-export.ts";
import { classroomTotals } from "../import-rules/classroom.ts";
import { gradescopeProblems } from "../import-rules/gradescope.ts";
import { importMoodle, moodleBook } from "../import-rules/moodle.ts";
import { gradeOf, row, sheetOf } from "../testing-sheet.ts";
import { exportGrades } from "./export-grades.ts";
import { fileNameOf } from "./file-name.ts";
import { rescalePoints } from "./rescale-points.ts";

/** With `npm run test:soak`, 20,000 random rubrics are tested. */
const RANDOM_RUBRICS = inject("thorough") ? 20_000 : 300;

const graded = (...points: number[]) => gradeOf({ is: "graded" }, points);
const four = sheetOf([
  row("101", "Ada Lovelace", graded(6, 3.5), '=HYPERLINK("http://x")\nsecond <line>'),
  row("102", "Jörg Müller", gradeOf({ is: "ungradable", why: "empty" }, [null, null])),
  row("103", "Zoë O'Neil", gradeOf({ is: "needs human", why: ["x"] }, [6, null])),
  row("104", "Wei Zhang", null),
]);
const codes = (exported: ReturnType<typeof exportGrades>) => exported.findings.map(({ code }) => code);
const text = (exported: ReturnType<typeof exportGrades>, index = 0) => {
  if (!exported.ok) throw new Error(JSON.stringify(exported.findings));
  return exported.files[index]?.text ?? "";
};

describe("exporting to Canvas", () => {
  const template = `Student,ID,SIS User ID,SIS Login ID,Section,Sheet 2 (11),Sheet 3 (12),Sheet 3 Current Score\r
    Points Possible,,,,,5.00,10.00,(read only)\r
"Lovelace, Ada",101,007,ada,A,4.00,,\r
"Müller, Jörg",102,008,jm,A,,2.00,\r
"O'Neil, Zoë",103,009,zoe,A,,EX,\r
"Zhang, Wei",104,010,wei,A,,,\r
"Student, Test",199,,,A,,,\r
`;

  it("writes grades in one column, keeps ids and zeros, and changes no other cell", () => {
    const exported = exportGrades("canvas", four, { template });
    expect(text(exported)).toBe(
      "Student,ID,SIS User ID,SIS Login ID,Section,Sheet 3 (12)\r\n" +
        '"    Points Possible",,,,,10.00\r\n' +
        '"Lovelace, Ada",101,007,ada,A,9.5\r\n"Müller, Jörg",102,008,jm,A,2.00\r\n"O\'Neil, Zoë",103,009,zoe,A,EX\r\n"Zhang, Wei",104,010,wei,A,\r\n',
    );
    expect(exported).toMatchObject({ ok: true, written: 1 });
    expect(checkExport("canvas", exported.ok ? exported.files : [], template)).toEqual({ problems: [], changes: 1 });
  });

  it("reports a missing assignment, different points and a missing template", () => {
    expect(codes(exportGrades("canvas", four))).toEqual(["EXPORT_TEMPLATE"]);
    expect(codes(exportGrades("canvas", four, { template: "a,b\n1,2\n" }))).toEqual(["CANVAS_TEMPLATE"]);
    expect(exportGrades("canvas", four, { template, assignment: "Sheet 4" }).findings[0]).toMatchObject({
      code: "CANVAS_ASSIGNMENT",
      fix: expect.stringMatching("Sheet 3 \\(12\\)"),
    });
    expect(codes(exportGrades("canvas", four, { template, assignment: "11" }))).toEqual(["CANVAS_POINTS"]);
    expect(text(exportGrades("canvas", four, { template, assignment: "11", rescale: true }))).toMatch("ada,A,4.75\r\n");
  });

  it("reports excused students and students without a row", () => {
    const more = sheetOf([row("103", "Zoë O'Neil", graded(1, 1)), row("999", "Nobody", graded(1, 1))]);
    expect(codes(exportGrades("canvas", more, { template }))).toEqual(["CANVAS_EXCUSED", "EXPORT_NO_ROW"]);
  });

  it("leaves out only the row whose key begins like a formula, with its line", () => {
    for (const evil of ['"=cmd()",104', '"Zhang, Wei",-104', '"Zhang, Wei",@104', '"+Wei",104']) {
      const file = template.replace('"Zhang, Wei",104', evil);
      const exported = exportGrades("canvas", four, { template: file });
      expect(exported).toMatchObject({ ok: true, written: 1 });
      expect(exported.findings).toMatchObject([{ severity: "left out", code: "EXPORT_KEY_FORMULA", line: 6 }]);
      expect(text(exported)).toMatch("ada,A,9.5\r\n");
      expect(text(exported)).not.toMatch("104");
    }
  });

  it("never rescales to or from 0 or an empty maximum", () => {
    const none = { ...four, most: 0 };
    for (const possible of ["", "0", "0.00", "abc", "-5"]) {
      const file = template.replace("5.00,10.00", `5.00,${possible}`);
      expect(codes(exportGrades("canvas", four, { template: file, rescale: true }))).toEqual(["EXPORT_RESCALE"]);
    }
    expect(codes(exportGrades("canvas", none, { template, rescale: true }))).toEqual(["EXPORT_RESCALE"]);
    expect(codes(exportGrades("canvas", none, { template }))).toEqual(["CANVAS_POINTS"]);
  });

  it("causes no change at a second import, with any grades and separator", () => {
    const points = fc.option(fc.integer({ min: 0, max: 4000 }), { nil: null });
    fc.assert(
      fc.property(
        fc.array(points, { minLength: 1, maxLength: 20 }),
        fc.constantFrom(",", ";"),
        fc.boolean(),
        (all, separator, bom) => {
          const header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Sheet 3 (12)"];
          const people = all.map((_, index) => [
            `Nme, F;"${index}`,
            String(index + 1),
            `00${index}`,
            `l${index}`,
            "A",
            index % 3 === 0 ? "1.5" : "",
          ]);
          const file = writeTable([header, ["    Points Possible", "", "", "", "", "10"], ...people], {
            separator,
            bom,
          });
          const sheet = sheetOf(
            all.map((value, index) =>
              row(String(index + 1), `F Nme ${index}`, value === null ? null : graded(6, value / 1000)),
            ),
          );
          const out = text(exportGrades("canvas", sheet, { template: file }));
          const first = importCanvas(canvasBook(file), out);
          expect(first).toMatchObject({ error: null, newAssignments: [], newStudents: [], pointsChanged: [] });
          for (const [index, value] of all.entries()) {
            const wanted =
              value === null
                ? index % 3 === 0
                  ? "1.50"
                  : undefined
                : (Math.round((6000 + value) / 10) / 100).toFixed(2);
            expect(first.after.scores[`${index + 1}/12`] || undefined).toBe(wanted);
          }
          expect(importCanvas(first.after, out).changes).toEqual([]);
        },
      ),
    );
  });
});

describe("the import rules of Canvas", () => {
  const book = canvasBook(
    'Student,ID,SIS User ID,SIS Login ID,Section,A (1)\nPoints Possible,,,,,5\n"L, A",7,07,a,S,3\n',
  );
  const after = (file: string) => importCanvas(book, file);

  it.each([
    ["Student,ID,Section\nx,7,S\n", "Invalid header row"],
    ["Name,ID,SIS User ID,Section,A (1)\n", "Invalid header row"],
    ["Student,ID,SIS Login ID,SIS User ID,Section,A (1)\n", "Invalid header row"],
    ["Student,ID,SIS User ID,Section,A (1)\n", null],
    ["LastName,FirstName,ID,Section,A (1)\n", null],
  ])("accept or reject the header of %j", (file, error) => {
    expect(after(file).error).toBe(error);
  });

  it("recognise new assignments, different points, unknown students, and changes at two decimals", () => {
    const file =
      'Student,ID,Section,A (1),B,Final Score,C (read only)\nPoints Possible,,,6,,,\n"L, A",7,S,3.001,4,1,1\nStranger,8,S,1,,,\n';
    expect(after(file)).toMatchObject({
      newAssignments: ["B"],
      pointsChanged: ["A"],
      newStudents: ["Stranger"],
      changes: [{ student: "7", assignment: "new-B", to: "4.00" }],
    });
    expect(after("Student;ID;Section;A (1)\nx;7;S;3,5\n").changes).toMatchObject([{ from: "3.00", to: "3.50" }]);
  });
});

describe("exporting to Moodle", () => {
  const template = `\ufeffIdentifier,"Full name","Email address",Status,Grade,"Maximum Grade","Grade can be changed","Last modified (submission)","Last modified (grade)","Feedback comments"
"Participant 101","Ada Lovelace",ada@x.org,s,,10.00,Yes,-,-,
"Participant 102","Jörg Müller",j@x.org,s,5.00,10.00,Yes,-,"2026-11-01T10:00:00Z",old
"Participant 103","Zoë O'Neil",z@x.org,s,,10.00,No,-,-,
`;

  it("writes grade and feedback into the teacher's own worksheet, and makes feedback harmless", () => {
    const exported = exportGrades("moodle", four, { template });
    const rows = readTable(text(exported)).rows.map(({ cells }) => cells.map((cell) => cell.text));
    expect(rows[1]?.[4]).toBe("9.5");
    expect(rows[1]?.[9]).toBe(`'=HYPERLINK("http://x")<br>second &lt;line&gt;`);
    expect(rows[2]).toEqual(readTable(template).rows[2]?.cells.map((cell) => cell.text));
    expect(checkExport("moodle", exported.ok ? exported.files : [], template)).toEqual({ problems: [], changes: 1 });
  });

  it("reports locked grades, different points, and a file that is not a worksheet", () => {
    const locked = sheetOf([row("103", "Zoë", graded(1, 1))]);
    const exported = exportGrades("moodle", locked, { template });
    expect(exported.findings).toMatchObject([{ severity: "left out", code: "MOODLE_LOCKED", line: 4 }]);
    expect(text(exported)).toMatch('"Participant 103","Zoë O\'Neil",z@x.org,s,,10.00,No,-,-,'.replaceAll('"', ""));
    expect(exported).toMatchObject({ ok: true, written: 0 });
    expect(checkExport("moodle", exported.ok ? exported.files : [], template).problems).toEqual([]);
    expect(codes(exportGrades("moodle", four, { template: template.replaceAll("10.00", "20.00") }))).toContain(
      "MOODLE_POINTS",
    );
    expect(codes(exportGrades("moodle", four, { template: "a,b\n1,2\n" }))).toEqual(["MOODLE_TEMPLATE"]);
    expect(codes(exportGrades("moodle", four))).toEqual(["EXPORT_TEMPLATE"]);
  });

  it("writes all other rows if one key begins like a formula", () => {
    const file = template.replace("j@x.org", "@x.org");
    const both = sheetOf([row("101", "Ada Lovelace", graded(6, 3)), row("102", "Jörg Müller", graded(1, 1))]);
    const exported = exportGrades("moodle", both, { template: file });
    expect(exported).toMatchObject({ ok: true, written: 1 });
    expect(exported.findings).toMatchObject([{ code: "EXPORT_KEY_FORMULA", line: 3, severity: "left out" }]);
    expect(exported.findings[0]?.message).toMatch("Jörg Müller");
    expect(text(exported)).not.toMatch("Participant 102");
  });

  it("never rescales to or from 0 or an empty maximum", () => {
    for (const limit of ["", "0.00", "-", "ten"]) {
      const file = template.replaceAll("10.00", limit);
      expect(codes(exportGrades("moodle", four, { template: file, rescale: true }))).toEqual(["EXPORT_RESCALE"]);
      expect(codes(exportGrades("moodle", four, { template: file }))).toEqual(["MOODLE_POINTS"]);
    }
    const none = { ...four, most: 0 };
    expect(codes(exportGrades("moodle", none, { template, rescale: true }))).toEqual(["EXPORT_RESCALE"]);
    const twenty = template.replaceAll("10.00", "20.00");
    expect(
      readTable(text(exportGrades("moodle", four, { template: twenty, rescale: true }))).rows[1]?.cells[4]?.text,
    ).toBe("19");
  });

  it("keeps ID numbers and participant numbers apart", () => {
    const file = `Identifier,"Full name","ID number",Grade,"Maximum Grade","Last modified (grade)"
"Participant 102","Ada Lovelace",101,,10.00,-
"Participant 101","Alan Turing",102,,10.00,-
`;
    const both = sheetOf([row("101", "Ada Lovelace", graded(3, 0)), row("102", "Alan Turing", graded(5, 0))]);
    const rows = readTable(text(exportGrades("moodle", both, { template: file }))).rows;
    expect(rows.map(({ cells }) => cells[3]?.text)).toEqual(["Grade", "3", "5"]);
  });

  it("uses the site's decimal comma if it has one", () => {
    const german = `ID,"Vollständiger Name",Bewertung,Bestwertung,"Zuletzt geändert (Bewertung)","Feedback als Kommentar"\n"Teilnehmer/in 101","Ada Lovelace",,"10,00",-,\n`;
    const exported = exportGrades("moodle", four, { template: german });
    expect(text(exported)).toMatch('"9,5"');
    expect(checkExport("moodle", exported.ok ? exported.files : [], german)).toEqual({ problems: [], changes: 1 });
  });

  it("explains why rows would be skipped", () => {
    const book = moodleBook(template);
    if (book === null) throw new Error("no book");
    const file = (id: string, grade: string, modified = "-") =>
      `Identifier,Grade,"Last modified (grade)","Feedback comments"\n"Participant ${id}","${grade}",${modified},\n`;
    const why = (...args: [string, string, string?]) => importMoodle(book, file(...args), 1).skipped[0]?.why ?? null;
    expect(why("101", "")).toBe("empty");
    expect(why("101", "-1")).toBe("negative");
    expect(why("101", "10.5")).toBe("above maximum");
    expect(why("101", "good")).toBe("no number");
    expect(why("102", "5")).toBe("equal");
    expect(why("102", "6")).toBe("newer");
    expect(why("102", "6", "2026-11-01T10:00:00Z")).toBeNull();
    expect(why("103", "6")).toBe("locked");
    expect(why("999", "6")).toBe("unknown");
    expect(moodleBook("Ident,Arvosana\n")).toBeNull();
  });

  it("causes no change at a second import, with any grades", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 20 }),
        fc.string(),
        (all, feedback) => {
          const lines = all.map((_, index) => `"Participant ${index + 1}",x${index},,10.00,-,`);
          const file = `Identifier,"Full name",Grade,"Maximum Grade","Last modified (grade)","Feedback comments"\n${lines.join("\n")}\n`;
          const sheet = sheetOf(
            all.map((value, index) => row(String(index + 1), `x${index}`, graded(6, value / 100), feedback)),
          );
          const out = text(exportGrades("moodle", sheet, { template: file }));
          const book = moodleBook(file);
          if (book === null) throw new Error("no book");
          const first = importMoodle(book, out, 100);
          expect(first.updates.map(({ grade }) => grade)).toEqual(all.map((value) => Math.round(600 + value) / 100));
          expect(importMoodle(first.after, out, 200, true).updates).toEqual([]);
        },
      ),
    );
  });
});

describe("exporting to Gradescope and GitHub Classroom", () => {
  it("writes a results.json that Gradescope's rules and our own reader accept", () => {
    const exported = exportGrades("gradescope", four);
    expect(exported).toMatchObject({ ok: true, written: 1, files: [{ name: "gradescope/101/results.json" }] });
    expect(codes(exported)).toEqual(["EXPORT_NO_GRADE", "EXPORT_NO_GRADE", "EXPORT_NO_GRADE"]);
    expect(gradescopeProblems(text(exported))).toEqual([]);
    expect(readGradescopeResults(text(exported))).toMatchObject({
      is: "read",
      results: { score: 9.5, tests: [{ score: 6 }, { score: 3.5 }] },
    });
  });

  it.each([
    ["{}", /neither a score/],
    ['{"score":"1"}', /score/],
    ['{"score":1,"output":"a\\r\\n"}', /output/],
    ['{"tests":[{"score":1,"status":"pass"}]}', /tests\.0\.status/],
    ['{"score":1,"visibility":"never"}', /visibility/],
    ['{"score":1,"tests":{}}', /tests/],
    ["[]", /no object/],
  ])("reports %s as a violation of Gradescope's rules", (json, problem) => {
    expect(gradescopeProblems(json).join()).toMatch(problem);
  });

  it("writes results that both of Classroom's calculations count equally, for any points", () => {
    const points = fc.integer({ min: 0, max: 60 }).map((tenths) => tenths / 10);
    fc.assert(
      fc.property(points, fc.integer({ min: 0, max: 16 }), (one, quarters) => {
        const exported = exportGrades("classroom", sheetOf([row("1", "A", graded(one, quarters / 4))]));
        const { table, notice, most } = classroomTotals(text(exported));
        expect(table).toBeCloseTo(one + quarters / 4, 6);
        expect(notice).toBeCloseTo(one + quarters / 4, 6);
        expect(most).toBe(10);
        expect(checkExport("classroom", exported.ok ? exported.files : []).problems).toEqual([]);
      }),
    );
  });
});

describe("exporting grades of random rubrics", () => {
  // Points with up to three decimals, as in real rubrics.
  const criterion = fc.tuple(fc.integer({ min: 1, max: 20_000 }), fc.double({ min: 0, max: 1, noNaN: true }));
  const rubric = fc.array(criterion, { minLength: 1, maxLength: 8 });
  const sheetFor = (all: readonly (readonly [number, number])[]): GradeSheet => {
    const made = all.map(([most], at) => ({ id: `c${at}`, title: `C ${at}`, points: most / 1000 }));
    const marks = all.map(([most, share]) => Math.floor(most * share) / 1000);
    const sum = (points: readonly number[]) => points.reduce((total, one) => total + Math.round(one * 1000), 0) / 1000;
    const scored = made.map(({ id }, at) => ({
      is: "scored",
      id,
      by: "llm",
      points: marks[at] ?? 0,
      level: null,
      comment: "",
      evidence: [],
      confidence: null,
      tests: [],
      notes: [],
    })) as readonly CriterionGrade[];
    const total = sum(marks);
    const grade: Grade = {
      outcome: { is: "graded" },
      criteria: scored,
      points: total,
      most: sum(made.map((one) => one.points)),
      penalty: null,
      total,
      flags: [],
      nextSteps: [],
    };
    return { title: "Sheet 3", most: grade.most, criteria: made, rows: [row("1", "Ada", grade, "")] };
  };

  it("is accepted by every importer, with the exact points and no extra digits", () => {
    fc.assert(
      fc.property(rubric, (all) => {
        const sheet = sheetFor(all);
        const total = sheet.rows[0]?.grade?.total ?? 0;
        const canvas = `Student,ID,Section,Sheet 3 (12)\nPoints Possible,,,${sheet.most}\nAda,1,A,\n`;
        const moodle = `Identifier,Grade,"Maximum Grade","Last modified (grade)"\n"Participant 1",,${sheet.most},-\n`;
        for (const [to, template] of [
          ["canvas", canvas],
          ["moodle", moodle],
          ["gradescope"],
          ["classroom"],
          ["csv"],
        ] as const) {
          const exported = exportGrades(to, sheet, template === undefined ? {} : { template });
          expect(exported).toMatchObject({ ok: true, written: 1, findings: [] });
          if (!exported.ok) continue;
          expect(checkExport(to, exported.files, template).problems).toEqual([]);
          expect(exported.files[0]?.text).not.toMatch(/\d\.\d{4}/);
          if (to === "classroom") expect(classroomTotals(text(exported)).notice).toBeCloseTo(total, 9);
          if (to === "gradescope") expect(JSON.parse(text(exported)).score).toBe(total);
        }
      }),
      { numRuns: RANDOM_RUBRICS },
    );
  }, 240_000);

  it("rescales points to the value that exact calculation gives", () => {
    expect(rescalePoints(1.1, 3.3, 10)).toBe("3.33");
    expect(rescalePoints(3.3, 3.3, 100)).toBe("100");
    expect(rescalePoints(0.005, 1, 1)).toBe("0.01");
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 9999 }), fc.integer({ min: 1, max: 9999 }), (points, most) => {
        const [rounded, limit] = [formatPoints(points / 1000, 2), most / 1000];
        // Rounding up never exceeds the maximum.
        const capped = points <= most && Number(rounded) > limit ? String(limit) : rounded;
        expect(rescalePoints(points / 1000, limit, limit)).toBe(capped);
        expect(rescalePoints(most / 1000, most / 1000, 100)).toBe("100");
      }),
    );
  });
});

describe("exporting our own table", () => {
  it("writes a row for every student, a number only for a grade, and no formula", () => {
    const rows = readTable(text(exportGrades("csv", four))).rows.map(({ cells }) => cells.map((cell) => cell.text));
    expect(rows.map((cells) => [cells[5], cells[6]])).toEqual([
      ["status", "total"],
      ["graded", "9.5"],
      ["ungradable", ""],
      ["needs human", ""],
      ["nothing handed in", ""],
    ]);
    expect(rows[1]?.at(-1)).toMatch(/^'=HYPERLINK/);
  });

  it("has a column for commits if submissions came from repositories", () => {
    const commit = "c".repeat(40);
    const rows = [{ ...row("1", "Ada", graded(1, 1)), commit }, row("2", "Alan", graded(1, 2))];
    const table = readTable(text(exportGrades("csv", sheetOf(rows)))).rows.map(({ cells }) =>
      cells.map((one) => one.text),
    );
    const at = table[0]?.indexOf("commit") ?? -1;
    expect(table.map((cells) => cells[at])).toEqual(["commit", commit, ""]);
    expect(text(exportGrades("json", sheetOf(rows)))).toContain(`"commit": "${commit}"`);
    expect(text(exportGrades("csv", four))).not.toContain("commit");
  });

  it("leaves out only the student whose key begins like a formula, by name", () => {
    const exported = exportGrades("csv", sheetOf([row("-12", "Ada", graded(1, 1)), row("12", "Alan", graded(1, 2))]));
    expect(exported).toMatchObject({ ok: true, written: 1, findings: [{ severity: "left out" }] });
    expect(exported.findings[0]?.message).toMatch("Ada");
    expect(text(exported)).toMatch("Alan");
    expect(text(exported)).not.toMatch("-12");
  });

  it("never writes a cell that a spreadsheet would run, whatever students write", () => {
    const evil = fc.string({ unit: fc.constantFrom(..."=+-@\t\r\n ,;\"'ab1") });
    fc.assert(
      fc.property(evil, evil, (name, feedback) => {
        const exported = exportGrades("csv", sheetOf([row("1", name, graded(1, 1), feedback)]));
        for (const { cells } of readTable(text(exported)).rows)
          for (const cell of cells) expect(cell.text).not.toMatch(/^[=+\-@\t\r]/);
      }),
    );
  });

  it("writes JSON with a version for programs", () => {
    expect(JSON.parse(text(exportGrades("json", four)))).toMatchObject({
      version: 1,
      rows: [{ status: "graded" }, {}, {}, {}],
    });
  });
});

describe("the file name of a student", () => {
  it.each(["ada", "Ada", "../../etc", "a/b", "con", "", "张伟", "Ada ", "-rf"])("for %j is safe", (key) => {
    expect(fileNameOf(key)).toMatch(/^[A-Za-z0-9@+][A-Za-z0-9._@+-]*$/);
  });

  it("is unique", () => {
    const keys = ["ada", "Ada", "ADA", "a da", "a_da", "á", "a", "张伟", "张三"];
    expect(new Set(keys.map((key) => fileNameOf(key).toLowerCase())).size).toBe(keys.length);
  });
});
