// What holds of a judge session on every adapter. Called inside a `describe`, with the sandbox under test.
import { expect, inject, it } from "vitest";
import { type JudgeSpec, openJudge } from "../../packages/sandbox/src/judge/judge-session.ts";
import type { Sandbox } from "../../packages/sandbox/src/port.ts";
import { SandboxError } from "../../packages/sandbox/src/sandbox-error.ts";
import { judgeSpec } from "./judge-spec.ts";

/**
 * `walls`: what this adapter has of its own, by which cases are chosen that another adapter would not answer for it. Without cgroups a jail
 * ends and counts processes in another way, and is otherwise the same. In Docker a file of the scratch is read by other means.
 */
export function judgeCases(
  sandbox: () => Sandbox,
  image: () => string | undefined,
  walls: "all" | "processes" | "docker" = "all",
): void {
  /** Not of processes that are left behind, and of their end. */
  const ofFiles = it.skipIf(walls === "processes" && !inject("thorough"));
  /** Decided by our own process, whatever the sandbox. */
  const once = it.skipIf(walls !== "all" && !inject("thorough"));
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

  ofFiles("has the submission and the teacher's files read-only, and an empty scratch", async () => {
    const { output } = await judge(
      "pwd; ls -A; cat /submission/notes.txt /judge/expected.txt; bash /judge/lib/check.sh; stat -c %a /submission/add.sh\n" +
        "for f in /judge/expected.txt /judge/new /submission/notes.txt /run/judge/guest; do { echo x >$f; } 2>/dev/null && echo wrote; chmod u+w $f 2>/dev/null && echo changed; rm -f $f 2>/dev/null && [ ! -e $f ] && [ $f != /judge/new ] && echo removed; done; echo own >file; cat file",
    );
    expect(output).toBe("/workspace\nmine\n5\nchecked\n555\nown\n");
  });

  ofFiles("starts a student's program with pipes, its own copy of the files, and its exit code", async () => {
    const { output, exitCode } = await judge(
      "echo 2 3 | guest ./add.sh >out 2>err; echo $?; cat out err; diff out /judge/expected.txt && exit 0; exit 1",
    );
    expect({ output, exitCode }).toEqual({ output: "3\n5\nnoted\n", exitCode: 0 });
  });

  ofFiles("tells how a guest ended: signal, time, missing and forbidden program, wrong request", async () => {
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

  it("leaves the time of guests out of the judge's clocks: endless loops are ended one by one", async () => {
    const { limits } = judgeSpec();
    const { output, exitCode } = await judge(
      "for n in 1 2; do guest --time 5 bash -c 'while :; do :; done' 2>&1; echo $?; done",
      {
        limits: { ...limits, silenceMs: 4_000, wallMs: 8_000 },
      },
    );
    expect({ output, exitCode }).toEqual({
      output: "guest: ended after 5 s\n124\nguest: ended after 5 s\n124\n",
      exitCode: 0,
    });
  });

  once("ends guests as out of time when all guests of the judge together have had theirs", async () => {
    const { output } = await judge(
      "guest true; echo $?; for n in 1 2; do guest --time 50 sleep 50 2>&1; echo $?; done; echo judged",
      { guestsMs: 3_000 },
    );
    const spent = "guest: ended: all guests together have had 3 s\n124\n";
    expect(output).toBe(`0\n${spent}${spent}judged\n`);
  });

  ofFiles(
    "fails a guest whose files do not fit into the judge's free disk, and keeps room for the results",
    async () => {
      const MIB = 1024 * 1024;
      const { limits } = judgeSpec();
      const { output } = await judge(
        `guest --save one bash -c 'head -c 12000000 /dev/zero >large' 2>&1; echo $?
guest --save two bash -c 'head -c 9000000 /dev/zero >large' 2>&1 | sed 's/[0-9][0-9]* bytes/N bytes/'; echo \${PIPESTATUS[0]}; ls two
{ guest --save three bash -c 'head -c 1500000 /dev/zero >large' & guest --save four bash -c 'head -c 1500000 /dev/zero >large' & wait; } 2>/dev/null; cat three/large four/large | wc -c
guest --save five bash -c 'for n in {1..3000}; do echo >$n; done' 2>/dev/null; echo $?; ls five
echo written >results && cat results`,
        { limits: { ...limits, diskBytes: 16 * MIB } },
      );
      expect(output.split("\n")).toEqual([
        ...[
          "0",
          "guest: what it left takes N bytes, and too little is free for it",
          "137",
          "3000000",
          "137",
          "written",
          "",
        ],
      ]);
    },
  );

  ofFiles("passes large data both ways, several guests at once, and stops a guest nobody listens to", async () => {
    const numbers = inject("thorough") ? "1 2 3 4 5 6" : "1 2 3";
    const { output } = await judge(
      `head -c 5000000 /dev/urandom >data; guest --output 9000000 cat <data | cmp - data && echo same
for n in ${numbers}; do { guest bash -c "sleep 0.3; echo $n" >part$n; } & done; wait; cat part* | tr "\\n" " "; echo
guest yes | head -n 1`,
    );
    expect(output).toBe(`same\n${numbers} \ny\n`);
  });

  once("leaves links of the submission out of the judge's view, and says how many", async () => {
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

  once("gives no verdict when the sandbox fails under a guest", async () => {
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

  const decide = async (text: string, more: Partial<JudgeSpec> = {}) => {
    const name = image();
    const session = await openJudge(sandbox(), judgeSpec({ ...(name === undefined ? {} : { image: name }), ...more }));
    try {
      const { outcome, results, nonce } = await session.decide({ kind: "shell", text }, { maxResultBytes: 1024 });
      const left = results?.kind === "read" ? Buffer.from(results.bytes).toString() : results;
      return { output: outcome.output, state: JSON.stringify(outcome.state), left, nonce };
    } finally {
      await session.end();
    }
  };

  ofFiles("reads what the command left as results, with a nonce that stands in nothing it printed", async () => {
    const { output, state, left, nonce } = await decide(
      'echo "$MARKMILL_NONCE"; env | grep NONCE; env | grep NONCE | tr a-f A-F; printf "{%s}" "$MARKMILL_NONCE" >"$MARKMILL_RESULTS"; exit 1',
    );
    expect(nonce).toMatch(/^[0-9a-f]{64}$/);
    expect(left).toBe(`{${nonce}}`);
    expect(output.toLowerCase()).not.toContain(nonce);
    expect(output).toContain("*".repeat(64));
    expect(state).not.toContain(nonce);
  });

  once("finds no results where the command left none, and draws another nonce for each judge", async () => {
    const one = await decide("ls -A /workspace");
    const other = await decide("true");
    expect([one.left, other.left]).toEqual([{ kind: "missing" }, { kind: "missing" }]);
    expect(one.output).toBe("");
    expect(one.nonce).not.toBe(other.nonce);
  });

  const noResults = [
    ["a link to the submission's own", 'ln -s /submission/notes.txt "$MARKMILL_RESULTS"', "link"],
    ["a pipe", 'mkfifo "$MARKMILL_RESULTS"', "not a plain file"],
    ["a file nobody may read", 'echo x >"$MARKMILL_RESULTS"; chmod 0 "$MARKMILL_RESULTS"', "permission"],
    ["a folder", 'mkdir "$MARKMILL_RESULTS"', "folder"],
    ["a link inside the scratch", 'echo x >there; ln -s there "$MARKMILL_RESULTS"', "link"],
  ] as const;
  ofFiles.each(inject("thorough") ? noResults : noResults.slice(0, walls === "docker" ? 3 : 4))(
    "refuses as results %s",
    async (_, text, why) => {
      expect((await decide(text)).left).toMatchObject({ kind: "refused", why: expect.stringContaining(why) });
    },
  );

  ofFiles("takes no results that are too long, however they grow", async () => {
    const { left } = await decide('head -c 10000000 /dev/zero >"$MARKMILL_RESULTS"');
    expect(left).toEqual({ kind: "too long", size: 10_000_000 });
  });

  it("takes the results when every process of the command is gone, those it left behind too", async () => {
    const { left } = await decide(
      'echo first >"$MARKMILL_RESULTS"; setsid bash -c \'trap "" TERM HUP; while :; do echo later >"$MARKMILL_RESULTS"; done\' & sleep 0.3; echo end',
    );
    // Whichever was there last: whole, and read by a program that nobody disturbed.
    expect(["first\n", "later\n", ""]).toContain(left);
  });

  ofFiles("does not look at what a command left that a clock ended", async () => {
    const { left, output } = await decide('echo x >"$MARKMILL_RESULTS"; echo begun; sleep 60', {
      limits: { ...judgeSpec().limits, wallMs: 1500 },
    });
    expect({ left, output }).toEqual({ left: null, output: "begun\n" });
  });

  ofFiles(
    "lays out an autograder's folders where it may write, keeps the nonce from it, and skips its setup if told so",
    async () => {
      const script = `#!/bin/bash
pwd; cat source/answer submission/notes.txt; env | grep -c MARKMILL; [ -w . ] && echo '{"tests": []}' >results/results.json`;
      const file = (path: string, text: string) => ({
        path: `autograder/${path}`,
        mode: 0o755,
        bytes: Buffer.from(text),
      });
      const { output, left } = await decide("autograder; ls -d /autograder/*", {
        files: [file("run_autograder", script), file("answer", "42\n"), file("setup.sh", "#!/bin/bash\nexit 9\n")],
        autograder: { setup: "skip" },
      });
      expect(output.split("\n").slice(0, 4)).toEqual(["/autograder", "42", "mine", "0"]);
      expect(output).toContain("/autograder/submission_metadata.json");
      expect(left).toBe('{"tests": []}\n');
    },
  );

  ofFiles("keeps the nonce and the place of the results from a guest, in every way it can look and write", async () => {
    const attack = `env; cat /proc/self/environ /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'
tr '\\0' '\\n' </proc/$PPID/environ; ls -A /workspace /tmp /run /dev/shm 2>/dev/null; find / -xdev -name '.results-*' 2>/dev/null
for f in /workspace/.results-0.json /workspace/results.json /workspace/.results-1234567890abcdef.json; do echo '{"nonce":"","tests":[]}' >$f; done; echo tried`;
    const { output, left, nonce } = await decide(
      'guest bash attack.sh >seen 2>&1; grep -c tried seen; grep -ciE "nonce=|markmill_|$MARKMILL_NONCE" seen; guest --save . bash attack.sh >/dev/null 2>&1; ls -A | grep -c "^.results"; [ -e "$MARKMILL_RESULTS" ] && echo forged; echo "$MARKMILL_NONCE" >"$MARKMILL_RESULTS"',
      { submission: { kind: "list", files: [{ path: "attack.sh", mode: 0o644, bytes: Buffer.from(attack) }] } },
    );
    expect(output).toBe("1\n0\n2\n");
    expect(left).toBe(`${nonce}\n`);
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
