import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { packSubmission } from "./pack-submission.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "markmill-pack-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (path: string, text = path) => {
  mkdirSync(join(folder, path, ".."), { recursive: true });
  writeFileSync(join(folder, path), text);
};
const listed = (tar: Buffer) => execFileSync("tar", ["-tf", "-"], { input: tar, encoding: "utf8" }).trim().split("\n");

describe("packSubmission", () => {
  it("packs files, folders and links inside, as tar reads them", async () => {
    write("b.txt");
    write("a/deep/c.txt");
    mkdirSync(join(folder, "empty"));
    symlinkSync("../b.txt", join(folder, "a/link"));
    const { tar, files, bytes } = await packSubmission(folder);
    expect(listed(tar)).toEqual(["a", "a/deep", "a/deep/c.txt", "a/link", "b.txt", "empty"]);
    expect({ files, bytes }).toEqual({ files: 3, bytes: "b.txt".length + "a/deep/c.txt".length });
  });

  it("gives the same bytes for the same content, whenever and by whomever it was written", async () => {
    write("x");
    const { tar } = await packSubmission(folder);
    utimesSync(join(folder, "x"), 1, 1);
    chmodSync(join(folder, "x"), 0o600);
    expect((await packSubmission(folder)).tar.equals(tar)).toBe(true);
    chmodSync(join(folder, "x"), 0o700);
    expect((await packSubmission(folder)).tar.equals(tar)).toBe(false);
  });

  it.each(["/etc/passwd", "../../etc/passwd", "..", "a/../../x"])("refuses a link to %s", async (target) => {
    symlinkSync(target, join(folder, "answers"));
    await expect(packSubmission(folder)).rejects.toMatchObject({
      code: "SUBMISSION_REFUSED",
      message: `answers is a link to ${target}, outside the submission.`,
    });
  });

  it("refuses what is neither file nor folder", async () => {
    execFileSync("mkfifo", [join(folder, "pipe")]);
    await expect(packSubmission(folder)).rejects.toMatchObject({ code: "SUBMISSION_REFUSED" });
  });

  it("refuses too many files and too many bytes, and names where most of it is", async () => {
    for (const name of ["src/a", "node_modules/b", "node_modules/c"]) write(name, "xxxxxxxxxx");
    await expect(packSubmission(folder, { files: 2, bytes: 1e6 })).rejects.toMatchObject({
      fix: expect.stringContaining("node_modules"),
    });
    await expect(packSubmission(folder, { files: 100, bytes: 25 })).rejects.toMatchObject({
      message: expect.stringContaining("25 bytes"),
    });
    await expect(packSubmission(folder, { files: 3, bytes: 30 })).resolves.toMatchObject({ files: 3, bytes: 30 });
  });

  it("refuses a folder that is none", async () => {
    write("file");
    await expect(packSubmission(join(folder, "nowhere"))).rejects.toMatchObject({ code: "SUBMISSION_REFUSED" });
    await expect(packSubmission(join(folder, "file"))).rejects.toMatchObject({ code: "SUBMISSION_REFUSED" });
  });
});
