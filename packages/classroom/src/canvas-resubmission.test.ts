import { describe, expect, it } from "vitest";
import { plainCanvasNames } from "./canvas-resubmission.ts";
import { sortCanvas } from "./layout.ts";

/** Returns the file names of each user's submission, in the order of users. */
const names = (requires: readonly string[], ...works: string[][]) => {
  const tops = works.flatMap((files, user) =>
    files.map((file, at) => ({ name: `lovelaceada_${user + 1}_${user}${at}_${file}`, is: "file" as const })),
  );
  return plainCanvasNames(sortCanvas(tops).works, requires).map(({ pieces }) => pieces.map(({ as }) => as));
};

describe("the suffix that Canvas adds to resubmitted files", () => {
  it.each([
    ["median-1.py", "median.py"],
    ["median-12.py", "median.py"],
    ["median-1-1.py", "median.py"],
    ["Median-1.py", "Median-1.py"],
    ["median_1.py", "median_1.py"],
    ["median-0.py", "median-0.py"],
    ["median-1.js", "median-1.js"],
    ["median -1.py", "median -1.py"],
  ])("is removed: %s becomes %s if median.py is required", (file, plain) => {
    expect(names(["median.py"], [file])).toEqual([[plain]]);
  });

  it("is kept if the submission also has the plain name, or two versions of it", () => {
    expect(names(["a.py"], ["a.py", "a-1.py"])).toEqual([["a.py", "a-1.py"]]);
    expect(names(["a.py"], ["a-1.py", "a-2.py"])).toEqual([["a-1.py", "a-2.py"]]);
  });

  it("is kept if a required file has the suffix in its name", () => {
    expect(names(["part-1.py", "part-2.py"], ["part-1.py", "part-2.py"])).toEqual([["part-1.py", "part-2.py"]]);
    expect(names(["part-1.py"], ["part-1.py"], ["part.py"])).toEqual([["part-1.py"], ["part.py"]]);
  });

  it("is removed to fulfil a required pattern, and kept if the pattern matches already", () => {
    expect(names(["**/Stack.java"], ["Stack-1.java"])).toEqual([["Stack.java"]]);
    expect(names(["*.java"], ["Stack-1.java"])).toEqual([["Stack-1.java"]]);
  });

  it("is recognised from the other submissions of the export if no file is required", () => {
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

  it("is reported in a note when it is removed", () => {
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
