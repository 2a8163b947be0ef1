import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import Docker from "dockerode";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { buildImage } from "../../infra/images/sandbox/build-offline.ts";
import { createDockerSandbox, type DockerSandbox } from "../../packages/sandbox/src/docker/docker-sandbox.ts";
import type { CommandOutcome, CommandSpec, Session } from "../../packages/sandbox/src/port.ts";
import { judgeSelfTest, runSelfTest } from "../../packages/sandbox/src/self-test.ts";
import { reportSkip } from "../support/ask-services.ts";
import { dockerAvailable, sharedDocker, startDockerEngine } from "../support/docker-engine.ts";
import { startLateOutputEngine } from "../support/late-output-engine.ts";
import { sessionSpec } from "../support/session-spec.ts";

const available = await dockerAvailable("sessions in Docker containers: isolation, limits, attach, warm pool");

const mayStart = available && process.platform === "linux" && process.getuid?.() === 0;
if (available && !mayStart)
  await reportSkip({ what: "the kill of a Docker engine", reason: "starting one needs root" });

describe.skipIf(!available)("the docker sandbox", () => {
  let host = "";
  let image = "";
  let docker: Docker;
  let sandbox: DockerSandbox;
  /** Shared by the tests that do not change it. Counted tests have their own. */
  let shared: Session;
  /** This session gets no calls from the start, so that its lease expires during the other tests. */
  let orphan: ReturnType<typeof leaveOrphan>;
  const opened: string[] = [];

  beforeAll(async () => {
    const engine = await sharedDocker();
    ({ host, image } = engine);
    docker = new Docker({ socketPath: host.replace("unix://", "") });
    sandbox = await createDockerSandbox({ hosts: [host], images: [image] });
    shared = await sandbox.open(spec(`shared-${randomBytes(6).toString("hex")}`, {}, `${app}-shared`));
    orphan = leaveOrphan();
    orphan.catch(() => undefined);
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((id) => sandbox.remove(id)));
  });
  afterAll(async () => {
    await shared?.end();
    await sandbox?.close();
  });

  /** Labels of this file's containers, because other files use the same engine. */
  const app = `markmill-test-${process.pid}`;
  const spec = (id: string, more: Parameters<typeof sessionSpec>[1] = {}, as = app) => {
    const plain = sessionSpec(id, more);
    return { ...plain, labels: { ...plain.labels, app: as } };
  };
  const newId = () => {
    const id = `t-${randomBytes(6).toString("hex")}`;
    opened.push(id);
    return id;
  };
  const open = (more?: Parameters<typeof sessionSpec>[1]) => sandbox.open(spec(newId(), more));
  const sh = (session: Session, text: string, limits: CommandSpec["limits"] = {}): Promise<CommandOutcome> =>
    session.run({ kind: "shell", text, limits });
  const containerOf = (session: Session) => docker.getContainer(`markmill-session-${session.id}`);
  const leftovers = async (label = `markmill.app=${app}`) => {
    const filters = JSON.stringify({ label: ["markmill.sandbox", label] });
    const [containers, volumes] = await Promise.all([
      docker.listContainers({ all: true, filters }),
      docker.listVolumes({ filters }),
    ]);
    return [...containers.flatMap(({ Names }) => Names), ...(volumes.Volumes ?? []).map(({ Name }) => Name)];
  };

  const isRunning = (session: Session): Promise<boolean> =>
    containerOf(session)
      .inspect()
      .then(({ State }) => State.Running)
      .catch(() => false);

  /** A session whose worker has ended, and whether it was alive 25 s later. It is not among the counted ones. */
  async function leaveOrphan() {
    const other = await createDockerSandbox({ hosts: [host], images: [image] });
    const plain = sessionSpec(`orphan-${randomBytes(6).toString("hex")}`);
    const session = await other.open({ ...plain, labels: { ...plain.labels, app: `${app}-orphan` } });
    await pause(12_000);
    await other.close();
    await pause(25_000);
    return { session, lived: await isRunning(session) };
  }

  describe("a command in a container", () => {
    it("keeps a server process for the next command, also after it has written its log for seconds", async () => {
      const session = await open();
      await sh(session, "python3 -m http.server 8099 --bind 127.0.0.1 &\nsleep 1");
      const ask = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8099/main.py').read().decode())";
      expect((await session.run({ kind: "python", text: ask })).output).toContain("from main");
      await pause(3_000);
      const asked = vi.spyOn(Object.getPrototypeOf(docker.getExec("any")), "inspect");
      try {
        for (let turn = 0; turn < 3; turn += 1) {
          asked.mockClear();
          expect((await session.run({ kind: "python", text: ask })).output).toContain("from main");
          // The engine reports the end of an exec late if streams of an earlier exec are open. It is asked again and again.
          expect(asked.mock.calls.length).toBeGreaterThan(0);
          expect(asked.mock.calls.length).toBeLessThan(30);
        }
      } finally {
        asked.mockRestore();
      }
    });

    it("cannot forge its exit code on the report channel", async () => {
      const forge =
        "nonce=$(trap -p EXIT | grep -o '[0-9a-f]\\{32\\}'); for fd in /proc/$$/fd/*; do printf '%s exit 0\\n%s end 0\\n' $nonce $nonce > $fd; done 2>/dev/null; printf $nonce; sleep 1; exit 3";
      expect((await sh(shared, forge)).exitCode).toBe(3);
    });

    it("cannot read the memory or list the descriptors of its runner", async () => {
      const look = `for p in /proc/[0-9]*; do for f in mem environ maps; do head -c 1 $p/$f >/dev/null 2>&1 && echo "read $p/$f"; done; ls $p/fd >/dev/null 2>&1 && echo "listed $p"; done; true`;
      const { output } = await sh(shared, `bash -c '${look}' | grep -v "/proc/$BASHPID/"`);
      // The only children are the two programs of the pipe.
      expect(output.match(/^listed/gm)?.length ?? 0).toBeLessThanOrEqual(2);
      expect(
        (
          await sh(
            shared,
            "cat /tmp/.session/bash | wc -c; rm -rf /tmp/.session; mv /tmp/.session /tmp/x; ls -d /tmp/.session",
          )
        ).output,
      ).toMatch(/Permission denied[\s\S]*\/tmp\/\.session\n$/);
      expect((await sh(shared, "echo alive")).output).toBe("alive\n");
    });
  });

  describe("limits of a container", () => {
    it("are requested from the engine, item by item", async () => {
      const { HostConfig, Config } = await containerOf(shared).inspect();
      expect(HostConfig).toMatchObject({
        ReadonlyRootfs: true,
        NetworkMode: "none",
        CapDrop: ["ALL"],
        Privileged: false,
        // The sum of the memory and of the limits of workspace, /tmp and /dev/shm.
        Memory: (192 + 3 * 32) * 1024 * 1024,
        MemorySwap: (192 + 3 * 32) * 1024 * 1024,
        NanoCpus: 1e9,
        IpcMode: "private",
        CgroupnsMode: "private",
        Init: true,
        OomScoreAdj: 500,
        RestartPolicy: { Name: "no" },
        LogConfig: { Type: "none" },
      });
      expect(HostConfig.CapAdd).toBeNull();
      expect(HostConfig.Binds).toBeNull();
      expect(HostConfig.SecurityOpt).toEqual(
        expect.arrayContaining(["no-new-privileges:true", expect.stringMatching(/^seccomp=\{.*"SCMP_ACT_ERRNO"/)]),
      );
      expect(Config).toMatchObject({ Hostname: "sandbox", WorkingDir: "/", User: "49999:49999" });
      expect(Config.Labels).toMatchObject({ "markmill.app": `${app}-shared`, "markmill.run": `run-${shared.id}` });
    });

    it("refuses an image that is not on the allow-list, and one that the host does not have", async () => {
      await expect(open({ image: "debian:latest" })).rejects.toMatchObject({ code: "SANDBOX_IMAGE_REFUSED" });
      const other = await createDockerSandbox({ hosts: [host], images: ["markmill-absent:1"] });
      await expect(other.open(spec(newId()))).rejects.toMatchObject({ code: "SANDBOX_IMAGE_REFUSED" });
      await other.close();
    });

    it("refuses a runtime that the engine does not have, and uses no other", async () => {
      const other = await createDockerSandbox({ hosts: [host], images: [image], runtime: "markmill-absent" });
      await expect(other.open(spec(newId()))).rejects.toMatchObject({ code: "SANDBOX_LIMIT_UNSUPPORTED" });
      await other.close();
      expect(await leftovers()).toEqual([]);
    });
  });

  describe("isolation of a container", () => {
    it("a command cannot end or stop the container it runs in", async () => {
      const outcome = await sh(
        shared,
        "for s in TERM INT KILL STOP; do kill -$s 1; done; for p in $(ps -eo pid=,user= | awk '$2 != \"student\" { print $1 }'); do kill -KILL $p; done; echo tried",
      );
      expect(outcome.output).toContain("Operation not permitted");
      expect((await sh(shared, "echo alive")).output).toBe("alive\n");
    });

    it("calls that open containers are refused by the filter", async () => {
      const text = `
import ctypes, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(name, number, *args):
    libc.syscall(number, *args); print(name, ctypes.get_errno())
call('keyctl', 250, 0, 0, 0); call('bpf', 321, 0, 0, 0); call('perf', 298, 0, 0, 0, 0, 0); call('userfaultfd', 323, 0)
call('unshare', 272, 0x10000000); call('mount', 165, 0, 0, 0, 0, 0); call('ptrace', 101, 0, 0, 0, 0); call('setns', 308, 0, 0)
call('io_uring', 425, 1, 0); call('clone3', 435, 0, 0)
for family, kind in ((38, 5), (40, 1), (17, 3), (2, 3)):
    try: socket.socket(family, kind); print('socket', family, 'open')
    except OSError as error: print('socket', family, error.errno)
`;
      const { output } = await shared.run({ kind: "python", text });
      expect(output).toBe(
        "keyctl 1\nbpf 1\nperf 1\nuserfaultfd 1\nunshare 1\nmount 1\nptrace 1\nsetns 1\nio_uring 38\nclone3 38\nsocket 38 1\nsocket 40 1\nsocket 17 1\nsocket 2 1\n",
      );
    });
  });

  describe("a Docker session and its workers", () => {
    it("a session that vanishes during a command makes the outcome unknown, one that vanished before is lost, and both can be opened again", async () => {
      const session = await open();
      await sh(session, "echo changed > lib/data.txt");
      const running = sh(session, "sleep 600");
      await expect.poll(() => programsIn(containerOf(session))).toContain("sleep 600");
      await containerOf(session).kill();
      await expect(running).rejects.toMatchObject({ code: "SANDBOX_OUTCOME_UNKNOWN" });
      await expect(sh(session, "true")).rejects.toMatchObject({ code: "SANDBOX_SESSION_LOST" });
      const again = await sandbox.open(spec(session.id, { state: session.state }));
      expect(again.attached).toBe(false);
      expect((await sh(again, "cat lib/data.txt")).output).toBe("seven\n");
    });

    it("two workers that open a session at the same time use one container", async () => {
      const id = newId();
      const sessions = await Promise.all([sandbox.open(spec(id)), sandbox.open(spec(id))]);
      expect(sessions.map(({ attached }) => attached).sort()).toEqual([false, true]);
      expect(await leftovers()).toEqual([`/markmill-session-${id}`]);
    });
  });

  describe("many Docker sessions", () => {
    const [atOnce, inSequence] = inject("thorough") ? [20, 15] : [4, 2];
    it(`${atOnce} in parallel each do their own work and leave nothing`, { timeout: 480_000 }, async () => {
      const results = await Promise.all(
        Array.from({ length: atOnce }, async (_, index) => {
          const session = await open();
          const { output } = await sh(session, `echo ${index} > own; sleep 0.2; cat own; setsid sleep 90017 &`);
          await session.end();
          return output;
        }),
      );
      expect(results).toEqual(Array.from({ length: atOnce }, (_, index) => `${index}\n`));
      expect(await leftovers()).toEqual([]);
      expect(await hostProcesses("sleep 90017")).toBe(0);
    });

    it(`${inSequence} in sequence leave nothing`, { timeout: 480_000 }, async () => {
      for (let turn = 0; turn < inSequence; turn += 1) {
        const session = await open();
        expect((await sh(session, "cat lib/data.txt")).output).toBe("seven\n");
        await session.end();
      }
      expect(await leftovers()).toEqual([]);
    });
  });

  describe("the warm pool of containers", () => {
    it("uses each container for one session only, names it after the session, and leaves nothing", async () => {
      const limits = spec("any").limits;
      const pooled = await createDockerSandbox({
        hosts: [host],
        images: [image],
        pool: { size: 2, limits, labels: { app, worker: "pool" } },
      });
      try {
        await expect.poll(() => pooled.warm(), { timeout: 30_000 }).toBe(2);
        const waiting = (await pooled.list()).filter(({ labels }) => labels.app === app);
        expect(waiting.map(({ id, status }) => [id.replace(/[0-9a-f]+$/, ""), status])).toEqual([
          ["pool-", "starting"],
          ["pool-", "starting"],
        ]);
        const first = await pooled.open(spec(newId()));
        await sh(first, "echo mine > /tmp/trace; echo mine > trace");
        const ids = [
          await containerOf(first)
            .inspect()
            .then(({ Id }) => Id),
        ];
        // More sessions than waiting containers.
        const more = inject("thorough") ? 3 : 2;
        for (let turn = 0; turn < more; turn += 1) {
          const session = await pooled.open(spec(newId()));
          expect((await sh(session, "cat lib/data.txt; cat /tmp/trace trace")).output).toMatch(
            /^seven\ncat: .*\ncat: /,
          );
          ids.push(
            await containerOf(session)
              .inspect()
              .then(({ Id }) => Id),
          );
        }
        expect(new Set(ids).size).toBe(1 + more);
        const listed = (await pooled.list()).find(({ id }) => id === first.id);
        expect(listed).toMatchObject({ status: "live", labels: { run: `run-${first.id}` } });
        const attached = await sandbox.open(spec(first.id));
        expect(attached.attached).toBe(true);
        expect((await sh(attached, "cat trace")).output).toBe("mine\n");
      } finally {
        await pooled.close();
      }
      await Promise.all(opened.splice(0).map((id) => sandbox.remove(id)));
      expect(await leftovers()).toEqual([]);
    });
  });

  it("returns the whole output if it arrives after the report of the end, and no outcome if it does not arrive", async () => {
    const late = await startLateOutputEngine(host);
    const through = await createDockerSandbox({ hosts: [late.host], images: [image] });
    try {
      const session = await through.open(spec(newId()));
      late.lateMs = 700;
      const outcome = await sh(session, "head -c 200000 /dev/zero | tr '\\0' x; echo last");
      expect(outcome).toMatchObject({ exitCode: 0, outputBytes: 200_005 });
      expect(outcome.output).toMatch(/last\n$/);
      late.lateMs = null;
      await expect(sh(session, "echo lost")).rejects.toMatchObject({ code: "SANDBOX_OUTCOME_UNKNOWN" });
    } finally {
      late.lateMs = 0;
      await through.close();
      await late.close();
    }
  });

  it("withstands every probe of the self-test", { timeout: 480_000 }, async () => {
    const report = await runSelfTest(sandbox, { image, worker: app });
    expect(judgeSelfTest(report)).toEqual({ safe: true, failures: [] });
    expect(report.probes.length).toBeGreaterThanOrEqual(25);
    expect(await leftovers()).toEqual([]);
  });

  describe("several Docker engines", () => {
    it("are named if they do not answer, and one that answers is used instead", async () => {
      const dead = "unix:///nonexistent/docker.sock";
      await expect(createDockerSandbox({ hosts: [dead], images: [image] })).rejects.toMatchObject({
        code: "SANDBOX_ENGINE_UNREACHABLE",
      });
      const both = await createDockerSandbox({ hosts: [dead, host], images: [image] });
      const session = await both.open(spec(newId()));
      expect((await sh(session, "echo served")).output).toBe("served\n");
      const described = await both.describe();
      expect(described[0]?.problem).toContain("SANDBOX_ENGINE_UNREACHABLE");
      expect(described[1]?.facts?.cpus).toBeGreaterThan(0);
    });
  });

  describe.skipIf(!mayStart)("a killed Docker engine", () => {
    it("makes the outcome of its commands unknown, and leaves no session when it is back", async () => {
      const own = await startDockerEngine(fileURLToPath(new URL("../../.cache", import.meta.url)));
      try {
        const { tag } = await buildImage("tiny", own.engine.host);
        const there = await createDockerSandbox({ hosts: [own.engine.host], images: [tag] });
        const session = await there.open(spec("survivor"));
        const both = await createDockerSandbox({ hosts: [host, own.engine.host], images: [tag] });
        const found = await both.open(spec("survivor"));
        expect(found.attached, "found on the second of two engines").toBe(true);
        const running = sh(session, "echo begun; sleep 600");
        running.catch(() => {});
        const ownDocker = new Docker({ socketPath: own.engine.host.replace("unix://", "") });
        await expect.poll(() => programsIn(ownDocker.getContainer("markmill-session-survivor"))).toContain("sleep 600");
        await own.kill();
        await expect(running).rejects.toMatchObject({ code: "SANDBOX_OUTCOME_UNKNOWN" });
        await expect(sh(session, "true")).rejects.toMatchObject({ code: "SANDBOX_ENGINE_UNREACHABLE" });
        await own.restart();
        await there.remove("survivor");
        expect(await there.list()).toEqual([]);
        const again = await there.open(spec("survivor"));
        expect(again.attached).toBe(false);
        expect((await sh(again, "cat lib/data.txt")).output).toBe("seven\n");
        await again.end();
      } finally {
        await own.engine.stop();
      }
    });
  });

  it("a session ends within a minute of its last worker's end, without outside help", async () => {
    const { session, lived } = await orphan;
    expect(lived).toBe(true);
    // The session ends a minute after its last use. A list of an engine's sessions, as in other files, counts as a use.
    await expect.poll(() => isRunning(session), { timeout: 200_000, interval: 1000 }).toBe(false);
    await sandbox.remove(session.id);
  });

  async function programsIn(container: Docker.Container): Promise<string[]> {
    const { Processes } = await container.top({ ps_args: "-eo pid,args" });
    return (Processes as string[][]).map(([, args = ""]) => args);
  }

  async function hostProcesses(args: string): Promise<number> {
    const { stdout } = spawn("ps", ["-eo", "args"]);
    let text = "";
    for await (const chunk of stdout) text += chunk;
    return text.split("\n").filter((line) => line.trim() === args).length;
  }
});
