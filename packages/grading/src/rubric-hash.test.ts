import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Rubric } from "./rubric.ts";
import { isHashOf, rubricHash } from "./rubric-hash.ts";
import { criterion, sampleRubric } from "./testing-rubric.ts";

const { criteria } = sampleRubric;

describe("the hash of a rubric", () => {
  it("ignores the order of criteria", () => {
    expect(rubricHash({ criteria: [...criteria].reverse() })).toBe(rubricHash(sampleRubric));
  });

  it("ignores the order of keys, levels and test patterns", () => {
    const turned = criteria.map((one) => {
      const { scale, source } = one;
      const keys = Object.fromEntries(Object.entries(one).reverse()) as unknown as typeof one;
      return {
        ...keys,
        ...(scale.is === "levels" ? { scale: { ...scale, levels: [...scale.levels].reverse() } } : {}),
        ...(source.is === "tests" ? { source: { ...source, patterns: [...source.patterns].reverse() } } : {}),
      };
    });
    expect(rubricHash({ criteria: turned })).toBe(rubricHash(sampleRubric));
  });

  it("ignores white space and the Unicode form of texts", () => {
    const one = {
      criteria: [criterion({ id: "a", title: "Übersicht der Namen", guidance: "short  names\n are fine " })],
    };
    const other = {
      criteria: [
        criterion({ id: "a", title: " Übersicht  der Namen".normalize("NFD"), guidance: "short names are fine" }),
      ],
    };
    expect(rubricHash(one)).toBe(rubricHash(other));
  });

  it.each([
    ["a word", { title: "other" }],
    ["the points", { points: 1 }],
    ["the scale", { scale: { is: "binary" } }],
    ["the source", { source: { is: "human" } }],
    ["the evidence", { evidence: false }],
    ["the guidance", { guidance: "be strict" }],
  ] as const)("changes with %s", (_, change) => {
    const before = { criteria: [criterion({ id: "a" })] };
    expect(rubricHash({ criteria: [criterion({ id: "a", ...change })] })).not.toBe(rubricHash(before));
  });

  it("stored by an earlier version still matches its rubric", () => {
    const sorted = (value: unknown): unknown =>
      Array.isArray(value)
        ? value.map(sorted)
        : typeof value === "object" && value !== null
          ? Object.fromEntries(
              Object.entries(value)
                .map(([name, one]) => [name, sorted(one)] as const)
                .sort(([one], [other]) => (one < other ? -1 : 1)),
            )
          : value;
    const before = (rubric: Rubric) =>
      createHash("sha256")
        .update(JSON.stringify(sorted(rubric)))
        .digest("hex");
    expect(before(sampleRubric)).not.toBe(rubricHash(sampleRubric));
    expect(isHashOf(sampleRubric, before(sampleRubric))).toBe(true);
    expect(isHashOf(sampleRubric, rubricHash(sampleRubric))).toBe(true);
    expect(isHashOf(sampleRubric, before({ criteria: [] }))).toBe(false);
  });
});
