import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { chmod, copyFile, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { createJailSandbox, type JailSandbox } from "../../packages/sandbox/src/jail/jail-sandbox.ts";
import { createNoneSandbox } from "../../packages/sandbox/src/none/none-sandbox.ts";
import type { CommandOutcome, CommandSpec, Session } from "../../packages/sandbox/src/port.ts";
import { fileProbes } from "../../packages/sandbox/src/probes/file-probes.ts";
import type { Lab } from "../../packages/sandbox/src/probes/probe.ts";
import { judgeSelfTest, runSelfTest, type SelfTestReport } from "../../packages/sandbox/src/self-test.ts";
import { probeAreas } from "../../packages/sandbox/src/write-probe-list.ts";
import { askService } from "../support/ask-services.ts";
import { describeLimits } from "../support/sandbox-cases.ts";
import { sessionSpec } from "../support/session-spec.ts";

const worker = fileURLToPath(new URL("../support/jail-worker.ts", import.meta.url));
const isRoot = process.getuid?.() === 0;

describe.skipIf(process.platform !== "linux")("the jail sandbox", () => {
  let root = "";
  let sandbox: JailSandbox;
  const opened: string[] = [];

  /** This session gets no calls from the start, so that its lease expires during the other tests. */
  let orphan: ReturnType<typeof leaveOrphan>;

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "markmill-jail-"));
    sandbox = await createJailSandbox({ root });
    orphan = leaveOrphan();
    orphan.catch(() => undefined);
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((id) => sandbox.remove(id)));
  });
  afterAll(async () => {
    await rm(root, { recursive: true, force: true });
  });

  const newId = () => {
    const id = `t-${randomBytes(6).toString("hex")}`;
    opened.push(id);
    return id;
  };
  const open = (more?: Parameters<typeof sessionSpec>[1]) => sandbox.open(sessionSpec(newId(), more));
  const sh = (
    session: Session,
    text: string,
    limits: NonNullable<CommandSpec["limits"]> = {},
  ): Promise<CommandOutcome> => session.run({ kind: "shell", text, limits });
  const read = async (session: Session, text: string) => (await sh(session, text)).output;
  const recordOf = (id: string, place = root): { uid?: number; holder: { pid: number } } =>
    JSON.parse(readFileSync(join(place, id, "session.json"), "utf8"));
  /** Under root a session has its own uid on the host. Sessions of an ordinary user are found by their first processes. */
  const processesOf = (records: readonly ReturnType<typeof recordOf>[]) => {
    const uids = new Set(records.map(({ uid }) => String(uid)));
    const pids = new Set(records.map(({ holder }) => String(holder.pid)));
    return readdirSync("/proc").filter((name) => {
      try {
        const status = /^\d+$/.test(name) ? readFileSync(`/proc/${name}/status`, "latin1") : "State:\tZ";
        const uid = /^Uid:\t(\d+)/m.exec(status)?.[1] ?? "";
        return !/^State:\tZ/m.test(status) && (isRoot ? uids.has(uid) : pids.has(name));
      } catch {
        return false;
      }
    });
  };

  /** A session whose worker was killed, and the number of its processes 25 s later. */
  async function leaveOrphan() {
    const id = `orphan-${randomBytes(6).toString("hex")}`;
    // It has its own root directory, because a list of a root's sessions keeps them alive.
    const place = await mkdtemp(join(tmpdir(), "markmill-jail-"));
    const child = spawn(process.execPath, [worker, place, "hold", id], { stdio: ["ignore", "pipe", "inherit"] });
    await once(createInterface(child.stdout), "line");
    const record = recordOf(id, place);
    child.kill("SIGKILL");
    await once(child, "exit");
    await pause(25_000);
    return { id, place, record, alive: processesOf([record]).length };
  }

  describe("a command in a jail", () => {
    it("starts programs with configuration in /etc, and ~ is the workspace", async () => {
      const session = await open();
      const tools = "awk 'BEGIN { print 1 }'; for p in java mvn; do ! command -v $p >/dev/null || $p -version; done";
      const outcome = await sh(session, `set -e; ${tools}; mkdir ~/REST; cd ~/REST; pwd; getent passwd student`);
      expect(outcome).toMatchObject({ exitCode: 0 });
      expect(outcome.output).toMatch(/^1\n[\s\S]*\/workspace\/REST\nstudent:x:1000:1000::\/workspace:\/bin\/bash\n$/);
    });

    it("inherits no descriptor of its worker", async () => {
      const id = newId();
      const directory = await mkdtemp(join(root, "inherited-"));
      await writeFile(join(directory, "secret"), "of the host\n", { mode: 0o600 });
      const hold = 'exec 3<"$0" 16<>"$0/secret" 100<"$0" 200<>"$0/secret" 1023<"$0"; export -n BASH_ENV; exec "$@"';
      const hunt = `for fd in /proc/self/fd/* /proc/[0-9]*/fd/*; do readlink $fd; ls $fd/ $fd/..; done 2>/dev/null | sort -u | head -50
for fd in 3 16 100 200 1023; do { echo changed >&$fd; cat <&$fd; } 2>/dev/null; done; echo hunted`;
      const lines = await runWorker([root, "run", id, hunt], ["bash", "-c", hold, directory]);
      const output = (lines[1] as { output: string }).output;
      expect(output).toContain("hunted\n");
      expect(output).not.toMatch(/secret|inherited-|of the host|session\.json/);
      expect(readFileSync(join(directory, "secret"), "utf8")).toBe("of the host\n");
    });
  });

  /** Whether the user nobody can read this checkout and the runtime. It cannot read a checkout in a private home. */
  const nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
  const asNobody = isRoot && spawnSync("setpriv", [...nobody, process.execPath, "--check", worker]).status === 0;

  // Root may have cgroups on this machine. The second row is the jail of an ordinary user. sandbox-conformance-jail tests the limits of the
  // first row, and an ordinary user runs all probes of the second row, below.
  describe.each([
    {
      walls: "as the machine offers",
      host: {},
      limits: inject("thorough"),
      probes: true,
      byCommand: !inject("thorough"),
    },
    {
      walls: "without cgroups, filter loaded by perl",
      host: { useCgroups: false },
      limits: true,
      probes: inject("thorough") || !asNobody,
      byCommand: false,
    },
  ])("limits of a jail, $walls", ({ host, limits, probes, byCommand }) => {
    let limited: JailSandbox;
    beforeAll(async () => {
      limited = await createJailSandbox({ root, host });
    });
    const openLimited = () => limited.open(sessionSpec(newId()));

    if (limits) describeLimits(openLimited);

    it.runIf(probes)(
      "pass the self-test: every probe is refused, every control works, nothing is left",
      { timeout: 480_000 },
      async () => {
        // Without options this is the jail of the command's self-test, which runs once for all files of a test run.
        const report = byCommand ? await reportOfCommand() : await runSelfTest(limited);
        expect(judgeSelfTest(report)).toEqual({ safe: true, failures: [] });
        expect(report.probes.length).toBeGreaterThanOrEqual(40);
        // The list in docs/security.md is built from these.
        expect(report.probes.map(({ name }) => name)).toEqual(probeAreas.flatMap(({ names }) => names));
        expect((await limited.list()).filter(({ id }) => id.startsWith("selftest-"))).toEqual([]);
      },
    );
  });

  it("shows programs from outside /usr, also from a directory that only the worker can read", async () => {
    const directory = await mkdtemp(join(root, "private-"));
    await copyFile("/bin/echo", join(directory, "say"));
    const programs = { say: join(directory, "say"), "mill-node": process.execPath };
    const lending = await createJailSandbox({ root, programs });
    const session = await lending.open(sessionSpec(newId()));
    expect(await read(session, "command -v say; say hello; mill-node -p process.version")).toBe(
      `/opt/programs/say\nhello\n${process.version}\n`,
    );
    expect(await read(session, "{ : >>/opt/programs/say; } 2>&1; ls /mnt 2>&1")).toMatch(
      /(Read-only|Permission denied)[\s\S]*No such file/,
    );
  });

  describe("the lifetime of a jail", () => {
    it("ends after its last worker is killed, without outside help", async () => {
      const { id, place, record, alive } = await orphan;
      expect(alive).toBeGreaterThan(0);
      await expect.poll(() => processesOf([record]), { timeout: 200_000, interval: 500 }).toEqual([]);
      await (await createJailSandbox({ root: place })).remove(id);
      await rm(place, { recursive: true });
    });

    it("ends with the program that holds its namespaces", async () => {
      const session = await open();
      const { holder } = recordOf(session.id);
      const parent = Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${holder.pid}/status`, "latin1"))?.[1]);
      process.kill(parent, "SIGKILL");
      await expect.poll(() => processesOf([recordOf(session.id)])).toEqual([]);
    });

    it("ends at its deadline, is listed as ended, and is rebuilt when it is opened again", async () => {
      const id = newId();
      const spec = sessionSpec(id);
      const labels = { ...spec.labels, deadline: new Date(Date.now() + 5000).toISOString() };
      const session = await sandbox.open({ ...spec, labels });
      expect(await sandbox.list()).toContainEqual({ id, labels, status: "live" });
      await expect.poll(() => sandbox.list()).toContainEqual({ id, labels, status: "dead" });
      await expect(sh(session, "true")).rejects.toThrow(/SANDBOX_SESSION_LOST/);
      const rebuilt = await sandbox.open(spec);
      expect(rebuilt.attached).toBe(false);
      expect(await read(rebuilt, "cat lib/data.txt")).toBe("seven\n");
    });

    const [atOnce, inSequence] = inject("thorough") ? [20, 100] : [10, 5];
    it(`${atOnce} in parallel and ${inSequence} in sequence leave no process, mount, cgroup or directory`, {
      timeout: 240_000,
    }, async () => {
      const records: ReturnType<typeof recordOf>[] = [];
      const live = async (id: string) => {
        const session = await sandbox.open(sessionSpec(id, { files: { kind: "list", files: [] } }));
        records.push(recordOf(id));
        await sh(session, "sleep 900 & echo $! >/tmp/x");
        return session;
      };
      const prefix = `many-${randomBytes(4).toString("hex")}`;
      const together = await Promise.all(Array.from({ length: atOnce }, (_, index) => live(`${prefix}-a${index}`)));
      expect(processesOf(records).length).toBeGreaterThanOrEqual(atOnce);
      await Promise.all(together.map((session) => session.end()));
      for (let index = 0; index < inSequence; index += 1) {
        const session = await sandbox.open(sessionSpec(`${prefix}-b${index}`, { files: { kind: "list", files: [] } }));
        records.push(recordOf(session.id));
        await session.end();
      }
      // The process that started a session ends a moment after it.
      await expect.poll(() => processesOf(records)).toEqual([]);
      const mounts = readFileSync("/proc/self/mountinfo", "utf8");
      expect(mounts.match(/^.* - tmpfs (sandbox|workspace|programs|masked) .*$/gm)).toBeNull();
      expect((await readdir(root)).filter((name) => name.startsWith(prefix))).toEqual([]);
      const found = spawnSync("find", ["/sys/fs/cgroup", "-maxdepth", "6", "-name", `markmill-*${prefix}*`], {
        encoding: "utf8",
      });
      expect(found.stdout).toBe("");
    });
  });

  it("the probes of the self-test fail without walls", async () => {
    const warnings: string[] = [];
    const none = createNoneSandbox({ root: join(root, "none"), warn: (text) => warnings.push(text) });
    expect(warnings).toEqual([expect.stringContaining("WARNING: --sandbox none")]);
    const session = await none.open(sessionSpec("bare"));
    expect(await read(session, "cat lib/data.txt; cd lib; export A=1")).toBe("seven\n");
    expect(await read(session, "basename $PWD; echo $A; sleep 700 &")).toBe("lib\n1\n");
    expect(await sh(session, "sleep 60", { wallMs: 300 })).toMatchObject({ timedOut: "wall", exitCode: null });
    const token = randomBytes(8).toString("hex");
    await writeFile(join(root, "canary"), token);
    const lab = { session, canary: { path: join(root, "canary"), token }, environmentNames: [] } as unknown as Lab;
    for (const name of ["read a host file", "symlink out of the workspace", "find secrets in the environment"]) {
      const finding = await fileProbes.find((probe) => probe.name === name)?.run(lab);
      expect({ name, ...finding }).toMatchObject({ name, refused: false });
    }
    await session.end();
    expect(await none.list()).toEqual([]);
    expect(spawnSync("pgrep", ["-fx", "sleep 700"]).status).toBe(1);
  });

  it.skipIf(!asNobody)(
    "holds for an ordinary user: every probe is refused, nothing is left",
    { timeout: 480_000 },
    async () => {
      const own = await mkdtemp(join(tmpdir(), "markmill-jail-user-"));
      await chmod(own, 0o777);
      const [verdict] = await runWorker([own, "self-test"], ["setpriv", ...nobody]);
      expect(verdict).toMatchObject({
        safe: true,
        failures: [],
        left: [],
        memory: "watch and rlimit",
        uid: "the worker's",
      });
      const lines = await runWorker([own, "run", "user-1", "pwd; cat lib/data.txt; id -u"], ["setpriv", ...nobody]);
      expect(lines).toEqual([{ attached: false }, { exitCode: 0, output: "/workspace\nseven\n1000\n" }]);
      // The path of the checkout is below /tmp, which the jail covers, and has a space.
      const program = join(own, "my program");
      await writeFile(program, "#!/bin/bash\necho lent\n", { mode: 0o755 });
      const lent = await runWorker([own, "run", "user-2", "lent", program], ["setpriv", ...nobody]);
      expect(lent).toEqual([{ attached: false }, { exitCode: 0, output: "lent\n" }]);
      const reaper = await createJailSandbox({ root: own });
      for (const id of ["user-1", "user-2"]) await reaper.remove(id);
      await rm(own, { recursive: true, force: true });
    },
  );
});

async function reportOfCommand(): Promise<SelfTestReport> {
  const { stdout, stderr } = await askService("jail-self-test");
  expect(stdout, stderr).toMatch(/^\{/);
  return JSON.parse(stdout);
}

/** Runs the second worker to its end and returns its output. */
async function runWorker(args: readonly string[], before: readonly string[] = []): Promise<unknown[]> {
  const [program = "", ...rest] = [...before, process.execPath, worker, ...args];
  const child = spawn(program, rest, { stdio: ["ignore", "pipe", "inherit"] });
  const lines: unknown[] = [];
  for await (const line of createInterface(child.stdout)) lines.push(JSON.parse(line));
  return lines;
}
