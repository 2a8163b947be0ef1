import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openClassArchive, packSubmission } from "./class-archive.ts";
import { readSubmission } from "./read-submission.ts";
import { makeZip, type ZipPiece } from "./testing-zip.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "markmill-class-archive-"));
});
afterEach(() => rmSync(home, { recursive: true }));

const opened = async (pieces: readonly ZipPiece[]) => {
  writeFileSync(join(home, "class.zip"), makeZip(pieces));
  return await openClassArchive(join(home, "class.zip"));
};

describe("an archive of a class", () => {
  it("returns one person's submission at a time, like a separate upload", async () => {
    const archive = await opened([
      { name: "ada/main.js", bytes: "1" },
      { name: "ada lovelace/main.js", bytes: "2" },
      { name: "bob.txt", bytes: "3" },
    ]);
    expect(archive.names).toEqual(["ada/main.js", "ada lovelace/main.js", "bob.txt"]);
    const { entries } = await archive.read("ada");
    expect(entries).toMatchObject([{ path: "main.js", bytes: Buffer.from("1") }]);
    writeFileSync(join(home, "main.js"), "1");
    const alone = await readSubmission(join(home, "main.js"));
    expect((await packSubmission(entries, [])).tar.equals(alone.tar)).toBe(true);
    expect((await archive.read("bob.txt")).entries).toMatchObject([{ path: "bob.txt" }]);
    archive.close();
  });

  it("refuses only the submission that contains an attack", async () => {
    const archive = await opened([
      { name: "clash/README", bytes: "1" },
      { name: "clash/readme", bytes: "2" },
      { name: "link/x", bytes: "/etc/passwd", mode: 0o120777 },
      { name: "up/../../x", bytes: "x" },
      { name: "bomb/zeros", bytes: Buffer.alloc(8 * 1024 * 1024) },
      { name: "fine/a", bytes: "a" },
    ]);
    await expect(archive.read("clash")).rejects.toMatchObject({ code: "SUBMISSION_ARCHIVE_CLASH" });
    await expect(archive.read("link")).rejects.toMatchObject({ code: "SUBMISSION_ARCHIVE_LINK" });
    await expect(archive.read("up")).rejects.toMatchObject({ code: "SUBMISSION_ARCHIVE_ESCAPES" });
    await expect(archive.read("bomb")).rejects.toMatchObject({ code: "SUBMISSION_ARCHIVE_BOMB" });
    await expect(archive.read("fine", { files: 1, bytes: 1 })).resolves.toMatchObject({ entries: [{ path: "a" }] });
    archive.close();
  });

  it("is refused if it is not an archive", async () => {
    writeFileSync(join(home, "class.zip"), "no zip");
    await expect(openClassArchive(join(home, "class.zip"))).rejects.toMatchObject({
      code: "SUBMISSION_ARCHIVE_BROKEN",
    });
  });
});
