import { describe, expect, it } from "vitest";
import { compactJson, mostDepth, parseJson, plainJson } from "./parse-json.ts";

const chance = (seed: number) => {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
};

describe("parseJson", () => {
  it("gives the same value as JSON.parse, and keeps every digit", () => {
    const text =
      ' {"a": [1.50, -2e+3, 12345678901234567890], "b": {"c": null, "d": true}, "e": "\\u00e9\\n\\"", "f": []} ';
    const parsed = parseJson(text);
    if (!parsed.ok) throw new Error(parsed.message);
    expect(plainJson(parsed.value)).toEqual(JSON.parse(text));
    expect(compactJson(parsed.value)).toBe(
      '{"a":[1.50,-2e+3,12345678901234567890],"b":{"c":null,"d":true},"e":"é\\n\\"","f":[]}',
    );
  });

  it("reports the place of every value", () => {
    const text = '{\n  "a": [10, {"b": "x"}]\n}';
    const parsed = parseJson(text);
    if (!parsed.ok || parsed.value.is !== "object") throw new Error("no object");
    const [member] = parsed.value.members;
    expect(member?.keyAt).toBe(text.indexOf('"a"'));
    if (member?.value.is !== "array") throw new Error("no list");
    expect(member.value.items.map(({ at }) => at)).toEqual([text.indexOf("10"), text.indexOf('{"b"')]);
  });

  it.each([
    ["", 0, "empty"],
    ["   \n", 0, "empty"],
    ['{"a": 1,}', 7, "comma"],
    ["[1, 2,]", 5, "comma"],
    ['{"a": 1} x', 9, "Unexpected 'x' after the value"],
    ['{"a" 1}', 5, "colon"],
    ["{a: 1}", 1, "name of a field"],
    ["{'a': 1}", 1, "name of a field"],
    ['{"a": 1 "b": 2}', 8, "comma or '}'"],
    ['["a" "b"]', 5, "comma or ']'"],
    ['{"a": // no\n1}', 6, "no comments"],
    ["[01]", 2, "comma or ']'"],
    ["[1.]", 1, "number"],
    ["[+1]", 1, "Expected a value"],
    ["[NaN]", 1, "Expected a value"],
    ['["a\nb"]', 1, "closing quote"],
    ['["\\x"]', 1, "backslash"],
    ['["\\u12"]', 1, "hexadecimal"],
    ['["\u0001"]', 1, "control character"],
    ["[1", 2, "end of the file"],
    ['{"a"', 4, "end of the file"],
    ['{"a":', 5, "end of the file"],
    ["]", 0, "Expected a value"],
  ])("reports the mistake in %j at its place", (text, at, words) => {
    const parsed = parseJson(text);
    expect(parsed).toMatchObject({ ok: false, code: "JSON_SYNTAX", message: expect.stringContaining(words) });
    expect(parsed.ok ? -1 : parsed.at).toBeGreaterThanOrEqual(Math.max(0, at - 2));
    expect(parsed.ok ? -1 : parsed.at).toBeLessThanOrEqual(at + 3);
  });

  it("accepts exactly the texts that JSON.parse accepts", () => {
    const next = chance(7);
    const valid = '{"tasks": [{"id": "A", "n": [1, -2.5e3, true, false, null, "x\\n\\u0041"]}], "steps": {}}';
    for (let round = 0; round < 5_000; round++) {
      const at = Math.floor(next() * valid.length);
      const marks = ['"', "{", "}", "[", "]", ",", ":", "1", "\\", "\n", "", "e", "-", "\t", "/"];
      const text =
        valid.slice(0, at) + marks[Math.floor(next() * marks.length)] + valid.slice(at + Math.floor(next() * 3));
      let theirs: unknown;
      let ok = true;
      try {
        theirs = JSON.parse(text);
      } catch {
        ok = false;
      }
      const ours = parseJson(text);
      expect(ours.ok, text).toBe(ok);
      if (ours.ok) expect(plainJson(ours.value), text).toEqual(theirs);
    }
  });

  it("limits the depth, and does not recurse", () => {
    const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    expect(parseJson(nested(mostDepth)).ok).toBe(true);
    expect(parseJson(nested(mostDepth + 1))).toMatchObject({ ok: false, code: "JSON_TOO_DEEP", at: mostDepth });
    expect(parseJson("[".repeat(5_000_000))).toMatchObject({ ok: false, code: "JSON_TOO_DEEP" });
    expect(parseJson('{"a":'.repeat(1_000_000))).toMatchObject({ ok: false, code: "JSON_TOO_DEEP" });
  });

  it("limits the number of values", () => {
    expect(parseJson(`[${"0,".repeat(1_500_000)}0]`)).toMatchObject({ ok: false, code: "JSON_TOO_MANY" });
  });
});
