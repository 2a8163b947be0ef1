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
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { extractCommands } from "../../packages/sandbox/src/commands/extract-commands.ts";
import { parseInSession, splitCommands } from "../../packages/sandbox/src/commands/split-commands.ts";
import { createJailSandbox, type JailSandbox } from "../../packages/sandbox/src/jail/jail-sandbox.ts";
import { createNoneSandbox } from "../../packages/sandbox/src/none/none-sandbox.ts";
import type { CommandOutcome, CommandSpec, Session } from "../../packages/sandbox/src/port.ts";
import { fileProbes } from "../../packages/sandbox/src/probes/file-probes.ts";
import type { Lab } from "../../packages/sandbox/src/probes/probe.ts";
import { judgeSelfTest, runSelfTest } from "../../packages/sandbox/src/self-test.ts";
import { probeAreas } from "../../packages/sandbox/src/write-probe-list.ts";
import { describeCheckpoints } from "../support/checkpoint-cases.ts";
import { describeLooks } from "../support/look-cases.ts";
import { sessionSpec } from "../support/session-spec.ts";

const worker = fileURLToPath(new URL("../support/jail-worker.ts", import.meta.url));
const isRoot = process.getuid?.() === 0;

describe.skipIf(process.platform !== "linux")("the jail sandbox", () => {
  let root = "";
  let sandbox: JailSandbox;
  const opened: string[] = [];

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "markmill-jail-"));
    sandbox = await createJailSandbox({ root });
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
  const recordOf = (id: string): { uid?: number; holder: { pid: number } } =>
    JSON.parse(readFileSync(join(root, id, "session.json"), "utf8"));
  /** As root a session's uid on the host is its own; an ordinary user's sessions are known by their first processes. */
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

  describe("one shell session", () => {
    it("starts in the workspace with the files, their modes and the environment that was given, and no other", async () => {
      const session = await open({ environment: { COURSE: "cs1" } });
      expect(await read(session, "pwd; cat lib/data.txt; stat -c %a main.py lib/data.txt; echo $COURSE; whoami")).toBe(
        "/workspace\nseven\n644\n600\ncs1\nstudent\n",
      );
    });

    it("runs every shape of command a model writes, split by bash and one after the other", async () => {
      const session = await open();
      const reply = [
        "```bash",
        "for i in 1 2 3; do",
        "  echo number $i",
        "done",
        "greet() {",
        '  echo "hello $1"',
        "}",
        "greet you",
        "cat > note.txt <<'END'",
        "$HOME stays",
        "END",
        "cat note.txt",
        "echo a \\",
        "  b",
        "```",
      ].join("\n");
      const [block] = extractCommands(reply).blocks;
      const commands = await splitCommands(block?.text ?? "", parseInSession(session));
      const outputs: string[] = [];
      for (const command of commands) outputs.push(await read(session, command));
      expect(outputs).toEqual(["number 1\nnumber 2\nnumber 3\n", "", "hello you\n", "", "$HOME stays\n", "a b\n"]);
    });

    it("keeps the directory and exported variables for the next command, and after exit", async () => {
      const session = await open();
      await sh(session, "cd lib; export GRADE='A plus'; x=1");
      expect((await sh(session, "exit 4")).exitCode).toBe(4);
      expect(await read(session, 'pwd; echo "$GRADE"; sh -c \'echo "$GRADE"\'')).toBe(
        "/workspace/lib\nA plus\nA plus\n",
      );
    });

    it("keeps a background server alive for the next command", async () => {
      const session = await open();
      await sh(
        session,
        'node -e \'require("net").createServer((s) => s.end("served\\n")).listen(8080, "127.0.0.1")\' &',
      );
      expect(
        await read(
          session,
          "for i in {1..100}; do { exec 7<>/dev/tcp/127.0.0.1/8080; } 2>/dev/null && break; sleep 0.1; done; cat <&7",
        ),
      ).toBe("served\n");
    });

    it("starts programs whose configuration stands in /etc, and ~ is the workspace", async () => {
      const session = await open();
      const tools = "awk 'BEGIN { print 1 }'; for p in java mvn; do ! command -v $p >/dev/null || $p -version; done";
      const outcome = await sh(session, `set -e; ${tools}; mkdir ~/REST; cd ~/REST; pwd; getent passwd student`);
      expect(outcome).toMatchObject({ exitCode: 0 });
      expect(outcome.output).toMatch(/^1\n[\s\S]*\/workspace\/REST\nstudent:x:1000:1000::\/workspace:\/bin\/bash\n$/);
    });

    it("runs python and javascript text, which leave the state alone", async () => {
      const session = await open();
      await sh(session, "cd lib");
      const js = await session.run({ kind: "javascript", text: 'process.chdir("/"); console.log(6 * 7, "it\'s")' });
      expect(js.output).toBe("42 it's\n");
      expect(session.state.cwd).toBe("/workspace/lib");
    });

    it("gives nothing to read on stdin", async () => {
      expect(await read(await open(), "cat; read x || echo empty")).toBe("empty\n");
    });

    it("continues from a saved state in a new session", async () => {
      const first = await open();
      const { state } = await sh(first, 'cd lib; export A=1; f() { echo "f $A"; }');
      await first.end();
      const second = await open({ state });
      expect(await read(second, "pwd; f")).toBe("/workspace/lib\nf 1\n");
    });
  });

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

  describe("the truth about a command", () => {
    it("is in $? of the next one: its code, a signal's, 124 after a clock", async () => {
      const session = await open();
      await sh(session, "sh -c 'exit 4'");
      expect(await read(session, 'if [ $? -eq 0 ]; then echo TESTS PASSED; else echo "code $?"; fi')).toBe("code 1\n");
      await sh(session, "sh -c 'exit 4'");
      expect(await read(session, "echo $?; exit 9")).toBe("4\n");
      expect(await read(session, "echo $?; kill -TERM $$")).toBe("9\n");
      expect(await read(session, "echo $?")).toBe("143\n");
      await sh(session, "sleep 9", { wallMs: 200 });
      expect(await read(session, "echo $?")).toBe("124\n");
      await session.run({ kind: "python", text: "raise SystemExit(5)" });
      expect(await read(session, "echo $?")).toBe("5\n");
    });

    it("is what the kernel said: a student's program that ends its shell has not passed", async () => {
      const session = await open();
      await sh(session, "printf '#!/bin/sh\\necho wrong\\nkill -TERM $PPID\\nsleep 5\\n' >student; chmod 755 student");
      const outcome = await sh(session, "true; ./student >actual; diff actual main.py");
      expect(outcome).toMatchObject({ exitCode: 143, timedOut: false });
      expect(await read(session, "cat /proc/[0-9]*/comm | grep -c student")).toBe("0\n");
    });

    it("ends with the wall clock, however its output drips and whoever it killed, and with an abort in every state", async () => {
      const session = await open();
      const drip = "kill -9 $PPID; while echo drip; do sleep 0.02; done";
      const outcome = await sh(session, `bash -c '${drip}' & ${drip}`, { wallMs: 3000 });
      expect(outcome.exitCode === null || outcome.exitCode === 137).toBe(true);
      expect(outcome.durationMs).toBeLessThan(6000);
      const abort = new AbortController();
      setTimeout(() => abort.abort(new Error("stopped by the teacher")), 400);
      const stop = `for p in /proc/[0-9]*; do kill -STOP \${p#/proc/}; done 2>/dev/null; sleep 60`;
      const running = session.run({ kind: "shell", text: `bash -c '${stop}'` }, { signal: abort.signal });
      await expect(running).rejects.toThrow("stopped by the teacher");
      expect(await read(session, "cat /proc/[0-9]*/comm | grep -cE 'sleep|drip'")).toBe("0\n");
    });

    it("does not reach the author's next command: processes, functions and PATH of a foreign one", async () => {
      const session = await open();
      await sh(session, "own() { echo own; }; export MINE=author; sleep 800 & echo");
      const foreign = { kind: "shell", trust: "foreign" } as const;
      expect(
        (await session.run({ ...foreign, text: "own; cat /proc/[0-9]*/comm | grep -c sleep; false" })).output,
      ).toMatch(/own: command not found\n0\n$/);
      await session.run({
        ...foreign,
        text: "echo $? >first; own() { echo fake; }; export MINE=foreign WORD=kept PATH=/tmp; sleep 900 & cd lib",
      });
      // Foreign commands share a session with each other.
      expect((await session.run({ ...foreign, text: "own; jobs; cd ..; /bin/cat first" })).output).toBe("fake\n1\n");
      expect(await read(session, "own; echo $MINE $WORD; cat /proc/[0-9]*/comm | grep -c sleep")).toBe(
        "own\nauthor kept\n0\n",
      );
      const clean = await session.run({ kind: "shell", text: "own; pwd; ls", clean: true });
      expect(clean.output).toMatch(/command not found\n\/workspace\nfirst\nlib\nmain.py\n$/);
    });

    it("holds for a worker that inherited descriptors: none of them is there", async () => {
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

  describe("the clocks", () => {
    it("kills at the wall clock all the command started, and leaks nothing into the next", async () => {
      const session = await open();
      await sh(session, "sleep 1000 &");
      const outcome = await sh(
        session,
        "cd lib; export LEAK=1; setsid sh -c 'sleep 1; echo leaked; sleep 600' & (trap '' TERM; sleep 601; echo late) & echo before; sleep 602",
        { wallMs: 700 },
      );
      expect(outcome).toMatchObject({ exitCode: null, timedOut: "wall", output: "before\n" });
      expect(outcome.durationMs).toBeLessThan(6000);
      await pause(700);
      expect(
        await read(
          session,
          'pwd; echo "[$LEAK]"; for p in /proc/[0-9]*; do tr "\\0" " " <$p/cmdline; echo; done | grep [s]leep',
        ),
      ).toBe("/workspace\n[]\nsleep 1000 \n");
    });

    it("kills a command that burns processor time, alone or spread over children", async () => {
      const session = await open();
      expect(await sh(session, "while :; do :; done", { cpuMs: 300 })).toMatchObject({
        timedOut: "cpu",
        exitCode: null,
      });
      const spread = "while :; do (for ((i = 0; i < 3000; i++)); do :; done); done";
      expect(await sh(session, spread, { cpuMs: 500 })).toMatchObject({ timedOut: "cpu" });
    });

    it("kills a command that says nothing, not one that keeps talking", async () => {
      const session = await open();
      expect(await sh(session, "echo one; sleep 60", { silenceMs: 400 })).toMatchObject({
        timedOut: "silence",
        output: "one\n",
      });
      const talking = await sh(session, "for i in 1 2 3 4 5 6; do echo $i; sleep 0.3; done", { silenceMs: 1500 });
      expect(talking).toMatchObject({ timedOut: false, exitCode: 0 });
    });

    it("stops at an abort, and the session goes on", async () => {
      const session = await open();
      const abort = new AbortController();
      const running = session.run({ kind: "shell", text: "sleep 60" }, { signal: abort.signal });
      setTimeout(() => abort.abort(new Error("stopped by the teacher")), 300);
      await expect(running).rejects.toThrow("stopped by the teacher");
      expect(await read(session, "echo on; cat /proc/[0-9]*/comm | grep -c sleep")).toBe("on\n0\n");
    });
  });

  describe("output", () => {
    it("keeps head and tail of a flood and drains the rest", async () => {
      const session = await open();
      const outcome = await sh(session, "echo first; yes | head -c 30000000; echo last", { outputBytes: 10_000 });
      expect(outcome).toMatchObject({ exitCode: 0, truncated: true, outputBytes: 30_000_011 });
      expect(outcome.output).toMatch(/^first\ny\n[\s\S]*bytes not shown[\s\S]*y\nlast\n$/);
      expect(outcome.output.length).toBeLessThan(10_100);
    });

    it("survives endless output without a newline", async () => {
      const outcome = await sh(await open(), "tr '\\0' x </dev/zero", { wallMs: 600 });
      expect(outcome).toMatchObject({ timedOut: "wall", truncated: true });
      expect(outcome.output.length).toBeLessThan(70_000);
    });

    it("neutralises bytes that are no text and text that deceives", async () => {
      const output = await read(await open(), "printf 'a\\xff\\0b\\033[31mred\\033[0m \\xe2\\x80\\xaetxt\\n'");
      expect(output).toBe("a\ufffd\u2400bred <U+202E>txt\n");
    });

    it("keeps stdout and stderr in the order they were written, and shows them as they come", async () => {
      const session = await open();
      const pieces: string[] = [];
      const outcome = await session.run(
        { kind: "shell", text: "echo 1; echo 2 >&2; sleep 0.4; echo 3" },
        { onOutput: (text) => pieces.push(text) },
      );
      expect(outcome.output).toBe("1\n2\n3\n");
      expect(pieces.join("")).toBe("1\n2\n3\n");
      expect(pieces.length).toBeGreaterThan(1);
    });
  });

  // As root this machine may have cgroups; the second row is what an ordinary user gets.
  describe.each([
    ["as the machine offers", {}],
    ["without cgroups, filter loaded by perl", { useCgroups: false }],
  ])("limits, %s", (_, host) => {
    let limited: JailSandbox;
    beforeAll(async () => {
      limited = await createJailSandbox({ root, host });
    });
    const openLimited = () => limited.open(sessionSpec(newId()));

    it("refuse a memory bomb and say so; the session lives", async () => {
      const session = await openLimited();
      const outcome = await sh(session, "head -c 900M /dev/zero | tail -c 900M | wc -c");
      expect(outcome.outOfMemory || /memory/i.test(outcome.output)).toBe(true);
      expect(outcome.output).not.toContain("943718400");
      expect(await read(session, "echo alive")).toBe("alive\n");
    });

    it("count the memory of all processes together", async () => {
      const session = await openLimited();
      const eater = "head -c 60M /dev/zero | tail -c 60M | (sleep 3; wc -c)";
      const outcome = await sh(session, `for i in 1 2 3 4 5; do ${eater} & done; wait`);
      expect(outcome.outOfMemory).toBe(true);
    });

    it("stop a fork bomb at the number of processes; the session lives", async () => {
      const session = await openLimited();
      const outcome = await sh(
        session,
        "bomb() { bomb | bomb & }; bomb; exec 9<> <(:); read -t 1 -u 9; echo /proc/[0-9]* | wc -w",
        { wallMs: 3000 },
      );
      const counted = /^(\d+)$/m.exec(outcome.output)?.[1];
      expect(Number(counted ?? 0)).toBeLessThanOrEqual(70);
      // What the bomb left behind may still fork when it can; bash then says that it had to wait.
      expect(await read(session, "echo alive")).toMatch(/^alive$/m);
    });

    it("fill no more disk than allowed, and say no space", async () => {
      const session = await openLimited();
      const outcome = await sh(
        session,
        "for d in /workspace /tmp; do head -c 100M /dev/zero >$d/fill; wc -c <$d/fill; rm $d/fill; done",
      );
      expect(outcome.output.match(/No space left/g)).toHaveLength(2);
      for (const size of outcome.output.match(/^\d+$/gm) ?? [])
        expect(Number(size)).toBeLessThanOrEqual(32 * 1024 * 1024);
      expect(outcome.outOfMemory).toBe(false);
    });

    it("pass the self-test: every probe refused, every control held, nothing left", { timeout: 180_000 }, async () => {
      const report = await runSelfTest(limited);
      expect(judgeSelfTest(report)).toEqual({ safe: true, failures: [] });
      expect(report.probes.length).toBeGreaterThanOrEqual(40);
      // The list in docs/security.md is made of these.
      expect(report.probes.map(({ name }) => name)).toEqual(probeAreas.flatMap(({ names }) => names));
      expect((await limited.list()).filter(({ id }) => id.startsWith("selftest-"))).toEqual([]);
    });
  });

  it("two sessions cannot see each other: files, processes, shared memory, network", async () => {
    const [anna, ben] = [await open(), await open()];
    const token = `t${randomBytes(8).toString("hex")}`;
    await sh(
      anna,
      `for d in /workspace /tmp /dev/shm; do echo ${token} >$d/secret; chmod 666 $d/secret; done
node -e 'const serve = () => require("net").createServer((s) => s.on("error", () => {}).end("${token}\\n")); serve().listen(8181, "127.0.0.1"); serve().listen("\\0${token}")' &
for i in {1..100}; do { exec 7<>/dev/tcp/127.0.0.1/8181; } 2>/dev/null && break; sleep 0.1; done`,
    );
    const look = `cat /workspace/secret /tmp/secret /dev/shm/secret /proc/[0-9]*/root/tmp/secret /proc/[0-9]*/cwd/secret
cat /proc/[0-9]*/cmdline /proc/net/unix | tr '\\0' ' '
{ exec 7<>/dev/tcp/127.0.0.1/8181; } && cat <&7`;
    const own = await read(anna, look);
    expect(own.split(token).length - 1).toBeGreaterThanOrEqual(5);
    expect(await read(ben, look)).not.toContain(token);
  });

  it("shows programs from outside /usr, also from a directory only the worker can read", async () => {
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

  describe("life and death", () => {
    it("any process of the host can serve a session, and commands of two wait for each other", async () => {
      const id = newId();
      const session = await sandbox.open(sessionSpec(id));
      expect(session.attached).toBe(false);
      await sh(session, "echo from the first >shared");
      const slow = sh(session, "sleep 1; echo done >order");
      await pause(200);
      const lines = await runWorker([root, "run", id, "cat shared order"]);
      expect(lines).toEqual([{ attached: true }, { exitCode: 0, output: "from the first\ndone\n" }]);
      await slow;
      const again = await sandbox.open(sessionSpec(id));
      expect(again.attached).toBe(true);
    });

    it("outlives the kill of the worker that made it; the interrupted command does not", async () => {
      const id = newId();
      const child = spawn(process.execPath, [worker, root, "run", id, "echo made >file; sleep 500 & sleep 501"]);
      await once(createInterface(child.stdout), "line");
      // The command has no way to say from inside that it has begun; on a busy machine that takes its time, and so does its end.
      await pause(2_000);
      child.kill("SIGKILL");
      await once(child, "exit");
      const session = await sandbox.open(sessionSpec(id));
      expect(session.attached).toBe(true);
      await expect
        .poll(() => read(session, "cat file; cat /proc/[0-9]*/comm | grep -c sleep"), { timeout: 15_000 })
        .toBe("made\n0\n");
    });

    it("ends by itself within a minute of its last worker's kill, with nobody's help", {
      timeout: 120_000,
    }, async () => {
      const id = newId();
      const child = spawn(process.execPath, [worker, root, "hold", id], { stdio: ["ignore", "pipe", "inherit"] });
      await once(createInterface(child.stdout), "line");
      const record = recordOf(id);
      child.kill("SIGKILL");
      await once(child, "exit");
      await pause(25_000);
      expect(processesOf([record]).length).toBeGreaterThan(0);
      await expect.poll(() => processesOf([record]), { timeout: 60_000, interval: 500 }).toEqual([]);
    });

    it("dies with the program that holds its namespaces", async () => {
      const session = await open();
      const { holder } = recordOf(session.id);
      const parent = Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${holder.pid}/status`, "latin1"))?.[1]);
      process.kill(parent, "SIGKILL");
      await expect.poll(() => processesOf([recordOf(session.id)]), { timeout: 5000 }).toEqual([]);
    });

    it("ends itself at its deadline, is listed as dead, and is rebuilt when opened again", async () => {
      const id = newId();
      const spec = sessionSpec(id);
      const labels = { ...spec.labels, deadline: new Date(Date.now() + 1000).toISOString() };
      const session = await sandbox.open({ ...spec, labels });
      expect(await sandbox.list()).toContainEqual({ id, labels, status: "live" });
      await pause(2500);
      expect(await sandbox.list()).toContainEqual({ id, labels, status: "dead" });
      await expect(sh(session, "true")).rejects.toThrow(/SANDBOX_SESSION_LOST/);
      const rebuilt = await sandbox.open(spec);
      expect(rebuilt.attached).toBe(false);
      expect(await read(rebuilt, "cat lib/data.txt")).toBe("seven\n");
    });

    it("that is removed under a running command is lost, not a failed command", async () => {
      const session = await open();
      const running = sh(session, "sleep 60");
      setTimeout(() => sandbox.remove(session.id), 400);
      await expect(running).rejects.toThrow(/SANDBOX_SESSION_LOST/);
    });

    it("cannot be ended from inside", async () => {
      const session = await open();
      await sh(session, "kill -9 1; kill -TERM 1; kill -SEGV 1; kill -STOP 1; kill -9 -1");
      expect(await read(session, "echo still here")).toBe("still here\n");
    });

    it("opened by two at once is made once, and both find the files", async () => {
      const spec = sessionSpec(newId());
      const sessions = await Promise.all([sandbox.open(spec), sandbox.open(spec), sandbox.open(spec)]);
      expect(sessions.map(({ attached }) => attached).sort()).toEqual([false, true, true]);
      expect(await Promise.all(sessions.map((session) => read(session, "cat lib/data.txt")))).toEqual(
        Array(3).fill("seven\n"),
      );
    });

    it("is not left half made when its files cannot be unpacked", async () => {
      const id = newId();
      const bytes = Buffer.from("this is no tar, however long one looks at it".repeat(40));
      await expect(sandbox.open(sessionSpec(id, { files: { kind: "tar", bytes } }))).rejects.toThrow(
        /SANDBOX_FILES_FAILED/,
      );
      expect((await sandbox.list()).filter((session) => session.id === id)).toEqual([]);
    });

    it("removes what it does not know without complaint, and refuses malformed ids", async () => {
      await sandbox.remove("never-was");
      await expect(sandbox.remove("../etc")).rejects.toThrow(/SANDBOX_SESSION_INVALID/);
      await expect(sandbox.open(sessionSpec("a/b"))).rejects.toThrow(/SANDBOX_SESSION_INVALID/);
    });

    it("20 at once and 100 in sequence leave no process, mount, cgroup or directory behind", {
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
      const together = await Promise.all(Array.from({ length: 20 }, (_, index) => live(`${prefix}-a${index}`)));
      expect(processesOf(records).length).toBeGreaterThanOrEqual(20);
      await Promise.all(together.map((session) => session.end()));
      for (let index = 0; index < 100; index += 1) {
        const session = await sandbox.open(sessionSpec(`${prefix}-b${index}`, { files: { kind: "list", files: [] } }));
        records.push(recordOf(session.id));
        await session.end();
      }
      expect(processesOf(records)).toEqual([]);
      const mounts = readFileSync("/proc/self/mountinfo", "utf8");
      expect(mounts.match(/^.* - tmpfs (sandbox|workspace|programs|masked) .*$/gm)).toBeNull();
      expect((await readdir(root)).filter((name) => name.startsWith(prefix))).toEqual([]);
      const found = spawnSync("find", ["/sys/fs/cgroup", "-maxdepth", "6", "-name", `markmill-*${prefix}*`], {
        encoding: "utf8",
      });
      expect(found.stdout).toBe("");
    });
  });

  it("the probes can fail: without walls they are not refused", async () => {
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

  /** Whether the account nobody can read this checkout and the runtime; a checkout under a private home cannot be. */
  const nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
  const asNobody = isRoot && spawnSync("setpriv", [...nobody, process.execPath, "--check", worker]).status === 0;
  it.skipIf(!asNobody)(
    "holds for an ordinary user: all probes refused, nothing left",
    { timeout: 180_000 },
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
      const reaper = await createJailSandbox({ root: own });
      await reaper.remove("user-1");
      await rm(own, { recursive: true, force: true });
    },
  );
});

/** Runs the second worker to its end and gives what it said. */
async function runWorker(args: readonly string[], before: readonly string[] = []): Promise<unknown[]> {
  const [program = "", ...rest] = [...before, process.execPath, worker, ...args];
  const child = spawn(program, rest, { stdio: ["ignore", "pipe", "inherit"] });
  const lines: unknown[] = [];
  for await (const line of createInterface(child.stdout)) lines.push(JSON.parse(line));
  return lines;
}
