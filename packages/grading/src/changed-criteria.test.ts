import { expect, it } from "vitest";
import { changedCriteria } from "./changed-criteria.ts";
import type { Criterion } from "./rubric.ts";

const criterion = (id: string, more: Partial<Criterion> = {}): Criterion => ({
  id,
  title: id,
  points: 2,
  scale: { is: "binary" },
  evidence: true,
  source: { is: "llm" },
  guidance: "",
  ...more,
});

it("changedCriteria finds no change when criteria only change their order", () => {
  const [a, b] = [criterion("a"), criterion("b")];
  expect(changedCriteria({ criteria: [a, b] }, { criteria: [b, { ...a }] })).toEqual([]);
});

it.each<[string, Partial<Criterion>]>([
  ["words", { title: "other" }],
  ["points", { points: 3 }],
  ["scale", { scale: { is: "points", step: 1 } }],
  ["evidence", { evidence: "comments" }],
  ["source", { source: { is: "tests", patterns: ["a*"] } }],
  ["guidance", { guidance: "strictly" }],
])("changedCriteria finds a criterion with other %s", (_, more) => {
  const after = { criteria: [criterion("a"), criterion("b", more)] };
  expect(changedCriteria({ criteria: [criterion("a"), criterion("b")] }, after)).toEqual(["b"]);
});

it("changedCriteria finds added and removed criteria", () => {
  expect(changedCriteria({ criteria: [criterion("a")] }, { criteria: [criterion("b")] })).toEqual(["b", "a"]);
});
