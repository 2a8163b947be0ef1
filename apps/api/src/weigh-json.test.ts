import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mostDepth, mostValues, weighJson } from "./weigh-json.ts";

describe("a JSON text", () => {
  it("is taken as it is, whatever stands in its strings", () => {
    fc.assert(fc.property(fc.json({ maxDepth: 8 }), (text) => weighJson(text) === undefined));
    for (const text of ["", "{", "]", '"', '"\\', '"[[[[', `"${'\\"['.repeat(500)}"`, `"${"[".repeat(10_000)}"`]) {
      expect(weighJson(text), text.slice(0, 20)).toBeUndefined();
    }
  });

  it("is refused at the first bracket too deep, in little time", () => {
    const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    expect(weighJson(nested(mostDepth))).toBeUndefined();
    expect(() => weighJson(nested(mostDepth + 1))).toThrow(expect.objectContaining({ code: "BAD_REQUEST" }));
    expect(() => weighJson(`{"a":"\\\\",${'"b":{'.repeat(mostDepth + 1)}`)).toThrow("nested");
    const long = "[".repeat(32 * 1024 * 1024);
    const begun = process.cpuUsage();
    expect(() => weighJson(long)).toThrow("nested");
    expect(process.cpuUsage(begun).user).toBeLessThan(1_000_000);
  });

  it("is refused when it has too many values", () => {
    expect(() => weighJson(`[${"1,".repeat(mostValues)}1]`)).toThrow(expect.objectContaining({ code: "TOO_LARGE" }));
    expect(() => weighJson(`[${"{},".repeat(mostValues / 2)}1]`)).toThrow("values");
  });

  it("of many quotes with backslashes is read in linear time", () => {
    const hostile = `"${"\\".repeat(2_000_000)}`;
    const begun = process.cpuUsage();
    weighJson(hostile);
    weighJson(`"${'\\"'.repeat(2_000_000)}"`);
    expect(process.cpuUsage(begun).user).toBeLessThan(5_000_000);
  });
});
