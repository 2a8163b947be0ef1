// Our own program reads and writes single files of a session, in the same way on every adapter.
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createDockerSandbox,
  createJailSandbox,
  createNoneSandbox,
  type Sandbox,
  type Session,
} from "@markmill/sandbox";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { dockerAvailable, sharedDocker } from "../support/docker-engine.ts";
import { sessionSpec } from "../support/session-spec.ts";

const mebibyte = 1024 * 1024;
const docker = await dockerAvailable("files of a session in a Docker container");

const adapters: [string, boolean, (root: string) => Promise<Sandbox>][] = [
  ["none", true, async (root) => createNoneSandbox({ root, warn: () => undefined })],
  ["jail", process.platform === "linux", (root) => createJailSandbox({ root })],
  [
    "jail without cgroups",
    process.platform === "linux",
    (root) => createJailSandbox({ root, host: { useCgroups: false } }),
  ],
  [
    "docker",
    docker,
    async () => {
      const { host, image } = await sharedDocker();
      return createDockerSandbox({ hosts: [host], images: [image] });
    },
  ],
];

describe.each(adapters)("files of a session: %s", (kind, available, create) => {
  let root = "";
  let sandbox: Sandbox;
  const opened: string[] = [];
  beforeAll(async () => {
    if (!available) return;
    root = await mkdtemp(join(tmpdir(), "markmill-files-"));
    sandbox = await create(root);
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((id) => sandbox.remove(id)));
  });
  afterAll(async () => {
    await sandbox?.close();
    if (root !== "") await rm(root, { recursive: true, force: true });
  });

  // A jail without cgroups has other limits and another end of processes. Its files are those of every jail.
  const ofFiles = it.skipIf(!available || (kind === "jail without cgroups" && !inject("thorough")));
  // The program that reads and writes decides this, in the same way in every sandbox.
  const ofProgram = it.skipIf(!available || (kind !== "jail" && process.platform === "linux" && !inject("thorough")));
  const open = async () => {
    const id = `f-${randomBytes(6).toString("hex")}`;
    opened.push(id);
    return await sandbox.open(sessionSpec(id));
  };
  const sh = async (session: Session, text: string) => (await session.run({ kind: "shell", text })).output;
  const read = async (session: Session, path: string, maxBytes = mebibyte) => {
    const file = await session.readFile(path, { maxBytes });
    return file.kind === "read" ? Buffer.from(file.bytes).toString() : file;
  };
  const write = (session: Session, path: string, text: string) => session.writeFile(path, Buffer.from(text));

  ofFiles("are read by a path from the workspace, whatever the shell's directory is", async () => {
    const session = await open();
    await sh(session, "cd lib && mkdir -p lib && echo other > lib/data.txt && cd /tmp");
    expect(await read(session, "lib/data.txt")).toBe("seven\n");
    expect(await read(session, "./lib/../lib//data.txt")).toBe("seven\n");
    expect(await read(session, "nothing.txt")).toEqual({ kind: "missing" });
    expect(await read(session, "no/such/file")).toEqual({ kind: "missing" });
    expect(await read(session, "lib")).toMatchObject({ kind: "refused", why: "it is a folder" });
    expect(await read(session, ".")).toMatchObject({ kind: "refused", why: "it is a folder" });
  });

  ofFiles("are read whole up to the limit, and not at all above it", async () => {
    const session = await open();
    await sh(session, "head -c 1048576 /dev/zero | tr '\\0' x > full; { cat full; echo; } > over; : > empty");
    expect(((await read(session, "full")) as string).length).toBe(mebibyte);
    expect(await read(session, "over")).toEqual({ kind: "too long", size: mebibyte + 1 });
    expect(await read(session, "empty", 0)).toBe("");
    await sh(session, "truncate -s 1T sparse 2>/dev/null || truncate -s 30M sparse");
    expect(await read(session, "sparse")).toMatchObject({ kind: "too long" });
  });

  ofFiles("keep every byte", async () => {
    const session = await open();
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => (index * 7 + (index >> 8)) % 256));
    expect(await session.writeFile("bytes", bytes)).toEqual({ kind: "written" });
    const file = await session.readFile("bytes", { maxBytes: mebibyte });
    expect(file.kind === "read" && Buffer.from(file.bytes).equals(bytes)).toBe(true);
    expect(await sh(session, "wc -c < bytes")).toMatch(/^\s*70000$/m);
  });

  ofFiles("are written at any size, with the folders they need, and without other files", async () => {
    const session = await open();
    await sh(session, "cd lib; chmod 755 ../main.py");
    expect(await write(session, "a/b/c.txt", "x".repeat(5 * mebibyte))).toEqual({ kind: "written" });
    expect(await write(session, "main.py", "new")).toEqual({ kind: "written" });
    expect(await write(session, "empty", "")).toEqual({ kind: "written" });
    expect(
      await sh(
        session,
        'cd - >/dev/null 2>&1; cd "$OLDPWD" 2>/dev/null; cd ..; wc -c < a/b/c.txt; ls -A a/b; stat -c %a main.py; cat main.py; ls -A',
      ),
    ).toMatch(/^\s*5242880\nc.txt\n755\nnew/);
    expect(await write(session, "lib", "x")).toEqual({ kind: "refused", why: "it is a folder" });
  });

  ofFiles("are found whatever a command did to its shell", async () => {
    const session = await open();
    await sh(
      session,
      "cat() { echo FAKE; }; perl() { echo FAKE; }; env() { echo FAKE; }; export -f cat perl env; mkdir -p bin; " +
        "printf '#!/bin/sh\\necho FAKE\\n' > bin/perl; chmod +x bin/perl; cp bin/perl bin/cat; cp bin/perl bin/env; " +
        "export PATH=$PWD/bin:$PATH PERL5OPT=-Mfake PERL5LIB=$PWD/bin LD_PRELOAD=$PWD/none.so IFS=x; umask 777",
    );
    expect(await read(session, "lib/data.txt")).toBe("seven\n");
    expect(await write(session, "lib/new.txt", "kept")).toEqual({ kind: "written" });
    expect(await read(session, "lib/new.txt")).toBe("kept");
  });

  ofProgram("are not read through a link out of the workspace", async () => {
    const session = await open();
    await sh(
      session,
      "ln -s /proc/self/environ report.txt; ln -s /etc/passwd abs; ln -s ../../../../etc/passwd rel; ln -s /etc dir; ln -s loop loop; " +
        "ln -s lib/data.txt inner; ln -s lib folder; ln -s ../main.py lib/up; ln -s $PWD/main.py whole; ln -s lib/.. root; ln -s .. out",
    );
    const refused = { kind: "refused", why: expect.stringContaining("leads out") };
    for (const path of ["report.txt", "abs", "rel", "dir/passwd", "../x", "lib/../../x", "out/etc/passwd"]) {
      expect([path, await read(session, path)]).toEqual([path, refused]);
      expect([path, await write(session, path, "x")]).toEqual([path, refused]);
    }
    expect(await read(session, "loop")).toMatchObject({ kind: "refused", why: expect.stringContaining("links") });
    expect(await read(session, "inner")).toBe("seven\n");
    expect(await read(session, "folder/data.txt")).toBe("seven\n");
    for (const path of ["lib/up", "whole", "root/main.py"]) expect(await read(session, path)).toContain("from main");
    expect(await write(session, "inner", "eight\n")).toEqual({ kind: "written" });
    expect(await read(session, "lib/data.txt")).toBe("eight\n");
  });

  ofProgram("cannot be pipes, sockets or devices", async () => {
    const session = await open();
    await sh(
      session,
      "mkfifo pipe; ln -s pipe topipe; perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => \"sock\", Listen => 1)'",
    );
    for (const path of ["pipe", "topipe"]) {
      expect(await read(session, path)).toEqual({ kind: "refused", why: "it is not a plain file" });
      expect(await write(session, path, "x")).toEqual({ kind: "refused", why: "it is not a plain file" });
    }
    expect(await read(session, "pipe/x")).toMatchObject({ kind: "refused" });
  });

  it.skipIf(!available || kind === "none")("report what the session does not allow", async () => {
    const session = await open();
    await sh(session, "mkdir shut; echo x > shut/f; chmod 0 shut; echo x > mute; chmod 0 mute");
    expect(await read(session, "shut/f")).toEqual({ kind: "refused", why: "permission denied" });
    expect(await read(session, "mute")).toEqual({ kind: "refused", why: "permission denied" });
    await sh(session, "head -c 40M /dev/zero > fill");
    expect(await write(session, "main.py", "y".repeat(mebibyte))).toMatchObject({ kind: "refused", why: /no space/ });
    expect(await read(session, "main.py")).toContain("from main");
  });

  ofProgram("are never read through a link that is swapped at the same time", async () => {
    const session = await open();
    await sh(
      session,
      "mkdir -p safe evil-target; echo SAFE > safe/f; ln -s /etc evil; cp -r safe moved; " +
        "(while :; do mv safe a 2>/dev/null; ln -sfn /etc safe; rm -f safe; mv a safe 2>/dev/null; done) >/dev/null 2>&1 & disown",
    );
    for (let round = 0; round < (inject("thorough") ? 25 : 10); round += 1) {
      const file = await read(session, "safe/passwd");
      expect(typeof file).toBe("object");
      const own = await read(session, "safe/f");
      if (typeof own === "string") expect(own).toBe("SAFE\n");
    }
  });

  it.skipIf(!available || !kind.startsWith("jail"))(
    "are read although a process of the session kills every other process",
    async () => {
      const session = await open();
      await sh(
        session,
        "(trap '' TERM HUP; while :; do kill -KILL $(ls /proc | grep '^[0-9]' | grep -v -e \"^$BASHPID$\") 2>/dev/null; done) >/dev/null 2>&1 & disown",
      );
      expect(await read(session, "lib/data.txt")).toBe("seven\n");
    },
  );

  ofProgram("may have any name", async () => {
    const session = await open();
    for (const path of ["a b", "-n", "ä/ö.txt", "x'y\"z", "new\nline", "$(id)", ">x", "|x"]) {
      expect(await write(session, path, path)).toEqual({ kind: "written" });
      expect(await read(session, path)).toBe(path);
    }
    await expect(session.readFile("a\0b", { maxBytes: 1 })).rejects.toMatchObject({ code: "SANDBOX_SESSION_INVALID" });
    await expect(session.writeFile("", Buffer.from("x"))).rejects.toMatchObject({ code: "SANDBOX_SESSION_INVALID" });
  });
});

describe("a workspace on the host", () => {
  it("cannot be left through a link that was there before", async () => {
    const root = await mkdtemp(join(tmpdir(), "markmill-files-"));
    const sandbox = createNoneSandbox({ root, warn: () => undefined });
    const session = await sandbox.open(sessionSpec("host"));
    await writeFile(join(root, "secret"), "secret");
    await symlink("../../secret", join(root, "host", "workspace", "link"));
    expect(await session.readFile("link", { maxBytes: 99 })).toMatchObject({ kind: "refused" });
    await session.end();
    await rm(root, { recursive: true });
  });
});
