import fc from "fast-check";
import { describe, expect, inject, it } from "vitest";
import { readTable } from "../../csv/read-table.ts";
import { writeTable } from "../../csv/write-table.ts";
import type { GradeRow } from "../grade-sheet.ts";
import { gradeOf, sheetOf } from "../testing-sheet.ts";
import { exportGrades } from "./export-grades.ts";
import { matchRows, type RowKeys } from "./match-rows.ts";

type Keys = Omit<GradeRow["student"], "key" | "name">;
const student = (key: string, name: string, keys: Keys = {}): GradeRow => ({
  student: { key, name, ...keys },
  grade: gradeOf({ is: "graded" }, [1, 1]),
  feedback: "",
});
const row = (line: number, name: string, keys: RowKeys = {}) => ({ line, name, keys });
const shown = (...args: Parameters<typeof matchRows>) =>
  matchRows(...args).rows.map((one) =>
    one.is === "matched" ? one.student.student.key : one.is === "doubtful" ? `? ${one.doubt.is}` : null,
  );

describe("matching rows of a platform's file with students", () => {
  it("keeps ids, SIS ids, logins and e-mail addresses apart", () => {
    const people = [
      student("a", "Ada", { id: "7", login: "x" }),
      student("b", "Alan", { id: "8", sisId: "7", login: "8" }),
    ];
    expect(shown(people, [row(2, "Ada", { id: "7", sisId: "1" }), row(3, "Alan", { id: "8", sisId: "7" })])).toEqual([
      "a",
      "b",
    ]);
    expect(shown(people, [row(2, "", { login: "8" }), row(3, "", { login: "x" })])).toEqual(["b", "a"]);
    expect(shown(people, [row(2, "", { email: "7" })])).toEqual([null]);
  });

  it("leaves out a row with the key of one student and the name of another", () => {
    const people = [student("a", "Ada Lovelace", { id: "7" }), student("b", "Alan Turing", { id: "8" })];
    expect(shown(people, [row(2, "Turing, Alan", { id: "7" })])).toEqual(["? other name"]);
  });

  it("leaves out a row with the keys of two students, and names both", () => {
    const people = [student("a", "Anna Schmidt", { id: "7" }), student("b", "Anna Schmidt", { login: "as" })];
    const { rows } = matchRows(people, [row(2, "Schmidt, Anna", { id: "7", login: "as" })]);
    expect(rows).toMatchObject([{ is: "doubtful", doubt: { is: "several students", students: people } }]);
  });

  it("leaves out a row whose name fits another student better than the student with its key", () => {
    const people = [student("a", "Anna Schmidt", { id: "7" }), student("b", "Anna Schmidt-Meier", { id: "8" })];
    expect(shown(people, [row(2, "Schmidt-Meier, Anna", { id: "7" })])).toEqual(["? other name"]);
  });

  it("leaves out a row with the id of one student and the e-mail address of another, with any name", () => {
    const people = [student("a", "Ada Lovelace", { id: "7" }), student("b", "Alan Turing", { email: "b@x.org" })];
    expect(shown(people, [row(2, "Lovelace, Ada", { id: "7", email: "b@x.org" })])).toEqual(["? several students"]);
  });

  it("leaves out both rows if both have keys of one student", () => {
    const people = [student("a", "Ada", { id: "7", login: "ada" })];
    expect(shown(people, [row(2, "Ada", { id: "7" }), row(3, "Ada", { login: "ada" })])).toEqual([
      "? several rows",
      "? several rows",
    ]);
  });

  it("does not use the name if a key differs, or if the student already has a row", () => {
    const two = [student("1", "Anna Schmidt", { id: "1" }), student("2", "Anna Schmidt", { id: "2" })];
    expect(shown(two, [row(2, "Schmidt, Anna", { id: "1" }), row(3, "Schmidt, Anna", { id: "3" })])).toEqual([
      "1",
      "? other key",
    ]);
    const one = [student("1", "Anna Schmidt", { id: "1" })];
    expect(shown(one, [row(2, "Schmidt, Anna", { id: "1" }), row(3, "Schmidt, Anna")])).toEqual(["1", null]);
    expect(shown(one, [row(2, "Schmidt, Anna", { id: "9" })])).toEqual(["? other key"]);
  });

  it("uses a unique name if no key can be compared", () => {
    const people = [student("a", "Ada Lovelace", { login: "ada" }), student("b", "Jörg Müller", { login: "jm" })];
    expect(shown(people, [row(2, "Mueller, Joerg", { id: "5" }), row(3, "Lovelace, Ada", { id: "6" })])).toEqual([
      "b",
      "a",
    ]);
    expect(shown(people, [row(2, "Ada Lovelace"), row(3, "Lovelace, Ada")])).toEqual([
      "? several rows",
      "? several rows",
    ]);
    const twins = [student("a", "Ada Lovelace"), student("b", "Lovelace, Ada")];
    expect(shown(twins, [row(2, "Ada Lovelace")])).toEqual(["? several students"]);
  });

  it("leaves out a row of a student who may also be another row, if the numbers do not decide", () => {
    const people = [student("3", "Anna Schmidt", { id: "4" }), student("4", "Anna Schmidt", { id: "5" })];
    const rows = [
      row(2, "Anna Schmidt", { participant: "4", id: "1" }),
      row(3, "Anna Schmidt", { participant: "5", id: "4" }),
      row(4, "Anna Schmidt", { participant: "3", id: "5" }),
    ];
    expect(shown(people, rows, { alsoId: "participant" })).toEqual([
      "? several rows",
      "? several students",
      "? several rows",
    ]);
  });

  it("treats the roster's only number as the kind that fits the whole file", () => {
    const people = [
      student("4", "Ada", { id: "4" }),
      student("5", "Alan", { id: "5" }),
      student("6", "Anna", { id: "6" }),
    ];
    const rows = [
      row(2, "Ada", { participant: "5", id: "4" }),
      row(3, "Alan", { participant: "4", id: "5" }),
      row(4, "Anna", { participant: "9", id: "6" }),
    ];
    expect(shown(people, rows, { alsoId: "participant" })).toEqual(["4", "5", "6"]);
    const swapped = rows.map(({ keys, ...rest }) => ({
      ...rest,
      keys: { participant: keys.id ?? "", id: keys.participant ?? "" },
    }));
    expect(shown(people, swapped, { alsoId: "participant" })).toEqual(["4", "5", "6"]);
    const known = people.map((one) => ({ ...one, student: { ...one.student, participant: "1" } }));
    expect(shown(known, swapped, { alsoId: "participant" })).toEqual(["? other name", "? other name", "? other key"]);
  });
});

