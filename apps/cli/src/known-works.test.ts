import { expect, it } from "vitest";
import { standingKeys } from "./known-works.ts";

const known = (key: string, ...by: string[]) => ({ key, by, counts: true });

it("a group's work stands when a stranger names its repository, whatever its key is now", () => {
  const works = [known("Red#1", "1", "2"), known("4#1", "4"), { ...known("1#1", "1"), counts: false }];
  expect(standingKeys(works, [known("4#1", "4")], [{ by: ["1"] }, { by: ["2"] }, { by: ["3"] }])).toEqual(["Red#1"]);
});

it("a work of one stands when it has become a group's that could not be fetched", () => {
  expect(standingKeys([known("1#1", "1")], [], [{ by: ["1", "2"] }])).toEqual(["1#1"]);
});

it("nobody gets a second work beside one that was taken", () => {
  expect(standingKeys([known("Red#1", "1", "2")], [known("2#1", "2")], [{ by: ["1"] }])).toEqual([]);
});
