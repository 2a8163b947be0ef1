import { describe, expect, it } from "vitest";
import { batchQuery, workQuery } from "./batch-schemas.ts";

describe("filters of submissions and batches", () => {
  it.each([{ released: "ja" }, { counts: "yes" }, { outcome: "greded" }, { standing: "done" }, { late: "yes" }])(
    "%j is refused instead of listing everything",
    (query) => expect(workQuery.safeParse(query).success).toBe(false),
  );

  it("a refused filter's message names the allowed values", () => {
    const said = (query: unknown) =>
      workQuery
        .safeParse(query)
        .error?.issues.map(({ message }) => message)
        .join();
    expect(said({ released: "ja" })).toBe("must be true or false");
    expect(said({ outcome: "greded" })).toContain("needs human");
  });

  it("the allowed values are accepted", () => {
    const query = { released: "true", outcome: "graded", standing: ["failed"] };
    expect(workQuery.parse(query)).toMatchObject({ released: true, outcome: ["graded"], standing: ["failed"] });
    expect(batchQuery.safeParse({ stat: "open" }).success).toBe(false);
  });
});
