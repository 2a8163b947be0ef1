import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import Docker from "dockerode";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { buildImage } from "../../infra/images/sandbox/build-offline.ts";
import { createDockerSandbox, type DockerSandbox } from "../../packages/sandbox/src/docker/docker-sandbox.ts";
import type { CommandOutcome, CommandSpec, Session } from "../../packages/sandbox/src/port.ts";
import { judgeSelfTest, runSelfTest } from "../../packages/sandbox/src/self-test.ts";
import { reportSkip } from "../support/ask-services.ts";
import { describeCheckpoints } from "../support/checkpoint-cases.ts";
import { dockerAvailable, sharedDocker, startDockerEngine } from "../support/docker-engine.ts";
import { describeLooks } from "../support/look-cases.ts";
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
  const opened: string[] = [];

  beforeAll(async () => {
    const engine = await sharedDocker();
    ({ host, image } = engine);
    docker = new Docker({ socketPath: host.replace("unix://", "") });
    sandbox = await createDockerSandbox({ hosts: [host], images: [image] });
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((id) => sandbox.remove(id)));
  });
  afterAll(async () => {
    await sandbox?.close();
  });

  const newId = () => {
    const id = `t-${randomBytes(6).toString("hex")}`;
    opened.push(id);
    return id;
  };
  const open = (...more: Parameters<typeof sessionSpec> extends [string, ...infer Rest] ? Rest : never) =>
    sandbox.open(sessionSpec(newId(), ...more));
  const sh = (session: Session, text: string, limits: CommandSpec["limits"] = {}): Promise<CommandOutcome> =>
    session.run({ kind: "shell", text, limits });
  const containerOf = (session: Session) => docker.getContainer(`markmill-session-${session.id}`);
  const leftovers = async () => {
    const filters = JSON.stringify({ label: ["markmill.sandbox"] });
    const [containers, volumes] = await Promise.all([
      docker.listContainers({ all: true, filters }),
      docker.listVolumes({ filters }),
    ]);
    return [...containers.flatMap(({ Names }) => Names), ...(volumes.Volumes ?? []).map(({ Name }) => Name)];
  };

  describe("checkpoints", () => {
    describeCheckpoints({
      open: (files) => open(files === undefined ? {} : { files }),
      ownTmp: true,
      spec: () => sessionSpec("any"),
    });
  });

  describe("looks", () => {
    describeLooks({
      open: (files) => open(files === undefined ? {} : { files }),
      ownTmp: true,
      spec: () => sessionSpec("any"),
    });
  });

  describe("one shell session", () => {
    it("runs a loop, a function, a heredoc and a continuation as bash would", async () => {
      const session = await open();
      const outcome = await sh(
        session,
        "for i in 1 2 3\ndo\n  echo number $i\ndone\ngreet() {\n  echo hello \\\n    $1\n}\ngreet you\ncat <<'END'\n$HOME stays\nEND",
      );
      expect(outcome).toMatchObject({ exitCode: 0, timedOut: false, truncated: false, outOfMemory: false });
      expect(outcome.output).toBe("number 1\nnumber 2\nnumber 3\nhello you\n$HOME stays\n");
    });

    it("keeps directory, exported variables and functions from one command to the next", async () => {
      const session = await open();
      await sh(session, "cd lib; export COLOUR=blue; twice() { echo $1 $1; }");
      const outcome = await sh(session, "pwd; echo $COLOUR; twice $(cat data.txt)");
      expect(outcome.output).toBe("/workspace/lib\nblue\nseven seven\n");
    });

    it("survives exit, exec, a syntax error and the kill of its own shell", async () => {
      const session = await open();
      expect((await sh(session, "exit 7")).exitCode).toBe(7);
      expect((await sh(session, "exec sh -c 'echo replaced; exit 9'")).exitCode).toBe(9);
      expect((await sh(session, "if then")).exitCode).not.toBe(0);
      expect((await sh(session, "kill -KILL $$")).exitCode).toBe(137);
      expect((await sh(session, "echo alive")).output).toBe("alive\n");
    });

    it("gives a command no input to wait for", async () => {
      const session = await open();
      expect(await sh(session, "read line; echo got=$line")).toMatchObject({ exitCode: 0, output: "got=\n" });
    });

    it("keeps a server of one command for the next, also after it has written its log for seconds", async () => {
      const session = await open();
      await sh(session, "python3 -m http.server 8099 --bind 127.0.0.1 &\nsleep 1");
      const ask = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8099/main.py').read().decode())";
      const first = await session.run({ kind: "python", text: ask });
      expect(first.output).toContain("from main");
      await pause(3_000);
      for (let turn = 0; turn < 3; turn += 1) {
        const outcome = await session.run({ kind: "python", text: ask });
        expect(outcome.output).toContain("from main");
        // The engine reports the end of an exec late when an earlier one's streams are still held.
        expect(outcome.durationMs).toBeLessThan(2_500 + 3 * first.durationMs);
      }
    });

    it("runs python and javascript by their own interpreters and leaves the shell's state alone", async () => {
      const session = await open();
      await sh(session, "cd lib");
      expect((await session.run({ kind: "python", text: "import os; os.chdir('/'); print(6*7)" })).output).toBe("42\n");
      expect((await session.run({ kind: "javascript", text: "console.log([1,2].map(x => x*2).join())" })).output).toBe(
        "2,4\n",
      );
      expect(session.state.cwd).toBe("/workspace/lib");
    });
  });

  describe("an ended command", () => {
    it("by the wall clock leaves no process and no late output, not even of those that left its process group", async () => {
      const session = await open();
      await sh(session, "sleep 1000 & echo kept");
      const outcome = await sh(
        session,
        "echo before; (sleep 2; echo LATE) & setsid sh -c 'sleep 2; echo LATE' & (setsid setsid sleep 777 &) ; trap '' TERM; sleep 60",
        { wallMs: 700 },
      );
      expect(outcome).toMatchObject({ exitCode: null, timedOut: "wall", output: "before\n" });
      await pause(2_200);
      const next = await sh(session, "ps -eo args");
      expect(next.output).not.toMatch(/LATE|777|sleep (2|60)/);
      expect(next.output).toContain("sleep 1000");
    });

    it("by the silence clock, and by the processor clock over all its processes", async () => {
      const session = await open();
      expect(await sh(session, "echo one; sleep 60", { silenceMs: 400 })).toMatchObject({
        timedOut: "silence",
        output: "one\n",
      });
      const spin = "while :; do :; done & while :; do :; done & wait";
      const outcome = await sh(session, spin, { cpuMs: 600, wallMs: 30_000 });
      expect(outcome).toMatchObject({ timedOut: "cpu", exitCode: null });
      expect(outcome.durationMs).toBeLessThan(10_000);
    });

    it("by a fork bomb leaves a session that still works", async () => {
      const session = await open();
      const bomb = await sh(session, "echo word > kept; bomb() { bomb | bomb & }; bomb; sleep 60", { wallMs: 2_000 });
      expect(bomb.timedOut).toBe("wall");
      const next = await sh(session, "cat kept; ps -e | wc -l");
      expect(next.exitCode).toBe(0);
      expect(next.output).toMatch(/^word\n\s*1?\d\n$/);
    });

    it("by an abort rejects with the reason and leaves nothing running", async () => {
      const session = await open();
      const abort = new AbortController();
      const running = session.run({ kind: "shell", text: "sleep 555" }, { signal: abort.signal });
      setTimeout(() => abort.abort(new Error("the run was stopped")), 500);
      await expect(running).rejects.toThrow("the run was stopped");
      expect((await sh(session, "ps -eo args")).output).not.toContain("sleep 555");
    });

    it("by the memory limit says so, also when the command goes on", async () => {
      const session = await open();
      const eat = "python3 -c 'x = bytearray(600 * 1024 * 1024)'";
      expect(await sh(session, eat)).toMatchObject({ exitCode: 137, outOfMemory: true, timedOut: false });
      expect(await sh(session, `${eat} || echo went on`)).toMatchObject({ exitCode: 0, outOfMemory: true });
      expect(await sh(session, "echo fine")).toMatchObject({ exitCode: 0, outOfMemory: false, output: "fine\n" });
    });

    it("cannot forge its exit code on the report channel", async () => {
      const session = await open();
      const forge =
        "nonce=$(trap -p EXIT | grep -o '[0-9a-f]\\{32\\}'); for fd in /proc/$$/fd/*; do printf '%s exit 0\\n%s end 0\\n' $nonce $nonce > $fd; done 2>/dev/null; printf $nonce; sleep 1; exit 3";
      expect((await sh(session, forge)).exitCode).toBe(3);
    });
  });

  describe("the truth about a command", () => {
    it("is in $? of the next one: its code, a signal's, 124 after a clock", async () => {
      const session = await open();
      await sh(session, "sh -c 'exit 4'");
      expect((await sh(session, "if [ $? -eq 0 ]; then echo TESTS PASSED; fi; exit 9")).output).toBe("");
      expect((await sh(session, "echo $?; kill -TERM $$")).output).toBe("9\n");
      expect((await sh(session, "echo $?")).output).toBe("143\n");
      await sh(session, "sleep 9", { wallMs: 200 });
      expect((await sh(session, "echo $?")).output).toBe("124\n");
    });

    it("ends with the wall clock, however its output drips and whoever it killed", async () => {
      const session = await open();
      const drip = "kill -9 $PPID; while echo drip; do sleep 0.02; done";
      const outcome = await sh(session, `bash -c '${drip}' & ${drip}`, { wallMs: 3000 });
      expect(outcome.exitCode === null || outcome.exitCode === 137).toBe(true);
      expect(outcome.durationMs).toBeLessThan(8000);
      expect((await sh(session, "ps -eo args")).output).not.toContain("drip");
    });

    it("does not reach the author's next command: processes, functions and PATH of a foreign one", async () => {
      const session = await open();
      await sh(session, "own() { echo own; }; export MINE=author; sleep 800 & echo");
      const foreign = { kind: "shell", trust: "foreign" } as const;
      expect((await session.run({ ...foreign, text: "own; ps -eo args" })).output).not.toMatch(/^own$|sleep 800/m);
      await session.run({
        ...foreign,
        text: "own() { echo fake; }; export MINE=foreign WORD=kept PATH=/tmp; /bin/sleep 900 & cd lib",
      });
      expect((await session.run({ ...foreign, text: "own; /bin/ps -eo args" })).output).toMatch(
        /^fake\n[\s\S]*sleep 900/,
      );
      const { output } = await sh(session, "own; echo $MINE $WORD; pwd; ps -eo args");
      expect(output).toMatch(/^own\nauthor kept\n\/workspace\/lib\n/);
      expect(output).not.toContain("sleep 900");
    });

    it("cannot be looked up in the memory or descriptors of what runs it", async () => {
      const session = await open();
      const look = `for p in /proc/[0-9]*; do for f in mem environ maps; do head -c 1 $p/$f >/dev/null 2>&1 && echo "read $p/$f"; done; ls $p/fd >/dev/null 2>&1 && echo "listed $p"; done; true`;
      const { output } = await sh(session, `bash -c '${look}' | grep -v "/proc/$BASHPID/"`);
      // Its own children only: two programs of the pipe.
      expect(output.match(/^listed/gm)?.length ?? 0).toBeLessThanOrEqual(2);
      expect(
        (
          await sh(
            session,
            "cat /tmp/.session/bash | wc -c; rm -rf /tmp/.session; mv /tmp/.session /tmp/x; ls -d /tmp/.session",
          )
        ).output,
      ).toMatch(/Permission denied[\s\S]*\/tmp\/\.session\n$/);
      expect((await sh(session, "echo alive")).output).toBe("alive\n");
    });
  });

  describe("limits", () => {
    it("caps output with its head and tail kept, and says how much there was", async () => {
      const session = await open();
      const outcome = await sh(session, "echo first; yes | head -c 20000000; echo last", { outputBytes: 4096 });
      expect(outcome).toMatchObject({ truncated: true, exitCode: 0, outputBytes: 20_000_011 });
      expect(outcome.output.length).toBeLessThan(5_000);
      expect(outcome.output).toMatch(/^first\n[\s\S]*last\n$/);
    });

    it("bounds the workspace and /tmp, each", async () => {
      const session = await open();
      const outcome = await sh(
        session,
        "for at in /workspace /tmp; do head -c 100000000 /dev/zero > $at/big; stat -c %s $at/big; rm $at/big; done",
      );
      const sizes = outcome.output.match(/^\d+$/gm)?.map(Number) ?? [];
      expect(sizes).toHaveLength(2);
      for (const size of sizes) expect(size).toBeLessThanOrEqual(32 * 1024 * 1024);
    });

    it("are what the engine was asked for, item by item", async () => {
      const session = await open();
      const { HostConfig, Config } = await containerOf(session).inspect();
      expect(HostConfig).toMatchObject({
        ReadonlyRootfs: true,
        NetworkMode: "none",
        CapDrop: ["ALL"],
        Privileged: false,
        Memory: 192 * 1024 * 1024,
        MemorySwap: 192 * 1024 * 1024,
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
      expect(Config.Labels).toMatchObject({ "markmill.app": "markmill-test", "markmill.run": `run-${session.id}` });
    });

    it("refuses an image that is not on the allow-list, and one that is not on the host", async () => {
      await expect(open({ image: "debian:latest" })).rejects.toMatchObject({ code: "SANDBOX_IMAGE_REFUSED" });
      const other = await createDockerSandbox({ hosts: [host], images: ["markmill-absent:1"] });
      await expect(other.open(sessionSpec(newId()))).rejects.toMatchObject({ code: "SANDBOX_IMAGE_REFUSED" });
      await other.close();
    });

    it("refuses a runtime the engine does not have, rather than using another", async () => {
      const other = await createDockerSandbox({ hosts: [host], images: [image], runtime: "markmill-absent" });
      await expect(other.open(sessionSpec(newId()))).rejects.toMatchObject({ code: "SANDBOX_LIMIT_UNSUPPORTED" });
      await other.close();
      expect(await leftovers()).toEqual([]);
    });
  });

  describe("isolation", () => {
    it("two sessions see nothing of each other", async () => {
      const [one, two] = await Promise.all([open(), open()]);
      await sh(
        one,
        "echo secret-of-one > /workspace/mine; cp mine /tmp/mine; cp mine /dev/shm/mine; sleep 4321 &\npython3 -m http.server 8111 --bind 127.0.0.1 &\nsleep 0.5",
      );
      const search = await sh(
        two,
        "cat /workspace/mine /tmp/mine /dev/shm/mine; ps -eo args; grep -rl secret-of-one /workspace /tmp /dev/shm; python3 -c \"import socket; socket.create_connection(('127.0.0.1', 8111), 2)\"; ls /proc/*/root/workspace/mine",
      );
      expect(search.output).not.toMatch(/secret-of-one\n|sleep 4321/);
      expect(search.output).toContain("ConnectionRefusedError");
      const [uidOne, uidTwo] = await Promise.all([sh(one, "id -u"), sh(two, "id -u")]);
      expect(uidOne.output).not.toBe(uidTwo.output);
    });

    it("a command cannot end or stop the container it runs in", async () => {
      const session = await open();
      const outcome = await sh(
        session,
        "for s in TERM INT KILL STOP; do kill -$s 1; done; for p in $(ps -eo pid=,user= | awk '$2 != \"student\" { print $1 }'); do kill -KILL $p; done; echo tried",
      );
      expect(outcome.output).toContain("Operation not permitted");
      expect((await sh(session, "echo alive")).output).toBe("alive\n");
    });

    it("calls that open containers are refused by the filter", async () => {
      const session = await open();
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
      const { output } = await session.run({ kind: "python", text });
      expect(output).toBe(
        "keyctl 1\nbpf 1\nperf 1\nuserfaultfd 1\nunshare 1\nmount 1\nptrace 1\nsetns 1\nio_uring 38\nclone3 38\nsocket 38 1\nsocket 40 1\nsocket 17 1\nsocket 2 1\n",
      );
    });
  });

  describe("a session and its workers", () => {
    it("is served by a second process, in the same workspace", async () => {
      const session = await open();
      await sh(session, "echo from the first > note");
      const second = worker(session.id, "cat note; sleep 0.5; echo from the second >> note");
      expect(await second.line()).toEqual({ attached: true });
      expect(await second.line()).toEqual({ exitCode: 0, output: "from the first\n" });
      expect((await sh(session, "cat note")).output).toBe("from the first\nfrom the second\n");
      await second.ended;
    });

    it("runs one command at a time, whichever process asks", async () => {
      const session = await open();
      await sh(session, "true");
      const second = worker(session.id, "echo b1 >> order; sleep 1; echo b2 >> order");
      await second.line();
      await pause(400);
      await sh(session, "echo a >> order");
      await second.ended;
      expect((await sh(session, "cat order")).output).toBe("b1\nb2\na\n");
    });

    it("loses the command of a killed worker, and lives on", async () => {
      const session = await open();
      const second = worker(session.id, "echo begun > note; sleep 600");
      await second.line();
      await expect
        .poll(async () => (await containerOf(session).top({ ps_args: "-eo pid,args" })).Processes.flat().join(), {
          timeout: 10_000,
        })
        .toContain(",sleep 600");
      second.process.kill("SIGKILL");
      await second.ended;
      const next = await sh(session, "cat note; ps -eo args");
      expect(next.output).toContain("begun");
      expect(next.output).not.toMatch(/^sleep 600$/m);
    });

    it("that vanishes during a command makes its outcome unknown, before one makes it lost; opening again rebuilds it", async () => {
      const session = await open();
      await sh(session, "echo changed > lib/data.txt");
      const running = sh(session, "sleep 600");
      await pause(500);
      await containerOf(session).kill();
      await expect(running).rejects.toMatchObject({ code: "SANDBOX_OUTCOME_UNKNOWN" });
      await expect(sh(session, "true")).rejects.toMatchObject({ code: "SANDBOX_SESSION_LOST" });
      const again = await sandbox.open(sessionSpec(session.id, { state: session.state }));
      expect(again.attached).toBe(false);
      expect((await sh(again, "cat lib/data.txt")).output).toBe("seven\n");
    });

    it("goes to one container when two workers open it at once", async () => {
      const id = newId();
      const sessions = await Promise.all([sandbox.open(sessionSpec(id)), sandbox.open(sessionSpec(id))]);
      expect(sessions.map(({ attached }) => attached).sort()).toEqual([false, true]);
      expect(await leftovers()).toEqual([`/markmill-session-${id}`]);
    });

    it("ends by itself within a minute of its last worker's end, with nobody's help", {
      timeout: 120_000,
    }, async () => {
      const other = await createDockerSandbox({ hosts: [host], images: [image] });
      const id = newId();
      const session = await other.open(sessionSpec(id));
      const running = () =>
        containerOf(session)
          .inspect()
          .then(({ State }) => State.Running)
          .catch(() => false);
      await pause(12_000);
      await other.close();
      await pause(25_000);
      expect(await running()).toBe(true);
      await expect.poll(running, { timeout: 60_000, interval: 1000 }).toBe(false);
    });

    it("is listed with its labels, and removing it twice or by an unknown id does nothing", async () => {
      const session = await open();
      const listed = (await sandbox.list()).find(({ id }) => id === session.id);
      expect(listed).toMatchObject({ status: "live", labels: { run: `run-${session.id}`, app: "markmill-test" } });
      await session.end();
      await session.end();
      await sandbox.remove("never-was");
      expect(await leftovers()).toEqual([]);
    });
  });

  describe("many sessions", () => {
    it("20 at once each do their own work and leave nothing", { timeout: 180_000 }, async () => {
      const results = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const session = await open();
          const { output } = await sh(session, `echo ${index} > own; sleep 0.2; cat own; setsid sleep 900 &`);
          await session.end();
          return output;
        }),
      );
      expect(results).toEqual(Array.from({ length: 20 }, (_, index) => `${index}\n`));
      expect(await leftovers()).toEqual([]);
      expect(await hostProcesses("sleep 900")).toBe(0);
    });

    it("15 in sequence leave nothing", { timeout: 180_000 }, async () => {
      for (let turn = 0; turn < 15; turn += 1) {
        const session = await open();
        expect((await sh(session, "cat lib/data.txt")).output).toBe("seven\n");
        await session.end();
      }
      expect(await leftovers()).toEqual([]);
    });
  });

  describe("the warm pool", () => {
    it("gives each container to one session only, names it after that session, and leaves nothing", async () => {
      const limits = sessionSpec("any").limits;
      const pooled = await createDockerSandbox({
        hosts: [host],
        images: [image],
        pool: { size: 2, limits, labels: { app: "markmill-test", worker: "pool" } },
      });
      try {
        await expect.poll(() => pooled.warm(), { timeout: 30_000 }).toBe(2);
        const waiting = await pooled.list();
        expect(waiting.map(({ id, status }) => [id.replace(/[0-9a-f]+$/, ""), status])).toEqual([
          ["pool-", "starting"],
          ["pool-", "starting"],
        ]);
        const first = await pooled.open(sessionSpec(newId()));
        await sh(first, "echo mine > /tmp/trace; echo mine > trace");
        const ids = [
          await containerOf(first)
            .inspect()
            .then(({ Id }) => Id),
        ];
        for (let turn = 0; turn < 3; turn += 1) {
          const session = await pooled.open(sessionSpec(newId()));
          expect((await sh(session, "cat lib/data.txt; cat /tmp/trace trace")).output).toMatch(
            /^seven\ncat: .*\ncat: /,
          );
          ids.push(
            await containerOf(session)
              .inspect()
              .then(({ Id }) => Id),
          );
        }
        expect(new Set(ids).size).toBe(4);
        const listed = (await pooled.list()).find(({ id }) => id === first.id);
        expect(listed).toMatchObject({ status: "live", labels: { run: `run-${first.id}` } });
        const attached = await sandbox.open(sessionSpec(first.id));
        expect(attached.attached).toBe(true);
        expect((await sh(attached, "cat trace")).output).toBe("mine\n");
      } finally {
        await pooled.close();
      }
      await Promise.all(opened.splice(0).map((id) => sandbox.remove(id)));
      expect(await leftovers()).toEqual([]);
    });
  });

  it("withstands every probe of the self-test", { timeout: 180_000 }, async () => {
    const report = await runSelfTest(sandbox, { image });
    expect(judgeSelfTest(report)).toEqual({ safe: true, failures: [] });
    expect(report.probes.length).toBeGreaterThanOrEqual(25);
    expect(await leftovers()).toEqual([]);
  });

  describe("engines", () => {
    it("that do not answer are named, and one that does serves in their place", async () => {
      const dead = "unix:///nonexistent/docker.sock";
      await expect(createDockerSandbox({ hosts: [dead], images: [image] })).rejects.toMatchObject({
        code: "SANDBOX_ENGINE_UNREACHABLE",
      });
      const both = await createDockerSandbox({ hosts: [dead, host], images: [image] });
      const session = await both.open(sessionSpec(newId()));
      expect((await sh(session, "echo served")).output).toBe("served\n");
      const described = await both.describe();
      expect(described[0]?.problem).toContain("SANDBOX_ENGINE_UNREACHABLE");
      expect(described[1]?.facts?.cpus).toBeGreaterThan(0);
    });
  });

  describe.skipIf(!mayStart)("an engine that is killed", () => {
    it("makes the outcome of its commands unknown, and leaves no session when it is back", async () => {
      const own = await startDockerEngine(fileURLToPath(new URL("../../.cache", import.meta.url)));
      try {
        const { tag } = await buildImage("tiny", own.engine.host);
        const there = await createDockerSandbox({ hosts: [own.engine.host], images: [tag] });
        const session = await there.open(sessionSpec("survivor"));
        const both = await createDockerSandbox({ hosts: [host, own.engine.host], images: [tag] });
        const found = await both.open(sessionSpec("survivor"));
        expect(found.attached, "found on the second of two engines").toBe(true);
        const running = sh(session, "echo begun; sleep 600");
        running.catch(() => {});
        await pause(700);
        await own.kill();
        await expect(running).rejects.toMatchObject({ code: "SANDBOX_OUTCOME_UNKNOWN" });
        await expect(sh(session, "true")).rejects.toMatchObject({ code: "SANDBOX_ENGINE_UNREACHABLE" });
        await own.restart();
        await there.remove("survivor");
        expect(await there.list()).toEqual([]);
        const again = await there.open(sessionSpec("survivor"));
        expect(again.attached).toBe(false);
        expect((await sh(again, "cat lib/data.txt")).output).toBe("seven\n");
        await again.end();
      } finally {
        await own.engine.stop();
      }
    });
  });

  function worker(id: string, command: string) {
    const script = fileURLToPath(new URL("../support/hold-docker-session.ts", import.meta.url));
    const child = spawn(process.execPath, [script, host, image, id, command], { stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    return {
      process: child,
      line: async (): Promise<unknown> => JSON.parse((await lines.next()).value ?? "null"),
      ended: once(child, "exit"),
    };
  }

  async function hostProcesses(args: string): Promise<number> {
    const { stdout } = spawn("ps", ["-eo", "args"]);
    let text = "";
    for await (const chunk of stdout) text += chunk;
    return text.split("\n").filter((line) => line.trim() === args).length;
  }
});
