import { describe, expect, it } from "vitest";
import { readStructuredReply, readToolArguments } from "./structured-reply.ts";

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
  it("returns the value as the model sent it, fenced or not", () => {
    const value = { points: 7, level: "pass", pattern: null };
    expect(readStructuredReply(JSON.stringify(value), schema)).toEqual({ ok: true, value });
    expect(readStructuredReply(`\`\`\`json\n${JSON.stringify(value)}\n\`\`\`\n`, schema)).toEqual({ ok: true, value });
  });

  it("names every place that is wrong", () => {
    const reply = readStructuredReply('{"points": 11, "remarks": ["a", 2], "extra": 1}', schema);
    const paths = reply.ok ? [] : reply.findings.map(({ path }) => path).toSorted();
    expect(paths).toEqual(["", "level", "points", "remarks.1"]);
  });

  it("reports a reply that is not JSON", () => {
    expect(readStructuredReply("I would say 7.", schema)).toMatchObject({
      ok: false,
      findings: [{ path: "", message: expect.stringContaining("not JSON") }],
    });
  });
});

describe("reading a reply that is nested too deeply", () => {
  it("returns a finding and does not crash", () => {
    const list = { type: "array", items: { $ref: "#" } };
    const deep = "[".repeat(20_000) + "]".repeat(20_000);
    expect(readStructuredReply("[[],[[]]]", list)).toMatchObject({ ok: true });
    expect(readStructuredReply(deep, list)).toMatchObject({ ok: false });
  });
});

describe("reading the arguments of a tool", () => {
  const schema = {
    type: "object",
    properties: { city: { type: "string", pattern: "^(?:[A-Z]|[a-z]+)+$" }, days: { type: "integer" } },
    required: ["city"],
    additionalProperties: false,
  };

  it("accepts arguments that fit the schema", () => {
    expect(readToolArguments('{"city":"Bonn","days":2}', schema)).toEqual({
      ok: true,
      value: { city: "Bonn", days: 2 },
    });
    expect(readToolArguments("", { type: "object" })).toEqual({ ok: true, value: {} });
  });

  it("checks patterns in linear time, and an unreadable pattern refuses nothing", () => {
    const of = (pattern: string) => ({ type: "object", properties: { a: { type: "string", pattern } } });
    expect(readToolArguments('{"a":"aab"}', of("^(a+)+$")).ok).toBe(false);
    expect(readToolArguments(JSON.stringify({ a: `${"a".repeat(50_000)}b` }), of("^(a+)+$")).ok).toBe(false);
    expect(readToolArguments('{"a":"aab"}', of("^(?=b)")).ok).toBe(true);
  });

  it("accepts names by pattern, and any UUID", () => {
    const headers = { type: "object", patternProperties: { "^x-": { type: "string" } }, additionalProperties: false };
    expect(readToolArguments('{"x-a":"1"}', headers).ok).toBe(true);
    expect(readToolArguments('{"x-a":1}', headers).ok).toBe(false);
    expect(readToolArguments('{"y":"1"}', headers).ok).toBe(false);
    const id = { type: "object", properties: { id: { type: "string", format: "uuid" } } };
    expect(readToolArguments('{"id":"00000000-0000-0000-0000-000000000001"}', id).ok).toBe(true);
    expect(readToolArguments('{"id":"FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF"}', id).ok).toBe(true);
    expect(readToolArguments('{"id":"1"}', id).ok).toBe(false);
  });

  it.each(["[1]", "7", "null", "{", '{"days":2}', '{"city":1}', '{"city":"x","extra":1}', '{"city":"x","days":1.5}'])(
    "refuses %s",
    (text) => expect(readToolArguments(text, schema).ok).toBe(false),
  );

  it("ends for a schema that refers to itself with deeply nested arguments", () => {
    const list = { type: "object", properties: { next: { $ref: "#" } }, additionalProperties: false };
    expect(readToolArguments('{"next":{"next":{}}}', list).ok).toBe(true);
    expect(readToolArguments('{"next":{"other":1}}', list).ok).toBe(false);
    const deep = `${'{"next":'.repeat(200_000)}{}${"}".repeat(200_000)}`;
    expect(readToolArguments(deep, list)).toMatchObject({ ok: false, findings: [{ message: /cannot be checked/ }] });
    expect(readToolArguments("{}", { $ref: "#" }).ok).toBe(false);
    // If the caller checks them, too.
    expect(readToolArguments('{"a":1}', { $ref: "#" }, "pass")).toEqual({ ok: true, value: { a: 1 } });
    expect(readToolArguments("[]", { $ref: "#" }, "pass").ok).toBe(false);
    expect(readToolArguments('{"next":{"other":1}}', list, "pass").ok).toBe(false);
  });
});
