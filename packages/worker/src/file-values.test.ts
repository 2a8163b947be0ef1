import { describe, expect, it } from "vitest";
import { decodeText } from "./decode-text.ts";
import { defaultFileBytes, fileCapOf } from "./file-values.ts";

describe("reading a file as text", () => {
  const textOf = (...bytes: (string | number[])[]) =>
    decodeText(Buffer.concat(bytes.map((part) => Buffer.from(part as string))));

  it("UTF-8 text stays as it is", () => {
    expect(textOf("a\tä\n👩‍👩‍👧\n")).toEqual({ text: "a\tä\n👩‍👩‍👧\n", notes: [] });
    expect(textOf("")).toEqual({ text: "", notes: [] });
    expect(textOf("really \ufffd")).toEqual({ text: "really \ufffd", notes: [] });
  });

  it("a byte order mark is removed, and all line ends become the same", () => {
    expect(textOf([0xef, 0xbb, 0xbf], "a\r\nb")).toEqual({ text: "a\nb", notes: [] });
    expect(decodeText(Buffer.from("\ufeffAda", "utf16le"))).toEqual({ text: "Ada", notes: [] });
    expect(decodeText(Buffer.from("\ufeffAda", "utf16le").swap16())).toEqual({ text: "Ada", notes: [] });
  });

  it("bytes of another encoding are shown with a note", () => {
    expect(textOf("M", [0xfc], "ller")).toEqual({
      text: "M\ufffdller",
      notes: ["is not UTF-8: what cannot be read is shown as U+FFFD"],
    });
  });

  it("invisible characters are written out with a note", () => {
    expect(textOf("a\u202eb\u{e0041}")).toEqual({
      text: "a<U+202E>b<U+E0041>",
      notes: ["contains characters that cannot be seen; they are written out"],
    });
  });

  it("a file with a NUL byte is not a text", () => {
    expect(textOf("a", [0], "b")).toBeNull();
  });
});

describe("size limit of a file value", () => {
  it("the limit is 1 MiB or the workflow's value, and never above the ceiling", () => {
    expect(defaultFileBytes).toBe(1024 * 1024);
    expect(fileCapOf({}, 9e6)).toBe(defaultFileBytes);
    expect(fileCapOf({ fileBytes: 5e6 }, 9e6)).toBe(5e6);
    expect(fileCapOf({ fileBytes: 5e9 }, 9e6)).toBe(9e6);
    expect(fileCapOf({}, 1000)).toBe(1000);
  });
});
