import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mostDepth, mostValues, weighJson } from "./weigh-json.ts";

describe("weighJson", () => {
  it("accepts a text with any content in its strings", () => {
    fc.assert(fc.property(fc.json({ maxDepth: 8 }), (text) => weighJson(text) === undefined));
    for (const text of ["", "{", "]", '"', '"\\', '"[[[[', `"${'\\"['.repeat(500)}"`, `"${"[".repeat(10_000)}"`]) {
      expect(weighJson(text), text.slice(0, 20)).toBeUndefined();
    }
  });

  it("refuses a text at the first bracket that is nested too deeply", () => {
    const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    expect(weighJson(nested(mostDepth))).toBeUndefined();
    expect(() => weighJson(nested(mostDepth + 1))).toThrow(expect.objectContaining({ code: "BAD_REQUEST" }));
    expect(() => weighJson(`{"a":"\\\\",${'"b":{'.repeat(mostDepth + 1)}`)).toThrow("nested");
  });

  it("refuses a text with too many values", () => {
    expect(() => weighJson(`[${"1,".repeat(mostValues)}1]`)).toThrow(expect.objectContaining({ code: "TOO_LARGE" }));
    expect(() => weighJson(`[${"{},".repeat(mostValues / 2)}1]`)).toThrow("values");
  });
});
