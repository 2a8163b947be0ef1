import { describe, expect, it } from "vitest";
import { locate, normalise, resolvePath } from "./workspace.ts";

describe("paths in a workspace", () => {
  it.each([
    ["a/./b//c.md", "a/b/c.md"],
    ["a/../b.md", "b.md"],
    ["/a.md", "a.md"],
    ["a\\b.md", "a/b.md"],
    ["../a.md", null],
    ["a/../../b.md", null],
    ["", null],
    ["..", null],
    ["a\0b", null],
  ])("normalises %j to %j", (path, expected) => {
    expect(normalise(path)).toBe(expected);
  });

  it("a path is relative to the file that names it, or to the root after a slash", () => {
    expect(resolvePath("units/java/jar.wf.md", "../style.wf.md")).toBe("units/style.wf.md");
    expect(resolvePath("units/java/jar.wf.md", "/style.wf.md")).toBe("style.wf.md");
    expect(resolvePath("jar.wf.md", "../style.wf.md")).toBeNull();
  });

  it("a file is searched beside the naming file first, then below the root", () => {
    const exists = (path: string) => ["units/a.md", "a.md", "b.md"].includes(path);
    expect(locate(exists, "units/x.md", "a.md")).toEqual({ found: "units/a.md" });
    expect(locate(exists, "units/x.md", "b.md")).toEqual({ found: "b.md" });
    expect(locate(exists, "units/x.md", "c.md")).toEqual({ missing: "units/c.md" });
    expect(locate(exists, "units/x.md", "../../c.md")).toEqual({ outside: true });
  });
});
