import { expect, it } from "vitest";
import { schemaProblem, withLowerTypes } from "./check-schema.ts";

it("types in capitals become those of the standard, and names and data stay unchanged", () => {
  const written = {
    type: "OBJECT",
    properties: {
      type: { type: "STRING", enum: ["STRING"] },
      list: { type: ["ARRAY", "null"], items: { type: "INTEGER" } },
    },
    default: { type: "STRING" },
  };
  expect(schemaProblem(written)).toMatch(/is not a type/);
  expect(schemaProblem(withLowerTypes(written))).toBeNull();
  expect(withLowerTypes(written)).toEqual({
    type: "object",
    properties: {
      type: { type: "string", enum: ["STRING"] },
      list: { type: ["array", "null"], items: { type: "integer" } },
    },
    default: { type: "STRING" },
  });
});
