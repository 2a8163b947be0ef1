import { expect, it } from "vitest";
import { standingKeys } from "./known-works.ts";

const known = (key: string, ...by: string[]) => ({ key, by, counts: true });

it("standingKeys keeps a group's submission when a stranger names its repository, under any key", () => {
  const works = [known("Red#1", "1", "2"), known("4#1", "4"), { ...known("1#1", "1"), counts: false }];
  expect(standingKeys(works, [known("4#1", "4")], [{ by: ["1"] }, { by: ["2"] }, { by: ["3"] }])).toEqual(["Red#1"]);
});

it("standingKeys keeps a single student's submission after its repository became a group's that could not be fetched", () => {
  expect(standingKeys([known("1#1", "1")], [], [{ by: ["1", "2"] }])).toEqual(["1#1"]);
});

it("standingKeys keeps no second submission for a student with a new one", () => {
  expect(standingKeys([known("Red#1", "1", "2")], [known("2#1", "2")], [{ by: ["1"] }])).toEqual([]);
});
