import { describe, expect, it } from "vitest";
import { readStructuredReply, schemaProblem } from "./structured-reply.ts";

const schema = {
  type: "object",
  properties: {
    points: { type: "integer", minimum: 0, maximum: 10 },
    remarks: { type: "array", items: { type: "string" }, maxItems: 3 },
    level: { enum: ["pass", "fail"] },
    pattern: { $ref: "#/$defs/note" },
  },
  required: ["points", "level"],
  additionalProperties: false,
  $defs: { note: { type: ["string", "null"] } },
};

describe("reading a reply against a schema", () => {
  it("gives the value as the model sent it, fenced or not", () => {
    const value = { points: 7, level: "pass", pattern: null };
    expect(readStructuredReply(JSON.stringify(value), schema)).toEqual({ ok: true, value });
    expect(readStructuredReply(`\`\`\`json\n${JSON.stringify(value)}\n\`\`\`\n`, schema)).toEqual({ ok: true, value });
  });

  it("names every place that is wrong", () => {
    const reply = readStructuredReply('{"points": 11, "remarks": ["a", 2], "extra": 1}', schema);
    const paths = reply.ok ? [] : reply.findings.map(({ path }) => path).toSorted();
    expect(paths).toEqual(["", "level", "points", "remarks.1"]);
  });

  it("names a reply that is no JSON", () => {
    expect(readStructuredReply("I would say 7.", schema)).toMatchObject({
      ok: false,
      findings: [{ path: "", message: expect.stringContaining("not JSON") }],
    });
  });
});

describe("a reply nested beyond reason", () => {
  it("is a finding, not a crash", () => {
    const list = { type: "array", items: { $ref: "#" } };
    const deep = "[".repeat(20_000) + "]".repeat(20_000);
    expect(readStructuredReply("[[],[[]]]", list)).toMatchObject({ ok: true });
    expect(readStructuredReply(deep, list)).toMatchObject({ ok: false });
  });
});

describe("a schema is refused before anything is paid", () => {
  it("when it holds a regular expression, but not when a property has that name", () => {
    expect(schemaProblem(schema)).toBeUndefined();
    expect(schemaProblem({ type: "object", properties: { a: { type: "string", pattern: "(a+)+$" } } })).toMatch(
      /pattern/,
    );
  });

  it("when a keyword cannot be checked or a reference leads nowhere", () => {
    expect(schemaProblem({ type: "object", dependentRequired: { a: ["b"] } })).toBeDefined();
    expect(schemaProblem({ $ref: "#/$defs/none" })).toBeDefined();
  });
});
