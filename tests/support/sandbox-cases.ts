// What the port promises (packages/sandbox/src/port.ts), the same for every adapter. Each case has sessions of its own, so that cases
// run side by side: most of their time they wait for clocks. What is looked for among processes has a name of its own, because without
// walls a session sees the machine's.
import { randomInt } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, inject, it } from "vitest";
import { extractCommands } from "../../packages/sandbox/src/commands/extract-commands.ts";
import { parseInSession, splitCommands } from "../../packages/sandbox/src/commands/split-commands.ts";
import type { CommandOutcome, CommandSpec, Sandbox, Session } from "../../packages/sandbox/src/port.ts";
import { sessionSpec } from "./session-spec.ts";

export interface SandboxHarness {
  readonly sandbox: () => Sandbox;
  /** The harness ends it, if nobody else has. */
  readonly newId: () => string;
  /** False for none: only clocks, output and state hold there. */
  readonly hasWalls: boolean;
  /** Also the cases that code decides which all adapters share: the script around a command, its state, what becomes of its output. */
  readonly shared: boolean;
  /** A worker in a process of its own that opens the session and runs the command. */
  readonly worker?: (id: string, command: string) => SecondWorker;
}

export interface SecondWorker {
  /** What it said: first `{ attached }`, then `{ exitCode, output }`. */
  line(): Promise<unknown>;
  kill(): void;
  readonly ended: Promise<unknown>;
}

type Wish = Parameters<typeof sessionSpec>[1];

