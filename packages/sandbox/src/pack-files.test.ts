import { extract } from "tar-stream";
import { describe, expect, it } from "vitest";
import { packFiles } from "./pack-files.ts";

const file = (path: string, text = "x", mode = 0o644) => ({ path, mode, bytes: Buffer.from(text) });
const pack = (...files: ReturnType<typeof file>[]) => packFiles({ kind: "list", files }, 1000);

describe("files for a session", () => {
  it("become a tar with their modes", async () => {
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
    "refuses the path %j",
    async (path) => {
      await expect(pack(file(path))).rejects.toThrow(/SANDBOX_FILES_REFUSED/);
    },
  );

  it("are refused as duplicates, as file and directory at once, and beyond the bytes allowed", async () => {
    await expect(pack(file("a"), file("a"))).rejects.toThrow(/twice/);
    await expect(pack(file("a/b"), file("a"))).rejects.toThrow(/file and a directory/);
    await expect(pack(file("a", "y".repeat(1001)))).rejects.toThrow(/1001 bytes/);
    await expect(packFiles({ kind: "tar", bytes: new Uint8Array(1001) }, 1000)).rejects.toThrow(/1001 bytes/);
  });
});
