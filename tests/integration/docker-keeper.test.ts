/**
 * Attacks on the process that keeps a session's container alive. After each attack the command has an ordinary outcome, and the same
 * container runs the next command.
 */
import { randomBytes } from "node:crypto";
import Docker from "dockerode";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDockerSandbox, type DockerSandbox } from "../../packages/sandbox/src/docker/docker-sandbox.ts";
import type { Session } from "../../packages/sandbox/src/port.ts";
import { dockerAvailable, sharedDocker } from "../support/docker-engine.ts";
import { sessionSpec } from "../support/session-spec.ts";

const available = await dockerAvailable("attacks on the keeper of a session's container");
const MIB = 1024 * 1024;
/** Limits for a small class. All writable places together hold more than the memory. */
const limits = { memoryBytes: 64 * MIB, diskBytes: 48 * MIB, pids: 40, wallMs: 40_000 };

/** Empty files in every place that a session can write to. Each one costs the kernel about a kilobyte. */
const emptyFiles = `for my $at ("/workspace", "/tmp", "/dev/shm") { mkdir "$at/e"; for (1 .. 150000) { open(my $f, ">", "$at/e/" . "n" x 100 . $_) or last } } print "made\\n"`;
/** Memory in a file without a name. Its process looks small and has the lowest score that it may have. */
const hidden = `import os, time
for score in range(0, 1001, 50):
    try:
        open("/proc/self/oom_score_adj", "w").write(str(score)); break
    except OSError: pass
held = os.memfd_create("held")
for _ in range(400): os.write(held, b"x" * (1 << 20))
print("held")`;
/** A small program that fills a file without a name, and is as hard to kill as the keeper. */
const besidesKeeper = `import os
for score in range(0, 1001, 50):
    try:
        with open("/proc/self/oom_score_adj", "w") as file: file.write(str(score))
        break
    except OSError: pass
print("growing", flush=True)
for fd in range(10, 20): os.dup2(os.memfd_create("held"), fd)
fill = "for fd in 10 11 12 13 14 15 16 17 18 19; do head -c 45000000 /dev/zero >/proc/self/fd/$fd; done; sleep 9"
os.execvp("sh", ["sh", "-c", fill])`;
/** System V memory, which outlives every process: segments, then messages. */
const systemV = `my @keys; for (1 .. 400) { my $id = shmget(0, 1 << 20, 01600) or last; shmwrite($id, "x" x (1 << 20), 0, 1 << 20) or last }
for (1 .. 20000) { my $queue = msgget(0, 01600); last unless defined $queue; 1 while msgsnd($queue, pack("l! a*", 1, "x" x 8000), 04000) }
print "left\\n"`;

const attacks = [
  {
    name: "fills every place with bytes",
    text: "for d in /workspace /tmp /dev/shm; do head -c 400M /dev/zero >$d/fill; done; echo filled",
    says: /No space left[\s\S]*filled/,
  },
  { name: "fills every place with empty files", text: `LC_ALL=C perl -e '${emptyFiles}'`, says: /made/ },
  { name: "holds memory that no process shows", text: `python3 -c '${hidden}'`, says: /^(?!held)/ },
  { name: "leaves memory that outlives its processes", text: `LC_ALL=C perl -e '${systemV}'`, says: /left/ },
  {
    name: "fills every place, then takes all memory from many small processes",
    text: `for d in /workspace /tmp /dev/shm; do head -c 400M /dev/zero >$d/fill; done 2>/dev/null
for n in 1 2 3 4 5 6 7 8 9; do perl -e '$held = "a" x 15000000; sleep 5' & done; wait; echo filled`,
    says: /filled|^$/,
  },
];

describe.skipIf(!available)("a sandbox session whose command attacks its keeper", () => {
  let docker: Docker;
  let sandbox: DockerSandbox;
  const opened: Session[] = [];

  beforeAll(async () => {
    const { host, image } = await sharedDocker();
    docker = new Docker({ socketPath: host.replace("unix://", "") });
    sandbox = await createDockerSandbox({ hosts: [host], images: [image] });
  });
  afterAll(async () => {
    await Promise.all(opened.map((session) => session.end()));
    await sandbox?.close();
  });

  const open = async () => {
    const session = await sandbox.open(sessionSpec(`k-${randomBytes(6).toString("hex")}`, { limits }));
    opened.push(session);
    return session;
  };

  it.each(attacks)("has an ordinary outcome and stays usable after a command that $name", async ({ text, says }) => {
    const session = await open();
    const before = await docker.getContainer(`markmill-session-${session.id}`).inspect();
    const outcome = await session.run({ kind: "shell", text });
    expect(outcome.output).toMatch(says);
    expect(await session.run({ kind: "shell", text: "cat lib/data.txt" })).toMatchObject({
      exitCode: 0,
      output: "seven\n",
    });
    const after = await docker.getContainer(`markmill-session-${session.id}`).inspect();
    expect(after.State.Pid).toBe(before.State.Pid);
  });

  it("can be opened again after the keeper was killed for lack of memory", async () => {
    const session = await open();
    const outcome = await session.run({ kind: "python", text: besidesKeeper });
    expect(outcome).toMatchObject({ exitCode: 137, outOfMemory: true, timedOut: false });
    expect(outcome.output).toBe("growing\n");
    const again = await sandbox.open(sessionSpec(session.id, { limits, state: session.state }));
    expect(await again.run({ kind: "shell", text: "cat lib/data.txt" })).toMatchObject({
      exitCode: 0,
      output: "seven\n",
    });
    expect(session.endedByCommand).toBe(!again.attached);
    expect(await sandbox.endedByMemory?.(session.instance)).toBe(!again.attached);
  });

  it("gives commands the highest out-of-memory score, and the keeper a lower one", async () => {
    const session = await open();
    const text = `cat /proc/self/oom_score_adj
for p in 1 $(ps -eo pid=,args= | awk '/keeper/ && !/awk/ { print $1 }'); do cat /proc/$p/oom_score_adj; done`;
    const { output } = await session.run({ kind: "shell", text });
    expect(output).toMatch(/^1000\n((0|500)\n){2,}$/);
    const program = await session.start({ argv: ["cat", "/proc/self/oom_score_adj"] });
    let said = "";
    for await (const chunk of program.stdout) said += chunk;
    expect(said).toBe("1000\n");
  });
});
