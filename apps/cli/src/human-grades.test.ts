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

describe("grades of people", () => {
  it("are compared per criterion and in all", () => {
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
      ["names", 3, 2 / 3, 1 / 3],
      ["total", 4, 0.25, 0.75],
    ]);
    expect(agreementTable(rows)[1]).toBe("tests          4   75 %    100 %  0.25  0.98  0.98     +0.25");
  });

  it("need a column of students and one of points", () => {
    expect(readHumanGrades(bytes("a,b\n1,2\n"), sheet)).toBeNull();
    expect(readHumanGrades(bytes("id,b\n1,2\n"), sheet)).toBeNull();
  });
});
