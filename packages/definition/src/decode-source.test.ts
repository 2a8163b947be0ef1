import fc from "fast-check";
import { describe, expect, inject, it } from "vitest";
import { decodeSource, MAX_FILE_BYTES } from "./decode-source.ts";
import { Report } from "./report.ts";

function decode(...bytes: number[]): { text: string | null; found: string[] } {
  const report = new Report();
  const text = decodeSource(new Uint8Array(bytes), "f.md", report);
  return { text, found: report.findings.map(({ at, code, message }) => `${at.line}:${at.column} ${code} ${message}`) };
}

describe("decodeSource", () => {
  it("removes a byte order mark and ends lines with a line feed", () => {
    expect(decode(0xef, 0xbb, 0xbf, 0x61, 0x0d, 0x0a, 0x62, 0x0d, 0x63)).toEqual({ text: "a\nb\nc", found: [] });
  });

  it("reports which byte is not UTF-8, and its line", () => {
    expect(decode(0x61, 0x0a, 0x62, 0xff).found).toEqual(["2:1 NOT_UTF8 Byte 3 (0xff) is not valid UTF-8."]);
  });

  it.each([
    ["an overlong form", [0xc0, 0x80]],
    ["a surrogate", [0xed, 0xa0, 0x80]],
    ["a code point too high", [0xf4, 0x90, 0x80, 0x80]],
    ["a lone continuation", [0x80]],
    ["a character cut off", [0xe2, 0x82]],
  ])("refuses %s", (_, bytes) => {
    expect(decode(...bytes).found[0]).toContain("NOT_UTF8");
  });

  it("accepts the same bytes as the platform's decoder", () => {
    const strict = new TextDecoder("utf-8", { fatal: true });
    const bytes = fc.array(fc.oneof(fc.nat(255), fc.constantFrom(0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x98, 0x80)), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(bytes, (array) => {
        let valid = true;
        try {
          strict.decode(new Uint8Array(array));
        } catch {
          valid = false;
        }
        expect(decode(...array).found.some((line) => line.includes("NOT_UTF8"))).toBe(!valid);
      }),
      { numRuns: inject("thorough") ? 2000 : 200 },
    );
  });

  it("refuses NUL and reports its place", () => {
    expect(decode(0x61, 0x0a, 0x62, 0x00).found[0]).toMatch(/^2:2 NUL_CHARACTER/);
  });

  it("refuses a file over the size limit and accepts one at the limit", () => {
    const report = new Report();
    expect(decodeSource(new Uint8Array(MAX_FILE_BYTES + 1).fill(0x20), "f.md", report)).toBeNull();
    expect(report.findings.map(({ code }) => code)).toEqual(["FILE_TOO_LARGE"]);
    expect(decodeSource(new Uint8Array(MAX_FILE_BYTES).fill(0x20), "f.md", new Report())).toHaveLength(MAX_FILE_BYTES);
  });
});
