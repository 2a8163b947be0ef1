import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultLimits } from "@markmill/grading/submission";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FetchOptions, fetchRepository } from "./fetch-repository.ts";
import { type AddressPlaces, readAddress } from "./repository-address.ts";

/** Fetches as if class.yaml built the address. */
const fetchWritten = async (
  written: string,
  { folder: below, ...options }: Omit<FetchOptions, "allow"> & AddressPlaces,
) =>
  await fetchRepository(await readAddress(written, below === undefined ? {} : { folder: below }), {
    allow: "any",
    ...options,
  });

let folder: string;
const git = (at: string, day: string, ...args: string[]) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@x", ...args], {
    cwd: at,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: at,
      GIT_COMMITTER_DATE: `${day}T12:00:00Z`,
      GIT_AUTHOR_DATE: `${day}T12:00:00Z`,
    },
  });
const commit = (at: string, day: string) => {
  git(at, day, "add", "-A");
  git(at, day, "commit", "-qm", "work");
};
const pathsOf = ({ entries }: Awaited<ReturnType<typeof fetchRepository>>) => entries.map(({ path }) => path).sort();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "markmill-repository-"));
  git(folder, "2026-11-01", "init", "-q", ".");
  await mkdir(join(folder, "src"));
  await writeFile(join(folder, "src/a.js"), "first");
  commit(folder, "2026-11-01");
  await writeFile(join(folder, "src/a.js"), "second $Format:%H$");
  await writeFile(join(folder, ".gitattributes"), "src/a.js export-subst\nb.js export-ignore filter=evil\n");
  await writeFile(join(folder, "b.js"), "b");
  await writeFile(join(folder, ".git/hooks/post-checkout"), `#!/bin/sh\ntouch ${folder}/HOOK\n`);
  await chmod(join(folder, ".git/hooks/post-checkout"), 0o755);
  commit(folder, "2026-11-10");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("fetching a repository", () => {
  it("reads the last commit before the deadline and reports its hash", async () => {
    const url = `file://${folder}`;
    const early = await fetchWritten(url, {
      limits: defaultLimits,
      folder: tmpdir(),
      deadline: Date.parse("2026-11-05T00:00:00Z"),
    });
    expect(pathsOf(early)).toEqual(["src", "src/a.js"]);
    expect(early.notes).toEqual([
      `commit ${early.commit.hash} of 2026-11-01T12:00:00.000Z`,
      "ignored 1 commit after the deadline",
    ]);
    expect(early.commit).toMatchObject({ at: "2026-11-01T12:00:00.000Z", doubts: [] });
  });

  it("reads the newest commit if none is before the deadline, and its date shows the lateness", async () => {
    const late = await fetchWritten(`file://${folder}`, { limits: defaultLimits, folder: tmpdir(), deadline: 0 });
    expect(late.commit).toMatchObject({ at: "2026-11-10T12:00:00.000Z", doubts: [] });
  });

  it("gives no time and a doubt if the date is impossible", async () => {
    const now = Date.parse("2026-11-05T00:00:00Z");
    const read = await fetchWritten(`file://${folder}`, { limits: defaultLimits, folder: tmpdir(), now });
    expect(read.commit).toMatchObject({ at: null, doubts: ["it is dated after it was fetched"] });
    expect(read.notes[0]).toContain("an unknown time");
  });

  it("reads a shallow clone as far as it goes, and does not blame the student if it ends too early", async () => {
    const shallow = await mkdtemp(join(tmpdir(), "markmill-repository-"));
    git(shallow, "2026-11-10", "clone", "-q", "--depth", "1", `file://${folder}`, "clone");
    const at = `file://${join(shallow, "clone")}`;
    const newest = await fetchWritten(at, { limits: defaultLimits, folder: tmpdir() });
    expect(newest.commit.at).toBe("2026-11-10T12:00:00.000Z");
    const early = fetchWritten(at, {
      limits: defaultLimits,
      folder: tmpdir(),
      deadline: Date.parse("2026-11-05T00:00:00Z"),
    });
    await expect(early).rejects.toMatchObject({ name: "FetchTrouble", message: expect.stringContaining("shallow") });
    await rm(shallow, { recursive: true });
  });

  it("reads a SHA-256 repository like any other", async () => {
    const long = await mkdtemp(join(tmpdir(), "markmill-repository-"));
    git(long, "2026-11-01", "init", "-q", "--object-format=sha256", ".");
    await writeFile(join(long, "a.js"), "1");
    commit(long, "2026-11-01");
    const read = await fetchWritten(`file://${long}`, { limits: defaultLimits, folder: tmpdir() });
    expect(read.commit.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(pathsOf(read)).toEqual(["a.js"]);
    await rm(long, { recursive: true });
  });

  it("does not apply the line ends, encodings or keywords that attributes request", async () => {
    const odd = await mkdtemp(join(tmpdir(), "markmill-repository-"));
    git(odd, "2026-11-01", "init", "-q", ".");
    const attributes = "* text=auto eol=crlf\n*.txt working-tree-encoding=UTF-16\n*.c ident\n*.secret export-ignore\n";
    await writeFile(join(odd, ".gitattributes"), "");
    for (const name of ["a.txt", "b.c", "c.secret"]) await writeFile(join(odd, name), "one $Id$\ntwo\n");
    commit(odd, "2026-11-01");
    await writeFile(join(odd, ".git/info/attributes"), "* -text\n");
    await writeFile(join(odd, ".gitattributes"), attributes);
    git(odd, "2026-11-02", "add", ".gitattributes");
    git(odd, "2026-11-02", "commit", "-qm", "attributes");
    const { entries } = await fetchWritten(`file://${odd}`, { limits: defaultLimits, folder: tmpdir() });
    const texts = entries.flatMap((entry) => (entry.kind === "file" ? [[entry.path, entry.bytes.toString()]] : []));
    expect(texts.sort()).toEqual([
      [".gitattributes", attributes],
      ...["a.txt", "b.c", "c.secret"].map((name) => [name, "one $Id$\ntwo\n"]),
    ]);
    await rm(odd, { recursive: true });
  });

  it("reads files as committed, and runs nothing from the repository", async () => {
    const read = await fetchWritten(`file://${folder}`, { limits: defaultLimits, folder: tmpdir() });
    expect(pathsOf(read)).toEqual([".gitattributes", "b.js", "src", "src/a.js"]);
    const file = read.entries.find(({ path }) => path === "src/a.js");
    expect(file?.kind === "file" ? file.bytes.toString() : "").toBe("second $Format:%H$");
    expect(existsSync(join(folder, "HOOK"))).toBe(false);
  });

  it("decides nothing about the submission if the host does not answer, but an empty repository is the student's", async () => {
    const nowhere = fetchWritten("https://127.0.0.1:1/ada.git", { limits: defaultLimits });
    await expect(nowhere).rejects.toMatchObject({ name: "FetchTrouble" });
    const late = fetchWritten(`file://${folder}`, { limits: defaultLimits, folder: tmpdir(), timeoutMs: 1 });
    await expect(late).rejects.toMatchObject({ name: "FetchTrouble" });
    const empty = await mkdtemp(join(tmpdir(), "markmill-repository-"));
    git(empty, "2026-11-01", "init", "-q", ".");
    await expect(fetchWritten(`file://${empty}`, { limits: defaultLimits, folder: tmpdir() })).rejects.toMatchObject({
      name: "SubmissionError",
    });
    await rm(empty, { recursive: true });
  });

  it("refuses links, other kinds of addresses and repositories that are too large", async () => {
    for (const url of ["ext::sh -c id", `file://${folder}`, "https://-oProxyCommand=id/x", "--upload-pack=id", folder])
      await expect(fetchWritten(url, { limits: defaultLimits })).rejects.toMatchObject({
        code: "SUBMISSION_REFUSED",
      });
    await expect(
      fetchWritten(`file://${folder}`, { limits: { files: 1, bytes: 3 }, folder: tmpdir() }),
    ).rejects.toMatchObject({ name: "SubmissionError" });
    const linked = await mkdtemp(join(tmpdir(), "markmill-repository-"));
    git(linked, "2026-11-01", "init", "-q", ".");
    await symlink("/etc/passwd", join(linked, "x"));
    commit(linked, "2026-11-01");
    await expect(fetchWritten(`file://${linked}`, { limits: defaultLimits, folder: tmpdir() })).rejects.toThrow(
      "is a link",
    );
    await rm(linked, { recursive: true });
  });
});

describe("fetching from a host that repeats the request", () => {
  it("quotes its message without the token, plain or encoded", async () => {
    const [key, cert] = [join(folder, "..", `${process.pid}-key.pem`), join(folder, "..", `${process.pid}-cert.pem`)];
    const kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    execFileSync("openssl", [...kind, ...subject, "-keyout", key, "-out", cert], { stdio: "ignore" });
    const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, ({ headers }, response) => {
      const [, basic = ""] = headers.authorization?.split(" ") ?? [];
      const said = `Permission denied for ${Buffer.from(basic, "base64").toString()} (${basic})`;
      response.writeHead(403, { "content-type": "text/plain" }).end(said);
    });
    try {
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      const host = `localhost:${(server.address() as AddressInfo).port}`;
      const access = { caFile: cert, token: { host, value: "very-secret" } };
      const refused = await fetchWritten(`https://${host}/ada.git`, { limits: defaultLimits, access }).catch(String);
      expect(refused).toContain("Permission denied for x-access-token:*** (***)");
    } finally {
      server.closeAllConnections();
      server.close();
      await rm(key, { force: true });
      await rm(cert, { force: true });
    }
  });
});
