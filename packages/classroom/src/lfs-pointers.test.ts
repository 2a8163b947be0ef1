import type { Entry } from "@markmill/grading/submission";
import { describe, expect, it } from "vitest";
import { withoutPointers } from "./lfs-pointers.ts";

const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${"4d".repeat(32)}\nsize 12345\n`;
const file = (path: string, text: string): Entry => ({
  kind: "file",
  path,
  bytes: Buffer.from(text),
  executable: false,
});
const look = (files: Record<string, string>, requires: readonly string[] = []) => {
  const { entries, needed, notes } = withoutPointers(
    Object.entries(files).map(([path, text]) => file(path, text)),
    requires,
  );
  return { left: entries.map(({ path }) => path), needed, notes: notes.length };
};

describe("a pointer of Git LFS", () => {
  it.each([
    [{ "a.py": "x", "film.mp4": pointer }, [], ["a.py"], []],
    [{ "a.py": pointer, "README.md": "x" }, [], ["README.md"], ["a.py"]],
    [{ "a.py": pointer.replaceAll("\n", "\r\n") }, [], [], ["a.py"]],
    [{ "film.mp4": pointer }, [], [], ["film.mp4"]],
    [{ "a.py": "x", "data.npy": pointer }, ["data.npy"], ["a.py"], ["data.npy"]],
    [{ "a.py": "x", "data/x.npy": pointer }, ["**/*.npy"], ["a.py"], ["data/x.npy"]],
    [{ "a.py": "x", "b.npy": "real", "c.npy": pointer }, ["*.npy"], ["a.py", "b.npy"], []],
  ])("is found among the files %j with %j required", (files, requires, left, needed) => {
    expect(look(files, requires)).toMatchObject({ left, needed, notes: 1 });
  });

  it("is distinguished from a text about pointers", () => {
    const text = "# LFS\nversion https://git-lfs.github.com/spec/v1\n";
    expect(look({ "a.md": text, "b.txt": `${pointer}${"x".repeat(2_000)}` })).toEqual({
      left: ["a.md", "b.txt"],
      needed: [],
      notes: 0,
    });
  });
});
