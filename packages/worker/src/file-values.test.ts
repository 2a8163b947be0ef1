import { describe, expect, it } from "vitest";
import { decodeText } from "./decode-text.ts";
import { defaultFileBytes, fileCapOf } from "./file-values.ts";

describe("the text of a file", () => {
  const textOf = (...bytes: (string | number[])[]) =>
    decodeText(Buffer.concat(bytes.map((part) => Buffer.from(part as string))));

  it("is UTF-8 as it stands", () => {
    expect(textOf("a\tä\n👩‍👩‍👧\n")).toEqual({ text: "a\tä\n👩‍👩‍👧\n", notes: [] });
    expect(textOf("")).toEqual({ text: "", notes: [] });
    expect(textOf("really \ufffd")).toEqual({ text: "really \ufffd", notes: [] });
  });

  it("loses a mark at its start, and has one kind of line end", () => {
    expect(textOf([0xef, 0xbb, 0xbf], "a\r\nb")).toEqual({ text: "a\nb", notes: [] });
    expect(decodeText(Buffer.from("\ufeffAda", "utf16le"))).toEqual({ text: "Ada", notes: [] });
    expect(decodeText(Buffer.from("\ufeffAda", "utf16le").swap16())).toEqual({ text: "Ada", notes: [] });
  });

  it("shows bytes of another encoding, and says so", () => {
    expect(textOf("M", [0xfc], "ller")).toEqual({
      text: "M\ufffdller",
      notes: ["is not UTF-8: what cannot be read is shown as U+FFFD"],
    });
  });

  it("writes out what cannot be seen, and says so", () => {
    expect(textOf("a\u202eb\u{e0041}")).toEqual({
      text: "a<U+202E>b<U+E0041>",
      notes: ["contains characters that cannot be seen; they are written out"],
    });
  });

  it("is none with a NUL byte", () => {
    expect(textOf("a", [0], "b")).toBeNull();
  });
});

describe("the cap of a file", () => {
  it("is a mebibyte, or what the workflow asks for, and never above the ceiling", () => {
    expect(defaultFileBytes).toBe(1024 * 1024);
    expect(fileCapOf({}, 9e6)).toBe(defaultFileBytes);
    expect(fileCapOf({ fileBytes: 5e6 }, 9e6)).toBe(5e6);
    expect(fileCapOf({ fileBytes: 5e9 }, 9e6)).toBe(9e6);
    expect(fileCapOf({}, 1000)).toBe(1000);
  });
});
