// biome-ignore-all lint/suspicious/noTemplateCurlyInString: text for a shell
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import fc from "fast-check";
import { describe, expect, inject, it } from "vitest";
import type { SessionState } from "./port.ts";
import { initialState, parseReport, quoteForBash, renderScript } from "./session-script.ts";

const nonce = "00112233445566778899aabbccddeeff";
const start: SessionState = { ...initialState({ GIVEN: "yes" }), cwd: "/tmp" };

/** Runs the script as an adapter starts it, in a plain bash of this machine. */
async function run(text: string, state: SessionState = start) {
  const child = spawn("bash", ["--norc", "-c", "exec bash --noprofile --norc -s <&3 3>&- 2>&1"], {
    env: {},
    detached: true,
    stdio: ["ignore", "pipe", "ignore", "pipe"],
  });
  const socket = child.stdio[3] as Duplex;
  let output = "";
  let said = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk) => {
    output += chunk;
  });
  socket.setEncoding("utf8").on("data", (chunk) => {
    said += chunk;
    if (said === "start\n") socket.end("go\n");
  });
  socket.write(renderScript({ kind: "shell", text, state }));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  const report = parseReport(nonce, said.replace(/^start$/m, `start ${child.pid}`).replace(/^/gm, `${nonce} `));
  return { output, said, code, report, state: report.state ?? state };
}

describe("the state that a command leaves", () => {
  it("contains the working directory, exports, variables, arrays and functions", async () => {
    const first = await run("cd /usr; export A='a b\nc'; b=5; list=(x 'y z'); greet() { echo \"hi $1 $b\"; }");
    const second = await run('pwd; echo "$A"; echo $list; greet you; echo $GIVEN', first.state);
    expect(second.output).toBe("/usr\na b\nc\nx\nhi you 5\nyes\n");
  });

  it("survives exit, with its code and the state up to there", async () => {
    const first = await run("x=1; cd /usr; exit 3; x=2");
    expect(first).toMatchObject({ code: 3, report: { claimed: 3 } });
    expect((await run("echo $x; pwd", first.state)).output).toBe("1\n/usr\n");
  });

  it("is the old state when the command replaces its shell", async () => {
    const first = await run("cd /usr; exec echo gone");
    expect(first).toMatchObject({ output: "gone\n", code: 0 });
    expect(first.report).toEqual({ pid: expect.any(Number) });
  });

  it("is reported although the command has its own EXIT trap, which runs too", async () => {
    const first = await run("trap 'echo bye' EXIT; y=7");
    expect(first).toMatchObject({ output: "bye\n", report: { claimed: 0 } });
    expect((await run("echo $y", first.state)).output).toBe("7\n");
  });

  it("does not contain set -e, set -x or set -u, and set -x does not show the wrapper's work", async () => {
    const first = await run("set -eux; false; echo not reached");
    expect(first.report.claimed).toBe(1);
    expect(first.output).toMatch(/^\++ false\n$/);
    expect((await run("false; echo $unset_variable; echo reached", first.state)).output).toBe("\nreached\n");
  });

  it("does not contain variables that the command unset", async () => {
    const first = await run("export GONE=1");
    const second = await run("unset GONE GIVEN", first.state);
    expect((await run('echo "[$GONE$GIVEN]"', second.state)).output).toBe("[]\n");
  });

  it("does not contain the wrapper's own names", async () => {
    const { state } = await run("plain=1");
    expect(`${state.shell}${Object.keys(state.environment).join(" ")}`).not.toContain("__mm_");
    expect(state.shell).toBe('declare -- plain="1"');
  });
});

describe("a command in the session script", () => {
  it("reads no input from stdin", async () => {
    expect((await run('read line; echo "$? [$line]"; cat')).output).toBe("1 []\n");
  });

  it("writes stdout and stderr in one order", async () => {
    expect((await run("echo 1; echo 2 >&2; echo 3")).output).toBe("1\n2\n3\n");
  });

  it("sees the exit code of the last command in $?", async () => {
    expect((await run("echo $?; if [ $? -eq 0 ]; then echo fine; fi", { ...start, status: 4 })).output).toBe(
      "4\nfine\n",
    );
    expect((await run("if [ $? -eq 0 ]; then echo TESTS PASSED; fi", { ...start, status: 4 })).output).toBe("");
  });

  it("hides the descriptor of its reports from the programs it starts", async () => {
    const { said } = await run("bash -c 'for fd in {3..255}; do echo forged >&$fd; done' 2>/dev/null; exit 9");
    expect(said).toMatch(/^start\nstate \S+\nend 9\n$/);
  });

  it("reports a syntax error as bash does", async () => {
    const { output, report } = await run("if then");
    expect(output).toContain("syntax error near unexpected token");
    expect(report.claimed).toBe(2);
  });

  it("still runs when the saved directory is gone", async () => {
    const { report } = await run("true", { ...start, cwd: "/no/such/directory" });
    expect(report.claimed).toBe(0);
  });

  it("reports its process group at once", async () => {
    const { output, report } = await run("echo $$");
    expect(report.pid).toBe(Number(output));
  });
});

