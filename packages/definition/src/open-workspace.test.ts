import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MAX_FILE_BYTES } from "./decode-source.ts";
import { openWorkspace } from "./open-workspace.ts";

let base: string;
let root: string;

beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), "workspace-"));
  root = join(base, "course");
  mkdirSync(join(root, "units"), { recursive: true });
  mkdirSync(join(root, ".git"));
  writeFileSync(join(root, "a.wf.md"), "A");
  writeFileSync(join(root, "units/b.wf.md"), "B");
  writeFileSync(join(root, ".git/config"), "hidden");
  writeFileSync(join(base, "secret.txt"), "secret");
  mkdirSync(join(base, "course-2"));
  writeFileSync(join(base, "course-2/near.txt"), "near");
  writeFileSync(join(root, ".env"), "OPENAI_API_KEY=hunter2");
  writeFileSync(join(root, "tls.key"), "hunter2");
  mkdirSync(join(root, "state"));
  writeFileSync(join(root, "state/record.md"), "hunter2");
  symlinkSync(".env", join(root, "notes.md"));
  symlinkSync(".git", join(root, "docs"));
  symlinkSync("state", join(root, "other"));
  symlinkSync(join(base, "secret.txt"), join(root, "link.txt"));
  symlinkSync(base, join(root, "up"));
  symlinkSync(join(root, "a.wf.md"), join(root, "inner.md"));
  execFileSync("mkfifo", [join(root, "pipe")]);
  writeFileSync(join(root, "huge.md"), "");
  truncateSync(join(root, "huge.md"), MAX_FILE_BYTES * 4);
});
afterAll(() => rmSync(base, { recursive: true }));

const read = (path: string) => {
  const bytes = openWorkspace(root).read(path);
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
};

describe("openWorkspace", () => {
  it("reads files below its directory, also through links that stay inside", () => {
    expect(read("units/b.wf.md")).toBe("B");
    expect(read("inner.md")).toBe("A");
  });

  it("reads nothing outside: no parent, no sibling, no link that leads out", () => {
    for (const path of [
      "../secret.txt",
      "../course-2/near.txt",
      "link.txt",
      "up/secret.txt",
      "up/course-2/near.txt",
      "..",
    ])
      expect(read(path), path).toBeUndefined();
  });

  it("reads no folders, no pipes and no missing files", () => {
    for (const path of ["units", "pipe", "nothing.md", "a.wf.md/x"]) expect(read(path), path).toBeUndefined();
  });

  it("reads one byte more than the limit of a huge file, so that it can be refused as too large", () => {
    expect(openWorkspace(root).read("huge.md")).toHaveLength(MAX_FILE_BYTES + 1);
  });

  it("reads no protected file by any path or link, and reports that it refuses it", () => {
    const workspace = openWorkspace(root, { closed: [join(root, "state")] });
    const paths = [".env", "units/../.env", ".ENV", "notes.md", ".git/config", "docs/config", "tls.key"];
    for (const path of [...paths, "state/record.md", "other/record.md"]) {
      expect(workspace.read(path), path).toBeUndefined();
      expect(workspace.refuses?.(path), path).toBe(true);
    }
    expect(workspace.refuses?.("a.wf.md")).toBe(false);
    expect(workspace.refuses?.("nothing.md")).toBe(false);
  });

  it("lists all files except those in hidden folders", () => {
    expect([...(openWorkspace(root).list?.() ?? [])]).toEqual([
      "a.wf.md",
      "huge.md",
      "state/record.md",
      "units/b.wf.md",
    ]);
  });
});