// Each person has keys at the platform. The roster contains some of them. Numbers and logins come from small pools, so that kinds clash.
const pool = 6;
const people = fc
  .integer({ min: 1, max: pool })
  .chain((count) =>
    fc.tuple(
      ...["platform", "second", "login", "email"].map(() =>
        fc.shuffledSubarray([1, 2, 3, 4, 5, 6], { minLength: count, maxLength: count }),
      ),
      fc.array(fc.constantFrom("Anna Schmidt", "Schmidt, Anna", "Ada Lovelace", "Alan Turing"), {
        minLength: count,
        maxLength: count,
      }),
      fc.array(fc.record({ second: fc.boolean(), login: fc.boolean(), email: fc.boolean() }), {
        minLength: count,
        maxLength: count,
      }),
      fc.shuffledSubarray([0, 1, 2, 3, 4, 5].slice(0, count), { minLength: count, maxLength: count }),
    ),
  )
  .map(([platform, second, login, email, names, has, order]) =>
    (names as string[]).map((name, at) => ({
      name,
      has: (has as { second: boolean; login: boolean; email: boolean }[])[at],
      place: (order as number[])[at] ?? 0,
      platform: String((platform as number[])[at]),
      second: String((second as number[])[at]),
      login: String((login as number[])[at]),
      email: `${(email as number[])[at]}`,
      points: at + 1,
    })),
  );
type Person =
  Extract<typeof people, fc.Arbitrary<unknown>> extends fc.Arbitrary<infer T>
    ? T extends (infer P)[]
      ? P
      : never
    : never;