describe("a command that is not a valid script", () => {
  const broken = [
    "echo It's done",
    'echo "abc',
    "echo `ls",
    "echo $(",
    "echo ${x",
    "echo $((1+",
    "[[ a ==",
    "if then",
    "(",
  ];

  it.each([
    ...broken,
    "'",
    "$(;'",
    "a=(b c",
    "! (",
    "true; x=(",
    "f() {",
    "case x in",
    "a\0'b",
    `echo ${"x".repeat(100_000)}'`,
    "echo 1\necho 2'",
  ])("ends at once with exit code 2 and shows no text of the wrapper: %j", async (text) => {
    const { code, output, report } = await run(text);
    expect({ code, claimed: report.claimed }).toEqual({ code: 2, claimed: 2 });
    expect(output).toMatch(/^(?:1\n)?bash: eval: line \d: (?:unexpected|syntax error)/);
    expect(output).not.toContain("__mm_");
  });

  it("shows the command's own line numbers in its error", async () => {
    expect((await run("true\ntrue\nno_such_program")).output).toBe(
      "bash: line 3: no_such_program: command not found\n",
    );
    expect((await run("true\nif then\n")).output).toContain("eval: line 2: syntax error");
  });

  it("does not affect the next command", async () => {
    const first = await run("kept=1; cd /usr");
    const second = await run("echo 'open", first.state);
    expect((await run("echo $kept $PWD $?", { ...second.state, status: 2 })).output).toBe("1 /usr 2\n");
  });

  it("ends, shows no text of the wrapper, and has the code of a syntax error if bash finds one in its only line", async () => {
    const pieces = fc.constantFrom(
      ..."' \" ` $( ${ $(( ( ) { } [[ ]] \\ ; & | && || ! # <<A <<'A' <<<a <a $ ~ * =".split(" "),
      ...[
        "\n",
        " ",
        "A",
        "echo ",
        "true ",
        "false ",
        "if ",
        "then ",
        "fi ",
        "case ",
        "done ",
        "exit 3",
        "set -e;",
        "set -v;",
      ],
      ...[
        "set -x;",
        "set -n;",
        "eval ",
        "é",
        "\u202e",
        "\r",
        "\t",
        "\0",
        "x=1 ",
        "a() { ",
        "return ",
        "no_such_program ",
      ],
      ...["trap 'echo bye' EXIT;", "exec ", ">&10 ", "<&10 ", "\ud800", "y".repeat(5_000)],
    );
    const directory = await mkdtemp(join(tmpdir(), "plain-bash-"));
    const file = join(directory, "plain.sh");
    const parse = async (text: string) => {
      await writeFile(file, text.replaceAll("\0", ""));
      const child = spawn("bash", ["--noprofile", "--norc", "-n", file], { env: {}, stdio: "ignore" });
      return await new Promise<number | null>((resolve) => child.once("close", resolve));
    };
    await fc.assert(
      fc.asyncProperty(fc.array(pieces, { minLength: 1, maxLength: 12 }), async (parts) => {
        const text = parts.join("");
        if (text.trim() === "") return;
        const [{ code, output }, parsed] = await Promise.all([run(text, { ...start, cwd: directory }), parse(text)]);
        const expected = parsed === 0 || text.includes("\n") ? expect.any(Number) : 2;
        expect({ text, code }).toEqual({ text, code: expected });
        expect(output).not.toMatch(/__mm_|builtin/);
      }),
      { numRuns: inject("thorough") ? 1_000 : 60 },
    );
    await rm(directory, { recursive: true });
  });

  it.each([
    "set",
    "declare -p",
    "declare -f",
    "env",
    "set -v; true",
    "set -x; true",
    "trap 'echo $BASH_COMMAND' DEBUG; true",
  ])("shows no names of the wrapper: %s", async (text) => {
    expect((await run(text, { ...start, status: 3, shell: "f() { echo; }" })).output).not.toMatch(/__mm_|builtin/);
  });

  it.each(["exec 10<&-; echo hi", "builtin() { echo mine; }; echo hi", "set -n; echo no", "cat <&10; echo hi"])(
    "ends although the command changed its shell: %s",
    async (text) => {
      expect(await run(text)).toMatchObject({ code: 0, output: text.startsWith("set") ? "" : "hi\n" });
    },
  );
});

describe("reports that cannot be forged", () => {
  it("a report is read only from the report stream and with this command's nonce", () => {
    const other = "f".repeat(32);
    expect(parseReport(nonce, `${other} end 0\nend 0\n${nonce} end x\n`)).toEqual({});
    expect(parseReport(nonce, `noise ${nonce} end 4\n${nonce} exit 5\n`)).toEqual({ claimed: 4, waited: 5 });
  });

  it("printed text is not read as a report", async () => {
    const { report } = await run(`echo "${"a".repeat(32)} end 0"; echo "${"a".repeat(32)} end 0" >&2; exit 9`);
    expect(report.claimed).toBe(9);
  });

  it("an invalid state is ignored", () => {
    for (const text of [
      "",
      "????",
      Buffer.from("relative\0\0A=1").toString("base64"),
      Buffer.from("/x").toString("base64"),
    ])
      expect(parseReport(nonce, `${nonce} state ${text}\n`).state).toBeUndefined();
  });

  it.each(["'; echo broken; '", "$(echo broken)", "a\nb", "\\", "`x`", "\u202e"])(
    "the text %j is quoted as data",
    async (text) => {
      expect((await run(`printf %s ${quoteForBash(text)}`)).output).toBe(text);
      expect(
        (await run('printf %s "$VALUE"', { ...start, environment: { ...start.environment, VALUE: text } })).output,
      ).toBe(text);
    },
  );
});
