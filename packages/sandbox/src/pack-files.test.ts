import { extract } from "tar-stream";
import { describe, expect, it } from "vitest";
import { packFiles, packTrees, refusedUnpacked } from "./pack-files.ts";

const file = (path: string, text = "x", mode = 0o644) => ({ path, mode, bytes: Buffer.from(text) });
const pack = (...files: ReturnType<typeof file>[]) => packFiles({ kind: "list", files }, 1000);

describe("files for a session", () => {
  it("are packed into a tar with their modes", async () => {
    const archive = extract();
    archive.end(Buffer.from(await pack(file("a/b.sh", "echo", 0o755), file("c"))));
    const entries: string[] = [];
    for await (const entry of archive) {
      entries.push(`${entry.header.name} ${entry.header.mode?.toString(8)}`);
      entry.resume();
    }
    expect(entries).toEqual(["a/b.sh 755", "c 644"]);
  });

  it.each(["/etc/passwd", "../x", "a/../../x", "a//b", "./a", "", "a/", "a\0b", "x".repeat(300)])(
    "are refused with the path %j",
    async (path) => {
      await expect(pack(file(path))).rejects.toThrow(/SANDBOX_FILES_REFUSED/);
    },
  );

  it("are refused as duplicates, as file and directory at once, and beyond the allowed bytes", async () => {
    await expect(pack(file("a"), file("a"))).rejects.toThrow(/twice/);
    await expect(pack(file("a/b"), file("a"))).rejects.toThrow(/file and a directory/);
    await expect(pack(file("a", "y".repeat(1001)))).rejects.toThrow(/1001 bytes/);
    await expect(packFiles({ kind: "tar", bytes: new Uint8Array(1001) }, 1000)).rejects.toThrow(/1001 bytes/);
  });
});

describe("read-only trees of a judge", () => {
  const trees = (submitted: string, tests: string) => [
    { at: "/submission" as const, files: [file("a", submitted)] },
    { at: "/judge" as const, files: [file("b", tests)] },
  ];

  it("a submission is refused because of its own files, never because of the teacher's files", async () => {
    expect((await packTrees(trees("x", "y"), 1000)).length).toBeGreaterThan(0);
    await expect(packTrees(trees("x".repeat(1001), "y"), 1000)).rejects.toMatchObject({
      code: "SANDBOX_FILES_REFUSED",
    });
    await expect(packTrees(trees("x", "y".repeat(1001)), 1000)).rejects.toMatchObject({
      code: "SANDBOX_FILES_FAILED",
      message: expect.stringContaining("1002 bytes"),
    });
  });

  it.each([
    ["files", "tar: judge/b: Cannot open: No space left on device", true],
    ["trees", "tar: submission/a: Cannot open: No space left on device", true],
    ["trees", "/usr/bin/tar: submission/a: Cannot mkdir: No space left on device", true],
    [
      "trees",
      "tar: submission/a: Cannot open: File name too long\ntar: judge/b: Cannot open: Disk quota exceeded",
      true,
    ],
    ["trees", "tar: judge/b: Cannot open: No space left on device", false],
    ["trees", "tar: judge/submission/b: Cannot write: No space left on device", false],
    ["trees", "tar: submission/a: implausible time\ntar: run/judge/b: Cannot open: No space left on device", false],
  ] as const)(
    "a tar message counts as too many files only for the submission's own paths (%s): %s",
    (unpacked, said, refused) => {
      expect(refusedUnpacked(said, unpacked) !== null).toBe(refused);
    },
  );
});