export function describeSandbox(harness: SandboxHarness): void {
  const { sandbox, newId, hasWalls, shared } = harness;
  const open = (more?: Wish) => sandbox().open(sessionSpec(newId(), more));
  const sideBySide = { concurrent: true } as const;

  describe("one shell session", sideBySide, () => {
    it("starts in the workspace with the files, their modes and the environment that was given, and no other", async () => {
      const session = await open({ environment: { COURSE: "cs1" } });
      expect(
        await read(session, "basename $PWD; cat lib/data.txt; stat -c %a main.py lib/data.txt; echo $COURSE"),
      ).toBe("workspace\nseven\n644\n600\ncs1\n");
      process.env.MARKMILL_TEST_CANARY = "leaked";
      try {
        expect(await read(session, "env | grep -c leaked")).toBe("0\n");
      } finally {
        delete process.env.MARKMILL_TEST_CANARY;
      }
    });

    it.runIf(shared)("runs every shape of command a model writes, split by bash and one after the other", async () => {
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

    it.runIf(shared)(
      "keeps directory, exported variables and functions from one command to the next, also after exit",
      async () => {
        const session = await open();
        await sh(session, "cd lib; export GRADE='A plus'; twice() { echo $1 $1; }");
        expect((await sh(session, "exit 4")).exitCode).toBe(4);
        expect(await read(session, "basename $PWD; sh -c 'echo \"$GRADE\"'; twice $(cat data.txt)")).toBe(
          "lib\nA plus\nseven seven\n",
        );
      },
    );

    it("survives exit, exec, a syntax error and the kill of its own shell", async () => {
      const session = await open();
      expect(await sh(session, "exit 7")).toMatchObject({ exitCode: 7, timedOut: false, outOfMemory: false });
      expect((await sh(session, "exec sh -c 'echo replaced; exit 9'")).exitCode).toBe(9);
      expect((await sh(session, "if then")).exitCode).toBe(2);
      expect((await sh(session, "kill -KILL $$")).exitCode).toBe(137);
      expect(await read(session, "echo alive")).toBe("alive\n");
    });

    it("ends a command that bash cannot parse at once, with exit code 2 and without any text of the session script", async () => {
      const session = await open();
      const broken = [
        "echo It's done",
        'echo "',
        "echo `ls",
        "$(",
        "${x",
        "$(;'",
        "x=(",
        "f() {",
        "cat <<'A",
        `echo ${"y".repeat(60_000)}'`,
      ];
      for (const text of broken) {
        const { exitCode, timedOut, output } = await sh(session, text);
        expect({ text, exitCode, timedOut }).toEqual({ text, exitCode: 2, timedOut: false });
        expect(output).not.toMatch(/__mm_|builtin/);
      }
      // A here-document without an end is a warning to bash, and the end of a line may be quoted.
      for (const text of ["cat <<A\nx", "echo x\\", "set -n; echo x"]) {
        const { exitCode, timedOut, output } = await sh(session, text);
        expect({ text, exitCode, timedOut }).toEqual({ text, exitCode: 0, timedOut: false });
        expect(output).not.toMatch(/__mm_|builtin/);
      }
      expect(await read(session, "echo alive")).toBe("alive\n");
    });

    it("gives a command nothing to read on stdin", async () => {
      expect(await read(await open(), "cat; read x || echo empty")).toBe("empty\n");
    });

    it("keeps a server of one command alive for the next", async () => {
      const session = await open();
      const port = 20_000 + randomInt(20_000);
      const serve = `require("net").createServer((s) => s.end("served\\n")).listen(${port}, "127.0.0.1")`;
      await sh(session, `node -e '${serve}' &`);
      const ask = `for i in {1..100}; do { exec 7<>/dev/tcp/127.0.0.1/${port}; } 2>/dev/null && break; sleep 0.1; done; cat <&7`;
      expect(await read(session, ask)).toBe("served\n");
    });

    it.runIf(shared)("runs python and javascript by their own interpreters, which leave the state alone", async () => {
      const session = await open();
      await sh(session, "cd lib");
      const python = await session.run({ kind: "python", text: "import os; os.chdir('/'); print(6*7)" });
      expect(python.output).toBe("42\n");
      const js = await session.run({ kind: "javascript", text: 'process.chdir("/"); console.log(6 * 7, "it\'s")' });
      expect(js.output).toBe("42 it's\n");
      expect(await read(session, "basename $PWD")).toBe("lib\n");
    });

    it("goes on from a saved state in a new session", async () => {
      const first = await open();
      const { state } = await sh(first, 'cd lib; export A=1; f() { echo "f $A"; }');
      await first.end();
      const second = await open({ state });
      expect(await read(second, "basename $PWD; f")).toBe("lib\nf 1\n");
    });
  });

  describe("the truth about a command", sideBySide, () => {
    it.runIf(shared)("is in $? of the next one: its code, a signal's, 124 after a clock", async () => {
      const session = await open();
      await sh(session, "sh -c 'exit 4'");
      expect(await read(session, 'if [ $? -eq 0 ]; then echo TESTS PASSED; else echo "code $?"; fi; exit 9')).toBe(
        "code 1\n",
      );
      expect(await read(session, "echo $?; kill -TERM $$")).toBe("9\n");
      expect(await read(session, "echo $?")).toBe("143\n");
      await sh(session, "sleep 9", { wallMs: 200 });
      expect(await read(session, "echo $?")).toBe("124\n");
      await session.run({ kind: "python", text: "raise SystemExit(5)" });
      expect(await read(session, "echo $?")).toBe("5\n");
    });

    it.runIf(hasWalls)("is what the kernel said: a student's program that ends its shell has not passed", async () => {
      const session = await open();
      await sh(session, "printf '#!/bin/sh\\necho wrong\\nkill -TERM $PPID\\nsleep 5\\n' >student; chmod 755 student");
      const outcome = await sh(session, "true; ./student >actual; diff actual main.py");
      expect(outcome).toMatchObject({ exitCode: 143, timedOut: false });
      expect(await read(session, "cat /proc/[0-9]*/comm | grep -c student")).toBe("0\n");
    });

    it.runIf(hasWalls)("comes with the wall clock, however output drips and whoever was killed", async () => {
      const session = await open();
      const drip = "kill -9 $PPID; while echo drip; do sleep 0.02; done";
      const outcome = await sh(session, `bash -c '${drip}' & ${drip}`, { wallMs: 3000 });
      expect(outcome.exitCode === null || outcome.exitCode === 137).toBe(true);
      expect(await read(session, listing)).not.toContain("drip");
    });

    it.runIf(hasWalls)("comes with an abort too when everybody is stopped", async () => {
      const session = await open();
      const abort = new AbortController();
      setTimeout(() => abort.abort(new Error("stopped by the teacher")), 800);
      const stop = `for p in /proc/[0-9]*; do kill -STOP \${p#/proc/}; done 2>/dev/null; sleep 60`;
      const running = session.run({ kind: "shell", text: `bash -c '${stop}'` }, { signal: abort.signal });
      await expect(running).rejects.toThrow("stopped by the teacher");
      expect(await read(session, "cat /proc/[0-9]*/comm | grep -c '^sleep$'")).toBe("0\n");
    });

    it("does not reach the author's next command: processes, functions and PATH of a foreign one", async () => {
      const session = await open();
      const [own, theirs] = [marker(), marker()];
      await sh(session, `own() { echo own; }; export MINE=author; sleep ${own} & echo`);
      const foreign = { kind: "shell", trust: "foreign" } as const;
      const first = await session.run({ ...foreign, text: `own; ${listing}; false` });
      expect(first.output).toMatch(/own: command not found/);
      expect(first.output).not.toContain(`sleep ${own}`);
      await session.run({
        ...foreign,
        text: `echo $? >first; own() { echo fake; }; export MINE=foreign WORD=kept PATH=/tmp; /bin/sleep ${theirs} & cd lib`,
      });
      // Foreign commands share a session with each other.
      const shared = await session.run({
        ...foreign,
        text: `own; cd ..; /bin/cat first; PATH=/usr/bin:/bin; ${listing}`,
      });
      expect(shared.output).toMatch(new RegExp(`^fake\\n1\\n[\\s\\S]*sleep ${theirs}`));
      const back = await read(session, `own; echo $MINE $WORD; ${listing}`);
      expect(back).toMatch(/^own\nauthor kept\n/);
      expect(back).not.toContain(`sleep ${theirs}`);
      const clean = await session.run({ kind: "shell", text: "own; basename $PWD; ls", clean: true });
      expect(clean.output).toMatch(/command not found\nworkspace\nfirst\nlib\nmain.py\n$/);
    });
  });

  describe("the clocks", sideBySide, () => {
    it("kill at the wall clock what the command started, and leak nothing into the next", async () => {
      const session = await open();
      const [kept, gone] = [marker(), marker()];
      await sh(session, `sleep ${kept} &`);
      const outcome = await sh(
        session,
        `cd lib; export LEAK=1; (trap '' TERM; sleep ${gone}; echo late) & echo before; sleep ${gone}`,
        { wallMs: 2_500 },
      );
      expect(outcome).toMatchObject({ exitCode: null, timedOut: "wall", output: "before\n" });
      const next = await read(session, `basename $PWD; echo "[$LEAK]"; ${listing}`);
      expect(next).toMatch(/^workspace\n\[\]\n/);
      expect(next).toContain(`sleep ${kept}`);
      expect(next).not.toContain(`sleep ${gone}`);
    });

    it.runIf(hasWalls)(
      "reach those that left the command's process group, and nothing of them is heard later",
      async () => {
        const session = await open();
        const gone = marker();
        const away = `(sleep 4; echo LATE) & setsid sh -c 'sleep 4; echo LATE' & (setsid setsid sleep ${gone} &)`;
        const outcome = await sh(session, `echo before; ${away}; trap '' TERM; sleep 60`, { wallMs: 2_500 });
        expect(outcome).toMatchObject({ exitCode: null, timedOut: "wall", output: "before\n" });
        await pause(2_200);
        expect(await read(session, listing)).not.toMatch(new RegExp(`LATE|${gone}|sleep (4|60)`));
      },
    );

    it.runIf(hasWalls)("kill a command that burns processor time, alone or spread over children", async () => {
      const session = await open();
      expect(await sh(session, "while :; do :; done", { cpuMs: 300 })).toMatchObject({
        timedOut: "cpu",
        exitCode: null,
      });
      const spread = "while :; do (for ((i = 0; i < 3000; i++)); do :; done); done & while :; do :; done & wait";
      const outcome = await sh(session, spread, { cpuMs: 600 });
      expect(outcome).toMatchObject({ timedOut: "cpu" });
    });

    it.runIf(shared)("kill a command that says nothing, not one that keeps talking", async () => {
      const session = await open();
      expect(await sh(session, "echo one; sleep 60", { silenceMs: 500 })).toMatchObject({
        timedOut: "silence",
        output: "one\n",
      });
      const talking = await sh(session, "for i in 1 2 3 4 5 6; do echo $i; sleep 0.4; done", { silenceMs: 2_000 });
      expect(talking).toMatchObject({ timedOut: false, exitCode: 0 });
    });

    it("stop at an abort with its reason, leave nothing running, and the session goes on", async () => {
      const session = await open();
      const gone = marker();
      const abort = new AbortController();
      const running = session.run({ kind: "shell", text: `sleep ${gone}` }, { signal: abort.signal });
      setTimeout(() => abort.abort(new Error("stopped by the teacher")), 500);
      await expect(running).rejects.toThrow("stopped by the teacher");
      expect(await read(session, `echo on; ${listing}`)).toMatch(/^on\n/);
      expect(await read(session, listing)).not.toContain(`sleep ${gone}`);
    });
  });

  describe("output", sideBySide, () => {
    it("keeps head and tail of a flood, drains the rest, and says how much there was", async () => {
      const session = await open();
      const bytes = inject("thorough") ? 30_000_000 : 3_000_000;
      const outcome = await sh(session, `echo first; yes | head -c ${bytes}; echo last`, { outputBytes: 10_000 });
      expect(outcome).toMatchObject({ exitCode: 0, truncated: true, outputBytes: bytes + 11 });
      expect(outcome.output).toMatch(/^first\ny\n[\s\S]*bytes not shown[\s\S]*y\nlast\n$/);
      expect(outcome.output.length).toBeLessThan(10_100);
    });

    it.runIf(shared)("may be endless and without a newline", async () => {
      const outcome = await sh(await open(), "tr '\\0' x </dev/zero", { wallMs: 900 });
      expect(outcome).toMatchObject({ timedOut: "wall", truncated: true });
      expect(outcome.output.length).toBeLessThan(70_000);
    });

    it.runIf(shared)("is neutralised: bytes that are no text, and text that deceives", async () => {
      const output = await read(await open(), "printf 'a\\xff\\0b\\033[31mred\\033[0m \\xe2\\x80\\xaetxt\\n'");
      expect(output).toBe("a\ufffd\u2400bred <U+202E>txt\n");
    });

    it("has stdout and stderr in the order they were written, and comes as it is written", async () => {
      const session = await open();
      const pieces: string[] = [];
      const outcome = await session.run(
        { kind: "shell", text: "echo 1; echo 2 >&2; sleep 0.8; echo 3" },
        { onOutput: (text) => pieces.push(text) },
      );
      expect(outcome.output).toBe("1\n2\n3\n");
      expect(pieces.join("")).toBe("1\n2\n3\n");
      expect(pieces.length).toBeGreaterThan(1);
    });
  });

  describe("a session among others", sideBySide, () => {
    it("is listed with its labels; removing it twice, or an unknown id, does nothing; malformed ids are refused", async () => {
      const session = await open();
      const listed = (await sandbox().list()).find(({ id }) => id === session.id);
      expect(listed).toMatchObject({ status: "live", labels: { run: `run-${session.id}`, app: "markmill-test" } });
      await session.end();
      await session.end();
      await sandbox().remove("never-was");
      expect((await sandbox().list()).some(({ id }) => id === session.id)).toBe(false);
      await expect((async () => sandbox().remove("../etc"))()).rejects.toThrow(/SANDBOX_SESSION_INVALID/);
      await expect((async () => sandbox().open(sessionSpec("a/b")))()).rejects.toThrow(/SANDBOX_SESSION_INVALID/);
    });

    it("is attached to when it lives, and files that are given then are ignored", async () => {
      const session = await open();
      await sh(session, "echo changed >lib/data.txt");
      const again = await sandbox().open(sessionSpec(session.id));
      expect([session.attached, again.attached]).toEqual([false, true]);
      expect(await read(again, "cat lib/data.txt")).toBe("changed\n");
    });

    it.runIf(hasWalls)("opened by several at once is made once, and all find the files", async () => {
      const spec = sessionSpec(newId());
      const sessions = await Promise.all([sandbox().open(spec), sandbox().open(spec), sandbox().open(spec)]);
      expect(sessions.map(({ attached }) => attached).sort()).toEqual([false, true, true]);
      expect(await Promise.all(sessions.map((session) => read(session, "cat lib/data.txt")))).toEqual(
        Array(3).fill("seven\n"),
      );
    });

    it("is not left half made when its files cannot be unpacked", async () => {
      const id = newId();
      const bytes = Buffer.from("this is no tar, however long one looks at it".repeat(40));
      await expect(sandbox().open(sessionSpec(id, { files: { kind: "tar", bytes } }))).rejects.toThrow(
        /SANDBOX_FILES_FAILED/,
      );
      expect((await sandbox().list()).filter((session) => session.id === id)).toEqual([]);
    });

    it.runIf(hasWalls)("refuses files that do not fit into it, as the work of who handed them in", async () => {
      // Each takes a block of the disk, although all together are a few thousand bytes.
      const files = Array.from({ length: 4_000 }, (_, n) => ({
        path: `f${n}`,
        mode: 0o644,
        bytes: Buffer.from("x"),
      }));
      const limits = { diskBytes: 12 * 1024 * 1024 };
      await expect(
        sandbox().open(sessionSpec(newId(), { files: { kind: "list", files }, limits })),
      ).rejects.toMatchObject({ code: "SANDBOX_FILES_REFUSED", message: expect.stringContaining("No space left") });
      // A judge's session: only the submission can be refused. The teacher's files must not fail every student.
      const one = files.slice(0, 1);
      for (const [submitted, tests, code] of [
        [files, one, "SANDBOX_FILES_REFUSED"],
        [one, files, "SANDBOX_FILES_FAILED"],
      ] as const) {
        const readOnly = [
          { at: "/submission", files: submitted },
          { at: "/judge", files: tests },
        ] as const;
        await expect(sandbox().open(sessionSpec(newId(), { readOnly, limits }))).rejects.toMatchObject({
          code,
          message: expect.stringContaining("No space left"),
        });
      }
    });

    it.runIf(hasWalls)("that is removed under a command is lost, which says nothing of the command", async () => {
      const session = await open();
      await sh(session, "echo changed >lib/data.txt");
      const running = sh(session, "sleep 60");
      const removed = pause(600).then(() => sandbox().remove(session.id));
      await expect(running).rejects.toThrow(/SANDBOX_(SESSION_LOST|OUTCOME_UNKNOWN)/);
      await removed;
      await expect(sh(session, "true")).rejects.toThrow(/SANDBOX_SESSION_LOST/);
      const again = await sandbox().open(sessionSpec(session.id, { state: session.state }));
      expect(again.attached).toBe(false);
      expect(await read(again, "cat lib/data.txt")).toBe("seven\n");
    });

    it.runIf(hasWalls)("cannot be ended or stopped from inside", async () => {
      const session = await open();
      await sh(session, "for s in KILL TERM SEGV STOP; do kill -$s 1; done; kill -9 -1");
      expect(await read(session, "echo still here")).toBe("still here\n");
    });

    it.runIf(hasWalls)("sees nothing of another: files, processes, shared memory, network", async () => {
      const [anna, ben] = [await open(), await open()];
      const token = `t${marker()}${marker()}`;
      await sh(
        anna,
        `for d in /workspace /tmp /dev/shm; do echo ${token} >$d/secret; chmod 666 $d/secret; done
node -e 'const serve = () => require("net").createServer((s) => s.on("error", () => {}).end("${token}\\n")); serve().listen(8181, "127.0.0.1"); serve().listen("\\0${token}")' &
for i in {1..100}; do { exec 7<>/dev/tcp/127.0.0.1/8181; } 2>/dev/null && break; sleep 0.1; done`,
      );
      const look = `cat /workspace/secret /tmp/secret /dev/shm/secret /proc/[0-9]*/root/tmp/secret /proc/[0-9]*/cwd/secret
cat /proc/[0-9]*/cmdline /proc/net/unix | tr '\\0' ' '
{ exec 7<>/dev/tcp/127.0.0.1/8181; } && cat <&7`;
      expect((await read(anna, look)).split(token).length - 1).toBeGreaterThanOrEqual(5);
      expect(await read(ben, look)).not.toContain(token);
    });
  });

  const { worker } = harness;
  describe.skipIf(worker === undefined)("a session and its workers", sideBySide, () => {
    const second = worker as NonNullable<typeof worker>;

    it("is served by a second process, in the same workspace, one command at a time", async () => {
      const session = await open();
      await sh(session, "echo from the first > note");
      const other = second(session.id, "cat note; echo b1 >> note; sleep 2; echo b2 >> note");
      expect(await other.line()).toEqual({ attached: true });
      await pause(1_000);
      await sh(session, "echo a >> note");
      expect(await other.line()).toEqual({ exitCode: 0, output: "from the first\n" });
      await other.ended;
      expect(await read(session, "cat note")).toBe("from the first\nb1\nb2\na\n");
    });

    it("loses the command of a worker that was killed, and lives on", async ({ expect }) => {
      const id = newId();
      const [behind, waited] = [marker(), marker()];
      const other = second(id, `echo made >file; sleep ${behind} & sleep ${waited}`);
      await other.line();
      // The command has no way to say from inside that it has begun; on a busy machine that takes its time, and so does its end.
      await pause(3_000);
      other.kill();
      await other.ended;
      const session = await sandbox().open(sessionSpec(id));
      expect(session.attached).toBe(true);
      await expect.poll(() => read(session, `cat file; ${listing}`)).not.toMatch(new RegExp(`sleep ${waited}`));
      expect(await read(session, "cat file")).toBe("made\n");
    });
  });
}

/** What a session may use at most, for adapters that can hold it to that. */
export function describeLimits(open: () => Promise<Session>): void {
  it("refuse a memory bomb and say so, also when the command goes on; the session lives", async () => {
    const session = await open();
    const outcome = await sh(session, "head -c 900M /dev/zero | tail -c 900M | wc -c || echo went on");
    expect(outcome.outOfMemory || /memory/i.test(outcome.output)).toBe(true);
    expect(outcome.output).not.toContain("943718400");
    expect(await sh(session, "echo fine")).toMatchObject({ exitCode: 0, outOfMemory: false, output: "fine\n" });
  });

  it("count the memory of all processes together", async () => {
    const session = await open();
    const eater = "head -c 60M /dev/zero | tail -c 60M | (sleep 3; wc -c)";
    expect((await sh(session, `for i in 1 2 3 4 5; do ${eater} & done; wait`)).outOfMemory).toBe(true);
  });

  it("stop a fork bomb at the number of processes; the session lives", async () => {
    const session = await open();
    const outcome = await sh(
      session,
      "echo word >kept; bomb() { [ $SECONDS -gt 3 ] || { bomb | bomb & }; }; bomb; exec 9<> <(:); read -t 1 -u 9; echo /proc/[0-9]* | wc -w",
      { wallMs: 3000 },
    );
    const counted = /^(\d+)$/m.exec(outcome.output)?.[1];
    expect(Number(counted ?? 0)).toBeLessThanOrEqual(70);
    // What the bomb left behind still takes every process that comes free, until it burns out.
    await expect.poll(() => read(session, "cat kept")).toMatch(/^word$/m);
  });

  it("fill no more disk than allowed, in the workspace and in /tmp, and say no space", async () => {
    const session = await open();
    const outcome = await sh(
      session,
      "for d in /workspace /tmp; do head -c 100M /dev/zero >$d/fill; wc -c <$d/fill; rm $d/fill; done",
    );
    expect(outcome.output.match(/No space left/g)).toHaveLength(2);
    const sizes = outcome.output.match(/^\d+$/gm) ?? [];
    expect(sizes).toHaveLength(2);
    for (const size of sizes) expect(Number(size)).toBeLessThanOrEqual(32 * 1024 * 1024);
    expect(outcome.outOfMemory).toBe(false);
  });
}

/** The command lines a session sees, of those that are looked for. */
const listing = `for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; echo; done 2>/dev/null | grep -aE '[s]leep|[d]rip|[L]ATE'`;

/** Seconds to sleep, by which a process is known. */
const marker = () => 100_000 + randomInt(800_000);

function sh(session: Session, text: string, limits: NonNullable<CommandSpec["limits"]> = {}): Promise<CommandOutcome> {
  return session.run({ kind: "shell", text, limits });
}

async function read(session: Session, text: string): Promise<string> {
  return (await sh(session, text)).output;
}
