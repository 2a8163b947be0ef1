// biome-ignore-all lint/suspicious/noThenProperty: a keyword of JSON Schema.
import { describe, expect, it } from "vitest";
import { findMisfits, schemaProblem } from "./json-schema.ts";

const fits = (schema: unknown, value: unknown) => findMisfits(schema, value).length === 0;

describe("a value and a schema", () => {
  it.each<[string, unknown, unknown[], unknown[]]>([
    ["a keyword without a type", { minLength: 3 }, ["abc", 1], ["a"]],
    ["required without a type", { required: ["toString"] }, [{ toString: 1 }, 7], [{}]],
    ["a default fills nothing in", { properties: { a: { default: 1 } }, required: ["a"] }, [{ a: 2 }], [{}]],
    ["const of an object", { const: { a: 1, b: 2 } }, [{ b: 2, a: 1 }], [{ a: 1 }]],
    ["enum of any values", { enum: [{ a: 1 }, null, 1] }, [{ a: 1 }, null, 1], ["1", {}]],
    ["length in characters", { maxLength: 2 }, ["😀😀"], ["abc"]],
    ["large whole numbers", { type: "integer" }, [1e300, 1.0], [1.5, "1"]],
    ["multipleOf a fraction", { multipleOf: 0.1 }, [0.3, 7], [0.35]],
    ["draft 4 bounds", { minimum: 1, exclusiveMinimum: true }, [2], [1]],
    ["OpenAPI's nullable", { type: "string", nullable: true }, [null, "a"], [1]],
    [
      "references into properties",
      { properties: { a: { $ref: "#/properties/b" }, b: { type: "string" } } },
      [{ a: "" }],
      [{ a: 1 }],
    ],
    ["anchors", { $ref: "#x", $defs: { y: { $anchor: "x", type: "string" } } }, ["a"], [1]],
    [
      "references beside other words",
      { $ref: "#/$defs/a", minLength: 2, $defs: { a: { type: "string" } } },
      ["ab"],
      ["a", 1],
    ],
    [
      "conditions",
      { if: { type: "string" }, then: { minLength: 2 }, else: { type: "number" } },
      ["ab", 1],
      ["a", null],
    ],
    ["not", { not: { type: "string" } }, [1], ["a"]],
    ["dependent names", { dependentRequired: { a: ["b"] } }, [{ a: 1, b: 1 }, {}], [{ a: 1 }]],
    ["draft 7 dependencies", { dependencies: { a: ["b"] } }, [{ a: 1, b: 1 }], [{ a: 1 }]],
    [
      "unevaluated names",
      { allOf: [{ properties: { a: true } }], unevaluatedProperties: false },
      [{ a: 1 }],
      [{ b: 1 }],
    ],
    ["draft 7 tuples", { items: [{ type: "string" }], additionalItems: false }, [["a"]], [["a", 1], [1]]],
    [
      "date-time",
      { format: "date-time" },
      ["2024-02-29T10:00:00+01:00"],
      ["2023-02-29T10:00:00Z", "2024-01-01T00:00:00"],
    ],
    ["formats that readers do not agree on", { format: "hostname" }, ["-", "a b"], []],
    ["email", { format: "email" }, ["ü@x.de"], ["x"]],
    ["alternatives", { oneOf: [{ type: "integer" }, { minimum: 2 }] }, [1, 2.5], [3, 1.5]],
  ])("the right values fit and the wrong ones do not: %s", (_, schema, good, bad) => {
    expect(schemaProblem(schema)).toBeNull();
    expect(good.filter((value) => !fits(schema, value))).toEqual([]);
    expect(bad.filter((value) => fits(schema, value))).toEqual([]);
  });

  it("findings name the path of each mistake", () => {
    const schema = { properties: { a: { items: { type: "string" } } }, required: ["b"], additionalProperties: false };
    expect(findMisfits(schema, { a: ["x", 1], c: 1 })).toEqual([
      { path: "b", message: "it is missing" },
      { path: "a.1", message: "expected string, received number" },
      { path: "", message: '"c" is not a known property' },
    ]);
  });
});

describe("schemaProblem", () => {
  it.each([
    [{ type: "text" }, "type", /is not a type/],
    [{ properties: { a: { type: "STRING" } } }, "properties.a.type", /is not a type/],
    [{ $ref: "#/$defs/none" }, "$ref", /nowhere/],
    [{ $ref: "#" }, "$ref", /itself/],
    [{ items: { minItems: -1 } }, "items.minItems", /is not a count/],
    [{ required: "a" }, "required", /list of names/],
    [{ properties: { a: 7 } }, "properties.a", /object/],
    [{ allOf: {} }, "allOf", /list/],
    [{ pattern: "(?=a)" }, "pattern", /not supported/],
    [7, "", /object/],
  ])("reports the problem of %j", (schema, path, message) => {
    expect(schemaProblem(schema)).toEqual({ path, message: expect.stringMatching(message) });
  });

  it("accepts properties with the names of keywords, and unknown keywords", () => {
    const properties = { pattern: { type: "string" }, $ref: { type: "string" }, type: { type: "string" } };
    expect(schemaProblem({ properties, "x-made-up": { type: 7 }, default: { type: 7 } })).toBeNull();
  });
});

describe("the check of a value ends", () => {
  it.each<[string, unknown, unknown]>([
    ["a value nested without end", { items: { $ref: "#" } }, JSON.parse("[".repeat(3_000) + "]".repeat(3_000))],
    [
      "alternatives that double at each level",
      { anyOf: [{ items: { $ref: "#" } }, { items: { $ref: "#" } }], not: { const: 1 } },
      JSON.parse(`${"[".repeat(40)}1${"]".repeat(40)}`),
    ],
    [
      "two references that lead to each other",
      { allOf: [{ $ref: "#/$defs/a" }], $defs: { a: { allOf: [{ $ref: "#" }] } } },
      1,
    ],
  ])("for %s", (_, schema, value) => {
    expect(findMisfits(schema, value)).toEqual([{ path: "", message: expect.stringMatching(/cannot be checked/) }]);
  });
});
