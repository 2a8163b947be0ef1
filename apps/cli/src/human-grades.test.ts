import { classSheet } from "@markmill/stack";
import { batchOf, gradeOf, rubric, workOf } from "@markmill/stack/testing-batch";
import { describe, expect, it } from "vitest";
import { agreementRows, agreementTable, readHumanGrades } from "./human-grades.ts";

const members = ["1", "2", "3", "4"].map((key) => ({ key, name: `Öberg ${key}` }));
const works = [
  [6, 4],
  [4, 2],
  [2, 2],
  [0, 1],
].map((points, at) => workOf(String(at + 1), gradeOf(points)));
const { sheet } = classSheet(batchOf(), members, works);
const proposals = new Map(
  works.map((work) => [
    work.by[0] ?? "",
    gradeOf(
      work.proposal === null
        ? []
        : [...work.proposal.grade.criteria.map((one) => (one.is === "scored" ? one.points : null))],
    ),
  ]),
);
const bytes = (text: string) => Buffer.from(text);

describe("grades by people", () => {
  it("are compared per criterion and in total", () => {
    const read = readHumanGrades(
      bytes(
        "\ufeffname;tests;Names say what things are;total\nöberg 1;6;3;9\nÖberg 2;4;2;6\nÖberg 3;1;2;3\nÖberg 4;0;;0\nNobody;1;1;2\n",
      ),
      sheet,
    );
    expect(read).toMatchObject({ unknown: ["Nobody"], columns: ["tests", "names", "total"] });
    if (read === null) return;
    const rows = agreementRows(rubric, proposals, read);
    expect(
      rows.map(({ criterion, agreement }) => [criterion, agreement?.pairs, agreement?.exact, agreement?.leniency]),
    ).toEqual([
      ["tests", 4, 0.75, 0.25],
      ["names", 3, 2 / 3, 0.333333333],
      ["total", 4, 0.25, 0.75],
    ]);
    expect(agreementTable(rows)[1]).toBe("tests                4   75 %    100 %  0.25  0.98  0.98     +0.25");
  });

  it("need a column for students and one for points", () => {
    expect(readHumanGrades(bytes("a,b\n1,2\n"), sheet)).toBeNull();
    expect(readHumanGrades(bytes("id,b\n1,2\n"), sheet)).toBeNull();
  });

  describe("are matched to students by the rules of the intake", () => {
    const people = [
      { key: "4102", id: "4102", participant: "4101", name: "Ada Lovelace", email: "ada@x.org" },
      { key: "4101", id: "4101", participant: "4102", name: "Alan Turing", login: "4102" },
      { key: "7", id: "7", name: "Anna Schmidt" },
      { key: "8", id: "8", name: "Anna Schmidt" },
      { key: "9", id: "9", name: "Jörg Müller" },
    ];
    const { sheet: known } = classSheet(batchOf(), people, []);
    const read = (text: string) => {
      const found = readHumanGrades(bytes(text), known);
      return {
        marks: Object.fromEntries([...(found?.marks ?? [])].map(([key, own]) => [key, own.get("total")])),
        unknown: found?.unknown,
        doubtful: found?.doubtful.map(({ line, among }) => [line, ...among]),
      };
    };

    it.each([
      ["an id is no participant number and no login", "id,total\n4102,1\n4101,2\n", { 4102: 1, 4101: 2 }],
      [
        "a participant number is not an id",
        "Identifier;total\nParticipant 4101;1\nParticipant 4102;2\n",
        { 4102: 1, 4101: 2 },
      ],
      ["a login is not an id", "login,total\n4102,1\n", { 4101: 1 }],
      ["the key of the class", "key,total\n4102,1\n", { 4102: 1 }],
      ["a column student with keys", "student,total\n4102,1\n", { 4102: 1 }],
      ["a column student with names", "student,total\nAlan Turing,1\n", { 4101: 1 }],
      ["an empty name says nothing", "id,name,total\n4102,,1\n", { 4102: 1 }],
      ["surname and given name", "Name;Vorname;total\nMueller;Jörg;1\n", { 9: 1 }],
    ])("case: %s", (_, text, marks) => {
      expect(read(text)).toEqual({ marks, unknown: [], doubtful: [] });
    });

    it.each([
      ["a name that contradicts the id", "id,name,total\n4102,Alan Turing,1\n", [[2, "4102", "4101"]]],
      ["two keys of different students", "id,email,total\n4101,ada@x.org,1\n", [[2, "4101", "4102"]]],
      ["a name that two students have", "name,total\nAnna Schmidt,1\n", [[2, "7", "8"]]],
      ["a name where the id differs", "id,name,total\n99,Ada Lovelace,1\n", [[2, "4102"]]],
      [
        "two rows of one student",
        "id,total\n7,1\n7,2\n",
        [
          [2, "7"],
          [3, "7"],
        ],
      ],
    ])("%s is left out and reported", (_, text, doubtful) => {
      expect(read(text)).toEqual({ marks: {}, unknown: [], doubtful });
    });

    it("a row with an unknown id is reported as unknown, because leading zeros count", () => {
      expect(read("id,total\n07,1\n")).toEqual({ marks: {}, unknown: ["07"], doubtful: [] });
    });
  });
});