const sheetFor = (all: readonly Person[], keysOf: (one: Person) => Keys) =>
  sheetOf(
    all.map((one, at) => ({
      student: { key: `key${at}`, name: one.name, ...keysOf(one) },
      grade: gradeOf({ is: "graded" }, [one.points, 0]),
      feedback: `for ${at}`,
    })),
  );
const inOrder = (all: readonly Person[]) => [...all].sort((one, other) => one.place - other.place);
const cellsOf = (text: string) => readTable(text).rows.map(({ cells }) => cells.map((cell) => cell.text));

describe("random classes with clashing keys and shuffled files", () => {
  it("never get a grade into another student's row of Canvas", () => {
    fc.assert(
      fc.property(people, fc.boolean(), (all, withId) => {
        const sheet = sheetFor(all, ({ platform, second, login, email, has }) => ({
          ...(withId ? { id: platform } : {}),
          ...(has?.second ? { sisId: second } : {}),
          ...(has?.login ? { login } : {}),
          ...(has?.email ? { email } : {}),
        }));
        const header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Sheet 3 (12)"];
        const rows = inOrder(all).map((one) => [one.name, one.platform, one.second, one.login, "A", ""]);
        const template = writeTable([header, ["Points Possible", "", "", "", "", "10"], ...rows]);
        const exported = exportGrades("canvas", sheet, { template });
        if (!exported.ok) throw new Error(JSON.stringify(exported.findings));
        for (const cells of cellsOf(exported.files[0]?.text ?? "").slice(2)) {
          const owner = all.find(({ platform }) => platform === cells[1]);
          expect(["", String(owner?.points)]).toContain(cells[5]);
        }
        // The platform's own number is enough once the roster distinguishes it from the SIS id.
        if (withId && all.some(({ has }) => has?.second)) expect(exported.written).toBe(all.length);
      }),
      { numRuns: inject("thorough") ? 10_000 : 400 },
    );
  });

  it("never get a grade or feedback into another student's row of Moodle", () => {
    fc.assert(
      fc.property(people, fc.boolean(), fc.boolean(), (all, participants, numbers) => {
        const sheet = sheetFor(all, ({ platform, second, email, has }) => ({
          ...(participants ? { participant: platform } : {}),
          ...(has?.second ? { id: second } : {}),
          ...(has?.email ? { email } : {}),
        }));
        const header = [
          "Identifier",
          "Full name",
          "ID number",
          "Email address",
          "Grade",
          "Maximum Grade",
          "Last modified (grade)",
          "Feedback comments",
        ];
        const rows = inOrder(all).map((one) => [
          ...[
            `Participant ${one.platform}`,
            one.name,
            numbers || participants ? one.second : "",
            one.email,
            "",
            "10.00",
            "-",
            "",
          ],
        ]);
        // Without a participant number and without ID numbers at the platform, a roster's id is treated as the participant number.
        if (!participants && !numbers) return;
        const exported = exportGrades("moodle", sheet, { template: writeTable([header, ...rows]) });
        if (!exported.ok) throw new Error(JSON.stringify(exported.findings));
        for (const cells of cellsOf(exported.files[0]?.text ?? "").slice(1)) {
          const at = all.findIndex(({ platform }) => `Participant ${platform}` === cells[0]);
          expect(["", String(all[at]?.points)]).toContain(cells[4]);
          expect(["", `for ${at}`]).toContain(cells[7]);
        }
        if (participants) expect(exported.written).toBe(all.length);
      }),
      { numRuns: inject("thorough") ? 10_000 : 400 },
    );
  });

  it.each(["gradescope", "classroom"] as const)("get a separate file for each student (%s)", (to) => {
    fc.assert(
      fc.property(people, (all) => {
        const exported = exportGrades(
          to,
          sheetFor(all, ({ platform }) => ({ id: platform })),
        );
        if (!exported.ok) throw new Error(JSON.stringify(exported.findings));
        expect(new Set(exported.files.map(({ name }) => name.toLowerCase())).size).toBe(all.length);
        for (const [at, { points }] of all.entries()) {
          const file = exported.files.find(({ name }) => name.includes(`key${at}`))?.text ?? "";
          const total = to === "gradescope" ? JSON.parse(file).score : points;
          expect(total).toBe(points);
        }
      }),
      { numRuns: 100 },
    );
  });
});
