import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { gzipSync } from "node:zlib";
import { type Header, pack } from "tar-stream";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { readSubmission } from "./read-submission.ts";
import { makeZip, type ZipPiece } from "./testing-zip.ts";

let folder: string;
let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "markmill-submission-"));
  folder = join(home, "work");
  mkdirSync(folder);
});
afterEach(() => rmSync(home, { recursive: true }));

const write = (path: string, text: string | Buffer = path) => {
  mkdirSync(join(folder, path, ".."), { recursive: true });
  writeFileSync(join(folder, path), text);
};
const listed = (tar: Buffer) => execFileSync("tar", ["-tf", "-"], { input: tar, encoding: "utf8" }).trim().split("\n");
const contentOf = (tar: Buffer, path: string) =>
  execFileSync("tar", ["-xOf", "-", path], { input: tar, encoding: "utf8", maxBuffer: 1e8 });
const refuses = (code: string, message: string | RegExp = "") =>
  expect.objectContaining({
    name: "SubmissionError",
    code,
    message: expect.stringMatching(message),
    fix: expect.stringMatching(/\S/),
  });

describe("a submitted folder", () => {
  it("is packed with its files, folders and links, and tar can read it", async () => {
    write("b.txt");
    write("a/deep/c.txt");
    mkdirSync(join(folder, "empty"));
    symlinkSync("../b.txt", join(folder, "a/link"));
    const { tar, files, paths, bytes, notes } = await readSubmission(folder);
    expect(paths).toEqual(["a/deep/c.txt", "a/link", "b.txt"]);
    expect(listed(tar)).toEqual(["a/", "a/deep/", "a/deep/c.txt", "a/link", "b.txt", "empty/"].map(trimmed(tar)));
    expect({ files, bytes, notes }).toEqual({ files: 3, bytes: "b.txt".length + "a/deep/c.txt".length, notes: [] });
  });

  it("gives the same bytes for the same content, at any time and for any owner", async () => {
    write("x");
    const { tar } = await readSubmission(folder);
    utimesSync(join(folder, "x"), 1, 1);
    chmodSync(join(folder, "x"), 0o600);
    expect((await readSubmission(folder)).tar.equals(tar)).toBe(true);
    chmodSync(join(folder, "x"), 0o700);
    expect((await readSubmission(folder)).tar.equals(tar)).toBe(false);
  });

  it.each(["/etc/passwd", "../../etc/passwd", "..", "a/../../x", "/"])(
    "loses a link to %s, with a note",
    async (target) => {
      write("kept");
      symlinkSync(target, join(folder, "answers"));
      const { tar, files, notes } = await readSubmission(folder);
      expect(listed(tar)).toEqual(["kept"]);
      expect({ files, notes }).toEqual({
        files: 1,
        notes: [`answers is a link to ${target}, outside the submission, and was skipped`],
      });
    },
  );

  it("reports many links that lead outside in few notes, without control characters", async () => {
    for (let index = 0; index < 30; index += 1) symlinkSync("/etc", join(folder, `link${index}`));
    symlinkSync("/\u001b[2J", join(folder, "a\u202eb"));
    const { notes } = await readSubmission(folder);
    expect(notes).toHaveLength(21);
    expect(notes[0]).toBe("a\\u{202e}b is a link to /\\u{1b}[2J, outside the submission, and was skipped");
    expect(notes.at(-1)).toBe("11 more entries were skipped");
  });

  it("loses files that are not the student's, with a note", async () => {
    write(".markmill/pg/x");
    write(".env", "KEY=1");
    write("sub/.env");
    const without = [join(folder, ".markmill"), join(folder, ".env"), join(folder, "nowhere")];
    const { tar, notes } = await readSubmission(folder, { without });
    expect(listed(tar).filter((name) => !name.endsWith("/"))).toEqual(expect.arrayContaining(["sub/.env"]));
    expect(tar.includes("KEY=1")).toBe(false);
    expect(notes).toEqual([
      ".env belongs to Markmill and was skipped",
      ".markmill belongs to Markmill and was skipped",
    ]);
  });

  it("is refused if it contains a pipe or a socket", async () => {
    execFileSync("mkfifo", [join(folder, "pipe")]);
    await expect(readSubmission(folder)).rejects.toEqual(refuses("SUBMISSION_REFUSED", /pipe is neither/));
  });

  it("is refused with too many files, folders or bytes, and the message says where most of it is", async () => {
    for (const name of ["src/a", "node_modules/b", "node_modules/c"]) write(name, "xxxxxxxxxx");
    const limited = (files: number, bytes: number) => readSubmission(folder, { limits: { files, bytes } });
    await expect(limited(2, 1e6)).rejects.toMatchObject({
      code: "SUBMISSION_TOO_LARGE",
      fix: expect.stringContaining("node_modules"),
    });
    await expect(limited(100, 25)).rejects.toMatchObject({ message: expect.stringContaining("25 bytes") });
    await expect(limited(3, 30)).resolves.toMatchObject({ files: 3, bytes: 30 });
    for (const name of ["e1", "e2", "e3"]) mkdirSync(join(folder, name));
    await expect(limited(3, 30)).rejects.toEqual(refuses("SUBMISSION_TOO_LARGE", /3 folders/));
  });

  it("is refused if it is too deep, without a system error code in the message", async () => {
    execFileSync("bash", [
      "-c",
      `half=$(printf 'dddddddddd/%.0s' {1..300}); cd "$1" && mkdir -p "$half" && cd "$half" && mkdir -p "$half"`,
      "bash",
      folder,
    ]);
    await expect(readSubmission(folder)).rejects.toEqual(refuses("SUBMISSION_TOO_DEEP", /parts/));
    execFileSync("rm", ["-rf", join(folder, "dddddddddd")]);
  });

  it.skipIf(process.platform !== "linux")(
    "is refused with a name that is not UTF-8, without a system error code in the message",
    async () => {
      write("sub/ok");
      writeFileSync(Buffer.concat([Buffer.from(`${folder}/sub/`), Buffer.from([0x61, 0xff])]), "x");
      await expect(readSubmission(folder)).rejects.toEqual(refuses("SUBMISSION_NAME_INVALID", /sub, the name a\ufffd/));
    },
  );

  it("is refused if it is not a folder", async () => {
    await expect(readSubmission(join(folder, "nowhere"))).rejects.toEqual(
      refuses("SUBMISSION_REFUSED", /no file or folder/),
    );
    execFileSync("mkfifo", [join(home, "pipe")]);
    await expect(readSubmission(join(home, "pipe"))).rejects.toEqual(refuses("SUBMISSION_REFUSED"));
  });

  it.skipIf(process.platform !== "linux")(
    "never returns the target of a link, even if files and links are swapped during the read",
    async () => {
      mkdirSync(join(home, "outside"));
      writeFileSync(join(home, "outside/file"), "SECRET");
      write("folder/file", "own");
      write("lone", "own");
      // Another thread replaces a file and a folder by links, as fast as it can.
      const swap = `
      const { symlinkSync, renameSync, rmSync } = require("node:fs");
      const { workerData: { folder, outside } } = require("node:worker_threads");
      for (let round = 0; ; round += 1) {
        try {
          symlinkSync(outside, folder + "/evil"); renameSync(folder + "/folder", folder + "/.good"); renameSync(folder + "/evil", folder + "/folder");
          rmSync(folder + "/folder"); renameSync(folder + "/.good", folder + "/folder");
          symlinkSync(outside + "/file", folder + "/evil"); renameSync(folder + "/lone", folder + "/.lone"); renameSync(folder + "/evil", folder + "/lone");
          rmSync(folder + "/lone"); renameSync(folder + "/.lone", folder + "/lone");
        } catch (error) { rmSync(folder + "/evil", { force: true }); }
      }`;
      const racer = new Worker(swap, { eval: true, workerData: { folder, outside: join(home, "outside") } });
      let whole = 0;
      try {
        for (let round = 0; round < (inject("thorough") ? 1500 : 300); round += 1) {
          const tar = await readSubmission(folder).then(
            (read) => read.tar,
            (error: { code: string }) => {
              expect(error.code).toBe("SUBMISSION_CHANGED");
              return Buffer.alloc(0);
            },
          );
          expect(tar.includes("SECRET")).toBe(false);
          if (tar.includes("own")) whole += 1;
        }
      } finally {
        await racer.terminate();
      }
      expect(whole).toBeGreaterThan(0);
      for (const name of readdirSync(folder))
        if (name.startsWith(".")) renameSync(join(folder, name), join(home, `left${name}`));
    },
  );
});

