import type { GradeEvent } from "@markmill/grading";
import { classSheet } from "@markmill/stack";
import { batchOf, gradeOf, workOf } from "@markmill/stack/testing-batch";
import type { BatchWork, NewGradeEvent } from "@markmill/store";
import { describe, expect, it } from "vitest";
import { planReleases, recordReleases } from "./release-grades.ts";

const members = ["1", "2", "3"].map((key) => ({ key, name: `Student ${key}` }));
const readOf = (...all: BatchWork[]) => ({ ...classSheet(batchOf(), members, all), all });
const plan = (...all: BatchWork[]) => {
  const { releases, before, leftOut } = planReleases(readOf(...all), () => true, true);
  return {
    releases: releases.map(({ work, students }) => [work.key, ...students]),
    before,
    leftOut: leftOut.map(({ key, why }) => `${key} ${why}`),
  };
};
const attempt = (number: number, grade: Parameters<typeof workOf>[1], etag = `e${number}`) =>
  workOf("1", grade, { key: `1#${number}`, attempt: number, etag });
const released = (students: readonly string[] | null, total: number): GradeEvent => ({
  id: 7,
  work: "w",
  at: "2026-01-01T00:00:00.000Z",
  by: "prof",
  kind: "released",
  criterion: null,
  from: null,
  to: total,
  takesBack: null,
  reason: "",
  comment: "",
  rubricHash: "r",
  content: "c",
  try: 1,
  students,
});

describe("planReleases and recordReleases", () => {
  it("release the counting attempt of each student, and no other attempt", () => {
    expect(plan(attempt(1, gradeOf([1, 1])), attempt(2, gradeOf([6, 3])), attempt(3, gradeOf([2, 1])))).toEqual({
      releases: [["1#2", "1"]],
      before: [],
      leftOut: [],
    });
  });

  it("leave out the best attempt while a better one waits for a person, with the reason", () => {
    const found = plan(attempt(1, gradeOf([3, 2])), attempt(2, gradeOf([6, null])));
    expect(found.releases).toEqual([]);
    expect(found.leftOut).toEqual([expect.stringMatching(/^1 needs human: .*attempt 1 has 5 points/)]);
  });

  it("release a pair's grade only to the students for whom the submission counts", () => {
    const pair = workOf("p", gradeOf([2, 2]), { key: "p", by: ["1", "2"], countsFor: ["2"] });
    const alone = workOf("1", gradeOf([6, 4]), { key: "a", countsFor: ["1"] });
    expect(plan(pair, alone).releases).toEqual([
      ["a", "1"],
      ["p", "2"],
    ]);
  });

  it("do not cover a student who joined the submission later", () => {
    const pair = workOf("p", gradeOf([2, 2]), { key: "p", by: ["1", "3"] }, [released(["1", "2"], 4)]);
    const { sheet } = readOf(pair);
    expect(sheet.rows.map(({ student, release }) => [student.key, release])).toEqual([
      ["1", "released"],
      ["2", undefined],
      ["3", "not released"],
    ]);
    expect(plan(pair)).toEqual({ releases: [["p", "3"]], before: ["1"], leftOut: [] });
    const both = workOf("p", gradeOf([2, 2]), { by: ["1", "3"] }, [
      released(["1"], 4),
      { ...released(["3"], 4), id: 8 },
    ]);
    expect(plan(both).before).toEqual(["1", "3"]);
    // An earlier version did not record the students of a release.
    expect(plan(workOf("p", gradeOf([2, 2]), { by: ["1", "3"] }, [released(null, 4)])).before).toEqual(["1", "3"]);
  });

  it("refuse a grade if it or another attempt of the student changed since it was read", async () => {
    const works = [attempt(1, gradeOf([1, 1])), attempt(2, gradeOf([6, 3]))];
    const { releases } = planReleases(readOf(...works), () => true, true);
    const record = async (change: Partial<Record<string, string>>) => {
      const said: NewGradeEvent[] = [];
      const changed = await recordReleases(
        {
          record: async (_: string, one: NewGradeEvent) => {
            const now = change[one.work] ?? works.find(({ key }) => key === one.work)?.etag;
            if (one.seen !== "any" && one.seen?.includes(now ?? "") !== true)
              throw Object.assign(new Error("changed"), { code: "STORE_GRADE_CHANGED" });
            said.push(one);
            return {} as GradeEvent;
          },
          work: async (_: string, key: string) => {
            const found = works.find((one) => one.key === key);
            return found === undefined ? null : { ...found, etag: change[key] ?? found.etag };
          },
        },
        ...(["batch", releases, "prof"] as const),
      );
      return { changed, said: said.map(({ work, students }) => [work, students]) };
    };
    expect(await record({})).toEqual({ changed: [], said: [["1#2", ["1"]]] });
    expect(await record({ "1#2": "other" })).toEqual({ changed: ["1"], said: [] });
    expect(await record({ "1#1": "other" })).toEqual({ changed: ["1"], said: [] });
  });
});
