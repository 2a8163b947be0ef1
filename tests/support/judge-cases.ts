// What holds of a judge session on every adapter. Called inside a `describe`, with the sandbox under test.
import { expect, it } from "vitest";
import { type JudgeSpec, openJudge } from "../../packages/sandbox/src/judge/judge-session.ts";
import type { Sandbox } from "../../packages/sandbox/src/port.ts";
import { SandboxError } from "../../packages/sandbox/src/sandbox-error.ts";
import { judgeSpec } from "./judge-spec.ts";

export function judgeCases(sandbox: () => Sandbox, image: () => string | undefined): void {
  const judge = async (text: string, more: Partial<JudgeSpec> = {}, through: Pick<Sandbox, "open"> = sandbox()) => {
    const name = image();
    const session = await openJudge(through, judgeSpec({ ...(name === undefined ? {} : { image: name }), ...more }));
    try {
      const { output, exitCode } = await session.run({ kind: "shell", text });
      return { output, exitCode, leftOut: session.leftOut };
    } finally {
      await session.end();
    }
  };

  it("has the submission and the teacher's files read-only, and an empty scratch", async () => {
    const { output } = await judge(
      "pwd; ls -A; cat /submission/notes.txt /judge/expected.txt; bash /judge/lib/check.sh; stat -c %a /submission/add.sh\n" +
        "for f in /judge/expected.txt /judge/new /submission/notes.txt /run/judge/guest; do { echo x >$f; } 2>/dev/null && echo wrote; chmod u+w $f 2>/dev/null && echo changed; rm -f $f 2>/dev/null && [ ! -e $f ] && [ $f != /judge/new ] && echo removed; done; echo own >file; cat file",
    );
    expect(output).toBe("/workspace\nmine\n5\nchecked\n555\nown\n");
  });

  it("starts a student's program with pipes, its own copy of the files, and its exit code", async () => {
    const { output, exitCode } = await judge(
      "echo 2 3 | guest ./add.sh >out 2>err; echo $?; cat out err; diff out /judge/expected.txt && exit 0; exit 1",
    );
    expect({ output, exitCode }).toEqual({ output: "3\n5\nnoted\n", exitCode: 0 });
  });

  it("tells how a guest ended: signal, time, missing and forbidden program, wrong request", async () => {
    const { output } = await judge(
      `guest bash -c 'kill -TERM $$'; echo $?
guest --time 0.5 sleep 30 2>&1; echo $?
guest ./missing >/dev/null 2>&1; echo $?
guest ./notes.txt >/dev/null 2>&1; echo $?
guest --tiem 3 true; echo $?
guest; echo $?`,
    );
    expect(output.split("\n")).toEqual([
      "143",
      "guest: ended after 0.5 s",
      "124",
      "127",
      "126",
      "guest: unknown option --tiem; see guest --help",
      "125",
      "guest: name a program; see guest --help",
      "125",
      "",
    ]);
  });

  it("keeps nothing of one guest for the next, unless the judge saves it as plain files", async () => {
    const { output } = await judge(
      `guest bash -c 'echo left >left; echo left >/tmp/left; (setsid sleep 1000 &)'
guest bash -c 'cat left /tmp/left 2>/dev/null; cat /proc/[0-9]*/cmdline | tr "\\0" " " | grep -c "sleep 100[0]"'
guest --save built bash -c 'echo made >made; ln -s /judge/expected.txt link; mkdir deep; echo x >deep/x'
ls -R built | LC_ALL=C sort | tr "\\n" " "; echo
guest --files built cat made notes.txt`,
    );
    expect(output).toBe("0\n add.sh built/deep: built: deep made notes.txt x \nmade\nmine\n");
  });

  it("passes large data both ways, several guests at once, and stops a guest nobody listens to", async () => {
    const { output } = await judge(
      `head -c 5000000 /dev/urandom >data; guest --output 9000000 cat <data | cmp - data && echo same
for n in 1 2 3 4 5 6; do { guest bash -c "sleep 0.3; echo $n" >part$n; } & done; wait; cat part* | tr "\\n" " "; echo
guest yes | head -n 1`,
    );
    expect(output).toBe("same\n1 2 3 4 5 6 \ny\n");
  });

  it("leaves links of the submission out of the judge's view, and says how many", async () => {
    const { pack } = await import("tar-stream");
    const archive = pack();
    archive.entry({ name: "answer.txt", type: "symlink", linkname: "/judge/expected.txt" });
    archive.entry({ name: "real.txt" }, "real\n");
    archive.finalize();
    const chunks: Buffer[] = [];
    for await (const chunk of archive) chunks.push(chunk as Buffer);
    const { output, leftOut } = await judge(
      "ls /submission; guest cat real.txt; guest cat answer.txt 2>/dev/null; echo $?",
      {
        submission: { kind: "tar", bytes: Buffer.concat(chunks) },
      },
    );
    expect({ output, leftOut }).toEqual({ output: "real.txt\nreal\n1\n", leftOut: 1 });
  });

  it("gives no verdict when the sandbox fails under a guest", async () => {
    const real = sandbox();
    let guests = 0;
    const failing: Pick<Sandbox, "open"> = {
      open: async (spec, options) => {
        if (/-judge-[0-9a-f]{8}-\d+$/.test(spec.id) && ++guests > 0)
          throw new SandboxError("SANDBOX_ENGINE_FAILED", "It failed.", "Try again.");
        return await real.open(spec, options);
      },
    };
    await expect(judge("guest true; echo $?; exit 0", {}, failing)).rejects.toThrow("SANDBOX_ENGINE_FAILED");
  });

  it("ends with all its guests, also when it is aborted", async () => {
    const name = image();
    const session = await openJudge(sandbox(), judgeSpec(name === undefined ? {} : { image: name }));
    const stop = new AbortController();
    const running = session.run({ kind: "shell", text: "guest sleep 100 & guest sleep 100" }, { signal: stop.signal });
    setTimeout(() => stop.abort(new Error("stopped")), 1500);
    await expect(running).rejects.toThrow("stopped");
    await session.end();
    expect((await sandbox().list()).filter(({ id }) => id.startsWith(session.id))).toEqual([]);
  });
}