describe("a single submitted file", () => {
  it("is a submission of that file, even if its format is a zip inside", async () => {
    write("essay.md", "text");
    write("report.docx", makeZip([{ name: "x", bytes: "y" }]));
    const essay = await readSubmission(join(folder, "essay.md"));
    expect({ ...essay, tar: contentOf(essay.tar, "essay.md") }).toEqual({
      tar: "text",
      files: 1,
      paths: ["essay.md"],
      bytes: 4,
      notes: [],
    });
    expect(listed((await readSubmission(join(folder, "report.docx"))).tar)).toEqual(["report.docx"]);
  });

  it("is refused if it is too long, or an unsupported archive", async () => {
    write("long.txt", "x".repeat(100));
    const limits = { files: 5, bytes: 99 };
    await expect(readSubmission(join(folder, "long.txt"), { limits })).rejects.toEqual(refuses("SUBMISSION_TOO_LARGE"));
    for (const name of ["a.rar", "a.7z", "a.tar.xz", "a.tar.bz2"]) {
      write(name);
      await expect(readSubmission(join(folder, name))).rejects.toEqual(refuses("SUBMISSION_ARCHIVE_UNSUPPORTED"));
    }
  });
});

const zipped = async (pieces: readonly ZipPiece[] | Buffer, limits?: { files: number; bytes: number }) => {
  writeFileSync(join(home, "a.zip"), Buffer.isBuffer(pieces) ? pieces : makeZip(pieces as readonly ZipPiece[]));
  return await readSubmission(join(home, "a.zip"), limits === undefined ? {} : { limits });
};
type TarPiece = Partial<Header> & { readonly name: string; readonly bytes?: string };
const tarred = async (
  pieces: readonly TarPiece[] | Buffer,
  name = "a.tar",
  limits?: { files: number; bytes: number },
) => {
  const archive = Buffer.isBuffer(pieces) ? pieces : await makeTar(pieces as readonly TarPiece[]);
  writeFileSync(join(home, name), name.endsWith("gz") && !Buffer.isBuffer(pieces) ? gzipSync(archive) : archive);
  return await readSubmission(join(home, name), limits === undefined ? {} : { limits });
};
async function makeTar(pieces: readonly TarPiece[]): Promise<Buffer> {
  const tar = pack();
  for (const { bytes = "", ...header } of pieces) tar.entry(header, bytes);
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe("a submitted archive", () => {
  it("gives the same submission as the packed folder", async () => {
    write("src/main.py", "print(1)");
    write("run.sh", "true");
    chmodSync(join(folder, "run.sh"), 0o755);
    write("ä/ö.txt", "ü");
    const { tar } = await readSubmission(folder);
    const pieces = [
      { name: "ä/ö.txt", bytes: "ü" },
      { name: "src/", mode: 0o040755 },
      { name: "run.sh", bytes: "true", mode: 0o100755 },
      { name: "src/main.py", bytes: "print(1)", stored: true },
    ];
    expect((await zipped(pieces)).tar.equals(tar)).toBe(true);
    const entries = pieces.map(({ name, bytes = "", mode = 0o644 }) => ({
      name: `./${name}`,
      bytes,
      mode: mode & 0o777,
      type: name.endsWith("/") ? ("directory" as const) : ("file" as const),
    }));
    for (const name of ["a.tar", "a.tar.gz", "a.tgz", "A.TAR"]) {
      expect((await tarred([{ name: "./", type: "directory" }, ...entries], name)).tar.equals(tar), name).toBe(true);
    }
    execFileSync("tar", ["-czf", join(home, "b.tgz"), "-C", folder, "."]);
    expect((await readSubmission(join(home, "b.tgz"))).tar.equals(tar)).toBe(true);
  });

  it.each(["/etc/passwd", "../x", "a/../../x", "a/..", "C:/x", "c:x", "\\x", "a\\..\\..\\x", "//host/x"])(
    "is refused with the path %s",
    async (name) => {
      await expect(zipped([{ name, bytes: "x" }])).rejects.toEqual(refuses("SUBMISSION_ARCHIVE_ESCAPES"));
      await expect(tarred([{ name, bytes: "x" }])).rejects.toEqual(refuses("SUBMISSION_ARCHIVE_ESCAPES"));
    },
  );

  it.each(["symlink", "link", "fifo", "character-device", "block-device"] as const)(
    "is refused with a %s",
    async (type) => {
      await expect(tarred([{ name: "x", type, linkname: "y" }])).rejects.toEqual(refuses("SUBMISSION_ARCHIVE_LINK"));
      await expect(tarred([{ name: "x", type, linkname: "/etc" }], "a.tgz")).rejects.toEqual(
        refuses("SUBMISSION_ARCHIVE_LINK"),
      );
    },
  );

  it.each([0o120777, 0o010644, 0o020644, 0o060644, 0o140644])(
    "is refused with a zip entry of mode %o",
    async (mode) => {
      await expect(zipped([{ name: "x", bytes: "/etc/passwd", mode }])).rejects.toEqual(
        refuses("SUBMISSION_ARCHIVE_LINK"),
      );
    },
  );

  it.each([
    ["a", "a"],
    ["README", "readme"],
    ["src/a", "SRC/b"],
    ["é", "e\u0301"],
    ["straße", "STRASSE"],
    ["a", "a/b"],
    ["a/b", "a"],
    ["ﬁle", "file"],
    ["./a", "a"],
    ["x//y", "x/y"],
  ])("is refused with %j beside %j", async (one, other) => {
    const both = [one, other].map((name) => ({ name, bytes: name }));
    await expect(zipped(both)).rejects.toEqual(refuses("SUBMISSION_ARCHIVE_CLASH"));
    await expect(tarred(both)).rejects.toEqual(refuses("SUBMISSION_ARCHIVE_CLASH"));
  });

  it("is refused with a name that is not UTF-8, has a NUL, or is too long", async () => {
    const invalid = refuses("SUBMISSION_NAME_INVALID");
    await expect(zipped([{ name: Buffer.from([0x61, 0xff]) }])).rejects.toEqual(invalid);
    await expect(zipped([{ name: "a\0b" }])).rejects.toEqual(invalid);
    await expect(zipped([{ name: "x".repeat(256) }])).rejects.toEqual(invalid);
    await expect(zipped([{ name: "" }])).rejects.toEqual(invalid);
    const tar = await makeTar([{ name: "aXb", bytes: "x" }]);
    tar[1] = 0xff;
    tar.write(checksum(tar), 148, "latin1");
    await expect(tarred(tar)).rejects.toEqual(invalid);
  });

  it("has names decoded from the DOS code page if the zip does not claim UTF-8, with a note", async () => {
    const { tar, notes } = await zipped([{ name: Buffer.from([0x4d, 0x81, 0x2e, 0x63]), flags: 0, bytes: "x" }]);
    expect(tar.includes("Mü.c")).toBe(true);
    expect(notes).toEqual([expect.stringMatching(/1 names in a\.zip are not UTF-8.*Mü\.c/)]);
  });

  it("is refused if it is a bomb", async () => {
    const zeros = Buffer.alloc(8 * 1024 * 1024);
    const bomb = refuses("SUBMISSION_ARCHIVE_BOMB");
    await expect(zipped([{ name: "zeros", bytes: zeros }])).rejects.toEqual(bomb);
    await expect(tarred([{ name: "zeros", bytes: zeros.toString("latin1") }], "a.tgz")).rejects.toEqual(bomb);
    const shared = Array.from({ length: 50 }, (_, index) => ({ name: `f${index}`, sharesWith: 0, stored: true }));
    await expect(zipped([{ name: "f", bytes: "abcdefgh".repeat(20), stored: true }, ...shared])).rejects.toEqual(bomb);
    // Well below the floor, a high ratio does not mean a bomb.
    await expect(zipped([{ name: "zeros", bytes: Buffer.alloc(1024 * 1024) }])).resolves.toMatchObject({ files: 1 });
  });

  it("is refused above the limits of files, folders, bytes and depth", async () => {
    const limits = { files: 3, bytes: 100 };
    const large = refuses("SUBMISSION_TOO_LARGE");
    const names = ["a", "b", "c", "d"];
    await expect(
      zipped(
        names.map((name) => ({ name })),
        limits,
      ),
    ).rejects.toEqual(large);
    await expect(
      zipped(
        names.map((name) => ({ name: `${name}/` })),
        limits,
      ),
    ).rejects.toEqual(large);
    await expect(
      tarred(
        names.map((name) => ({ name, type: "directory" as const })),
        "a.tar",
        limits,
      ),
    ).rejects.toEqual(large);
    await expect(zipped([{ name: "a", bytes: "x".repeat(101) }], { files: 3, bytes: 100 })).rejects.toEqual(large);
    await expect(zipped([{ name: "d/".repeat(100) }])).rejects.toEqual(refuses("SUBMISSION_TOO_DEEP"));
    await expect(tarred([{ name: "d/".repeat(500), type: "directory" }])).rejects.toEqual(
      refuses("SUBMISSION_TOO_DEEP"),
    );
  });

  it("is refused if it is damaged, truncated, encrypted, or not an archive", async () => {
    const broken = refuses("SUBMISSION_ARCHIVE_BROKEN");
    await expect(zipped(Buffer.from("no zip"))).rejects.toEqual(broken);
    await expect(zipped(Buffer.alloc(0))).rejects.toEqual(broken);
    await expect(tarred(Buffer.from("no tar".repeat(200)))).rejects.toEqual(broken);
    await expect(tarred(Buffer.from("no gzip"), "a.tgz")).rejects.toEqual(broken);
    await expect(tarred(gzipSync("no tar".repeat(200)), "a.tgz")).rejects.toEqual(broken);
    const good = makeZip([{ name: "a", bytes: "text".repeat(99) }]);
    await expect(zipped(good.subarray(0, -30))).rejects.toEqual(broken);
    await expect(zipped([{ name: "a", bytes: "text", crc: 1 }])).rejects.toEqual(broken);
    await expect(zipped([{ name: "a", bytes: "text", size: 9 }])).rejects.toEqual(broken);
    await expect(zipped([{ name: "a", bytes: "text", size: 2 }])).rejects.toEqual(broken);
    const tar = await makeTar([{ name: "a", bytes: "x".repeat(5000) }]);
    await expect(tarred(tar.subarray(0, 2000))).rejects.toEqual(broken);
    await expect(tarred(gzipSync(tar).subarray(0, -20), "a.tgz")).rejects.toEqual(broken);
    await expect(zipped([{ name: "a", bytes: "text", flags: 0x801 }])).rejects.toEqual(
      refuses("SUBMISSION_ARCHIVE_UNSUPPORTED", /encrypted/),
    );
  });

  it("leaves no file behind when it is refused", async () => {
    await zipped([{ name: "ok", bytes: "x" }, { name: "../x" }]).catch(() => undefined);
    expect(readdirSync(home).sort()).toEqual(["a.zip", "work"]);
  });
});

/** GNU tar shows a folder with a slash. */
function trimmed(tar: Buffer) {
  const shown = listed(tar);
  return (name: string) => (shown.includes(name) ? name : name.replace(/\/$/, ""));
}

function checksum(tar: Buffer): string {
  const header = Buffer.from(tar.subarray(0, 512));
  header.fill(0x20, 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  return `${sum.toString(8).padStart(6, "0")}\0 `;
}
