import { describe, expect, it } from "vitest";
import { plainCanvasNames } from "./canvas-resubmission.ts";
import { sortCanvas } from "./layout.ts";

/** Names of each user's files, in the order of users. */
const names = (requires: readonly string[], ...works: string[][]) => {
  const tops = works.flatMap((files, user) =>
    files.map((file, at) => ({ name: `lovelaceada_${user + 1}_${user}${at}_${file}`, is: "file" as const })),
  );
  return plainCanvasNames(sortCanvas(tops).works, requires).map(({ pieces }) => pieces.map(({ as }) => as));
};

describe("files that Canvas renamed because the student handed them in again", () => {
  it.each([
    ["median-1.py", "median.py"],
    ["median-12.py", "median.py"],
    ["median-1-1.py", "median.py"],
    ["Median-1.py", "Median-1.py"],
    ["median_1.py", "median_1.py"],
    ["median-0.py", "median-0.py"],
    ["median-1.js", "median-1.js"],
    ["median -1.py", "median -1.py"],
  ])("%s becomes %s where median.py is required", (file, plain) => {
    expect(names(["median.py"], [file])).toEqual([[plain]]);
  });

  it("keep their name where the work has the plain name too, or two versions of it", () => {
    expect(names(["a.py"], ["a.py", "a-1.py"])).toEqual([["a.py", "a-1.py"]]);
    expect(names(["a.py"], ["a-1.py", "a-2.py"])).toEqual([["a-1.py", "a-2.py"]]);
  });

  it("keep their name where that name is required", () => {
    expect(names(["part-1.py", "part-2.py"], ["part-1.py", "part-2.py"])).toEqual([["part-1.py", "part-2.py"]]);
    expect(names(["part-1.py"], ["part-1.py"], ["part.py"])).toEqual([["part-1.py"], ["part.py"]]);
  });

  it("fulfil a pattern by the plain name, and are not renamed for a pattern that fits already", () => {
    expect(names(["**/Stack.java"], ["Stack-1.java"])).toEqual([["Stack.java"]]);
    expect(names(["*.java"], ["Stack-1.java"])).toEqual([["Stack-1.java"]]);
  });

  it("are known by the other works of the export where nothing is required", () => {
    expect(names([], ["median-1.py"], ["median.py"], ["median.py"])).toEqual([
      ["median.py"],
      ["median.py"],
      ["median.py"],
    ]);
    expect(names([], ["median-1.py"], ["median.py"])).toEqual([["median.py"], ["median.py"]]);
    expect(names([], ["part-1.py"], ["part-2.py"], ["part.py"])).toEqual([["part-1.py"], ["part-2.py"], ["part.py"]]);
    expect(names([], ["part-1.py", "part-2.py"], ["part-1.py"])).toEqual([["part-1.py", "part-2.py"], ["part-1.py"]]);
    expect(names([], ["median-1.py"])).toEqual([["median-1.py"]]);
  });

  it("are told in a note", () => {
    const { works } = sortCanvas([{ name: "lovelaceada_123_456_median-1.py", is: "file" }]);
    expect(plainCanvasNames(works, ["median.py"])[0]?.pieces).toEqual([
      {
        top: "lovelaceada_123_456_median-1.py",
        as: "median.py",
        note: "median-1.py was renamed to median.py, because Canvas adds -1 to a resubmitted file.",
      },
    ]);
  });
});
