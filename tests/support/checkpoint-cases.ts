// What checkpoints must do, the same for every adapter. A session is rewound in place, and in a session of another instance.
import { expect, it } from "vitest";
import { readTar } from "../../packages/sandbox/src/checkpoint/tar-archive.ts";
import type { Changes, CheckpointPart } from "../../packages/sandbox/src/checkpoint/workspace.ts";
import { packFiles } from "../../packages/sandbox/src/pack-files.ts";
import type { Session, SessionSpec } from "../../packages/sandbox/src/port.ts";

export interface CheckpointHarness {
  /** A session with the files of `session-spec.ts`, or with these. */
  open(files?: SessionSpec["files"]): Promise<Session>;
  /** /tmp belongs to the session. */
  readonly ownTmp: boolean;
  /** Also the cases that are the same for all adapters whose files the host reads, or for all at all. */
  readonly shared: boolean;
  /** The host reads its files (`read-places.ts`), not a program in the session. */
  readonly readByHost: boolean;
  readonly spec: () => SessionSpec;
}

const maxBytes = 20_000_000;

export function describeCheckpoints({ open, ownTmp, shared, readByHost, spec }: CheckpointHarness): void {
  const ofFiles = it.runIf(shared || !readByHost);
  const sh = async (session: Session, text: string) => (await session.run({ kind: "shell", text })).output;
  const given = async (): Promise<CheckpointPart> => ({
    whole: true,
    removed: [],
    tar: await packFiles(spec().files, maxBytes),
    within: "workspace",
  });
  const partOf = (changes: Changes): CheckpointPart[] =>
    changes.kind === "same" ? [] : [{ whole: changes.kind === "whole", removed: changes.removed, tar: changes.tar }];
  const names = (changes: Changes) =>
    changes.kind === "same"
      ? []
      : [...readTar(changes.tar)]
          .map(({ path }) => path.replace(/^workspace\//, ""))
          // The first command of a session makes it.
          .filter((path) => path !== "tmp/home")
          .sort();
  const state = `find . -mindepth 1 ! -type s -printf '%P %y %m %l\\n' | LC_ALL=C sort; find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum`;
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  ofFiles("tells nothing when nothing changed, and only what changed otherwise", async () => {
    const session = await open();
    await sh(session, "true");
    const first = await session.snapshot();
    expect((await session.changes(first, { maxBytes })).kind).toBe("same");
    await sh(session, "ls >/dev/null; cat main.py lib/data.txt");
    expect((await session.changes(first, { maxBytes })).kind).toBe("same");
    await sh(session, "echo new > lib/new; mkdir empty; ln -s lib/new link; rm main.py");
    const changes = await session.changes(first, { maxBytes });
    expect(changes).toMatchObject({ kind: "delta", removed: ["workspace/main.py"] });
    expect(names(changes)).toEqual(["empty", "lib/new", "link"]);
    expect((await session.changes(changes.snapshot, { maxBytes })).kind).toBe("same");
  });

  ofFiles(
    "sees a change that hides: same size, time of modification set back, by a shell whose programs are replaced",
    async () => {
      const session = await open();
      const first = await session.snapshot();
      await sh(
        session,
        `touch -r lib/data.txt /tmp/stamp-$$; printf 'eight\n' | head -c 6 > lib/data.txt; touch -r /tmp/stamp-$$ lib/data.txt; rm /tmp/stamp-$$
       find() { :; }; tar() { :; }; date() { :; }; export -f find tar date; mkdir bin; printf '#!/bin/sh\n' > bin/find; cp bin/find bin/tar; chmod +x bin/*
       export PATH=$PWD/bin:$PATH LD_PRELOAD=/workspace/none.so BASH_ENV=/workspace/bin/find`,
      );
      expect(names(await session.changes(first, { maxBytes }))).toEqual(["bin", "bin/find", "bin/tar", "lib/data.txt"]);
    },
  );

  it.runIf(shared)("sees one of two changes within a tick of the kernel's clock", async () => {
    const session = await open();
    for (let round = 0; round < 5; round += 1) {
      const seen = (await session.changes(null, { maxBytes })).snapshot;
      await sh(session, `printf '%6d' ${round} > lib/data.txt`);
      expect(names(await session.changes(seen, { maxBytes }))).toEqual(["lib/data.txt"]);
    }
  });

  const build = `mkdir -p a/b/c empty deep/ro; echo one > a/one; echo two > a/b/two; chmod 755 a/one; ln a/one a/hard; ln -s ../a/one deep/link
     ln -s /etc/passwd out; printf 'x' > "sp ace"; printf 'n' > $'new\\nline'; printf 'l' > $'lat\\xe9'; printf q > deep/ro/q; chmod 444 deep/ro/q; chmod 555 deep/ro
     mkfifo pipe; chmod 711 empty; head -c 300000 /dev/urandom > blob; export COLOUR=red; f() { echo f $COLOUR; }; cd a
     : > ${"long".repeat(30)}; mkdir -p ../${"d".repeat(60)}/${"e".repeat(60)}; echo deep > ../${"d".repeat(60)}/${"e".repeat(60)}/${"f".repeat(60)}`;
  const ruin = `echo more >> a/one; rm -r a/b; rm blob; ln -sfn nowhere out; chmod 700 deep/ro; echo r > deep/ro/r; rm deep/ro/q; rmdir empty; echo file > empty
     mkdir added; echo added > added/file; chmod 000 added/file added; mv "sp ace" moved; rm pipe; mkdir pipe; chmod 600 main.py; echo z > main.py; rm -rf d*d; cd /; export COLOUR=blue`;

  ofFiles(
    "goes back in place: content, modes, links, empty folders, odd names, directory, environment, functions",
    async () => {
      const session = await open();
      const first = await session.changes(await session.snapshot(), { maxBytes });
      await sh(session, build);
      const built = await session.changes(first.snapshot, { maxBytes });
      const kept = session.state;
      const before = await sh(session, `(cd ..; ${state})`);
      await sh(session, `cd ..; ${ruin}`);
      const there = await session.rewind({
        snapshot: built.snapshot,
        parts: [await given(), ...partOf(first), ...partOf(built)],
        state: kept,
      });
      expect(await sh(session, "f; pwd | sed 's:.*/::'")).toBe("f red\na\n");
      expect(await sh(session, `(cd ..; ${state})`)).toBe(before);
      expect(await sh(session, "echo again >> hard; tail -n 1 one")).toBe("again\n");
      expect(names(await session.changes(there, { maxBytes }))).toEqual(["a/hard", "a/one"]);
    },
  );

  it("goes to a session of another instance, through several parts, and further from there", async () => {
    const one = await open();
    const parts = [await given()];
    let { snapshot } = { snapshot: await one.snapshot() };
    for (const text of [
      build,
      "cd ..; rm a/b/two; echo 1 > turn",
      "echo 2 > turn; echo three > a/b/three; rmdir a/b/c",
    ]) {
      await sh(one, text);
      const changes = await one.changes(snapshot, { maxBytes });
      snapshot = changes.snapshot;
      parts.push(...partOf(changes));
    }
    const before = await sh(one, state);
    const other = await open({ kind: "list", files: [{ path: "old", mode: 0o644, bytes: Buffer.from("x") }] });
    const there = await other.rewind({ snapshot, parts });
    expect(await sh(other, state)).toBe(before);
    await sh(other, "echo 3 > turn");
    expect(names(await other.changes(there, { maxBytes }))).toEqual(["turn"]);
    const whole = await other.changes(null, { maxBytes });
    expect(whole).toMatchObject({ kind: "whole", removed: [] });
    const last = await sh(other, state);
    const third = await open();
    await third.rewind({ snapshot: whole.snapshot, parts: partOf(whole) });
    expect(await sh(third, state)).toBe(last);
  });

  it("ends what the interrupted try left running, and spares what ran before it", async () => {
    const session = await open();
    // Without a moment in which the file is empty: it would not be as it was.
    await sh(
      session,
      "(while :; do date +%N 1<>beat; sleep 0.05; done) >/dev/null 2>&1 & until [ -s beat ]; do sleep 0.02; done",
    );
    const { snapshot, ...first } = await session.changes(null, { maxBytes });
    // The loop, and in a container what carries its output; its own children come and go.
    expect([1, 2]).toContain(snapshot.processes.length);
    await sh(
      session,
      "setsid sh -c 'trap \"\" TERM; while :; do echo left >> left; sleep 0.02; done' >/dev/null 2>&1 & until [ -e left ]; do sleep 0.02; done",
    );
    await session.rewind({ snapshot, parts: partOf({ ...first, snapshot } as Changes) });
    const beats =
      'was=$(cat beat); for i in $(seq 300); do [ "$(cat beat)" != "$was" ] && echo beats && break; sleep 0.1; done';
    const listing = await sh(session, `ls left 2>&1; sleep 0.3; ${beats}; ls left 2>&1`);
    const [none, goesOn, still] = listing.split("\n");
    expect(none).toContain("No such file");
    expect(goesOn).toBe("beats");
    expect(still).toContain("No such file");
    await session.end();
  });

  it("says that processes are lost where the way back would need them", async () => {
    const session = await open();
    await sh(session, "sleep 300 >/dev/null 2>&1 & echo $! > pid");
    const changes = await session.changes(null, { maxBytes });
    const other = await open();
    const rewind = { snapshot: changes.snapshot, parts: partOf(changes) };
    await expect(other.rewind(rewind)).rejects.toMatchObject({ code: "SANDBOX_PROCESSES_LOST" });
    await sh(session, "kill -9 $(cat pid)");
    await pause(300);
    await expect(session.rewind(rewind)).rejects.toMatchObject({ code: "SANDBOX_PROCESSES_LOST" });
  });

  ofFiles("refuses what is larger than allowed, and goes on", async () => {
    const session = await open();
    const first = await session.snapshot();
    await sh(session, "head -c 3000000 /dev/zero > big; truncate -s 20G sparse");
    await expect(session.changes(first, { maxBytes: 1_000_000 })).rejects.toMatchObject({
      code: "SANDBOX_CHECKPOINT_TOO_LARGE",
    });
    await sh(session, "rm big sparse; echo small > small");
    expect(names(await session.changes(first, { maxBytes: 1_000_000 }))).toEqual(["small"]);
  });

  it.runIf(ownTmp)("holds /tmp and /dev/shm as well, and sockets that are left over go", async () => {
    const session = await open();
    await sh(session, "echo t > /tmp/t; echo s > /dev/shm/s");
    const changes = await session.changes(null, { maxBytes });
    await sh(
      session,
      `rm /dev/shm/s; echo u > /tmp/u; echo more >> /tmp/t; perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un("/tmp/sock")) or die'`,
    );
    await session.rewind({ snapshot: changes.snapshot, parts: partOf(changes) });
    expect(await sh(session, "cat /tmp/t /dev/shm/s; ls /tmp | grep -v home")).toBe("t\ns\nt\n");
  });
}
