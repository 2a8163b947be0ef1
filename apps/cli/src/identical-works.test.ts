import { workOf } from "@markmill/stack/testing-batch";
import { describe, expect, it } from "vitest";
import { identicalWorks } from "./identical-works.ts";

const taken = (hash: string) => ({ is: "taken", hash, files: 1, bytes: 1, paths: ["a.js"], notes: [] }) as const;

describe("identicalWorks", () => {
  it("groups submissions of different people by their content", () => {
    const works = [
      workOf("1", null, { content: taken("x") }),
      workOf("2", null, { content: taken("y") }),
      workOf("3", null, { content: taken("x") }),
      workOf("4", null, { content: { is: "empty" } }),
      workOf("5", null, { content: { is: "empty" } }),
    ];
    expect(identicalWorks(works)).toEqual([["1#1", "3#1"]]);
  });

  it("leaves out attempts of the same people, and a submission that counts for several students", () => {
    const pair = workOf("1", null, { content: taken("x"), by: ["1", "2"] });
    const again = workOf("1", null, { content: taken("x"), by: ["2", "1"], key: "1#2", attempt: 2 });
    expect(identicalWorks([pair, pair, again])).toEqual([]);
  });
});
