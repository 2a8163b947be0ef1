import { spawn } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { SessionState } from "./port.ts";
import { endMarker, initialState, parseReport, quoteForBash, renderRequest, SESSION_SCRIPT } from "./session-script.ts";

const nonce = "00112233445566778899aabbccddeeff";
const start: SessionState = { ...initialState({ GIVEN: "yes" }), cwd: "/tmp" };

/** The wrapper as any adapter starts it, in a plain bash of this machine. */
async function run(text: string, state: SessionState = start) {
  const child = spawn("bash", ["--noprofile", "--norc", "-c", SESSION_SCRIPT, "bash"], { env: {}, detached: true });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk) => {
    stderr += chunk;
  });
  child.stdin.end(renderRequest({ nonce, kind: "shell", text, state }));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  const report = parseReport(nonce, stderr);
  const end = stdout.indexOf(endMarker(nonce));
  return {
    output: end < 0 ? stdout : stdout.slice(0, end),
    marked: end >= 0,
    code,
    report,
    state: report.state ?? state,
  };
}

describe("what a command leaves for the next", () => {
  it("carries the working directory, exports, variables, arrays and functions over", async () => {
    const first = await run("cd /usr; export A='a b\nc'; b=5; list=(x 'y z'); greet() { echo \"hi $1 $b\"; }");
    const second = await run('pwd; echo "$A"; echo $list; greet you; echo $GIVEN', first.state);
    expect(second.output).toBe("/usr\na b\nc\nx\nhi you 5\nyes\n");
  });

  it("survives exit, with its code and the state up to there", async () => {
    const first = await run("x=1; cd /usr; exit 3; x=2");
    expect(first).toMatchObject({ code: 3, report: { exitCode: 3 } });
    expect((await run("echo $x; pwd", first.state)).output).toBe("1\n/usr\n");
  });

  it("keeps the old state when the command replaces its shell", async () => {
    const first = await run("cd /usr; exec echo gone");
    expect(first).toMatchObject({ output: "gone\n", marked: false, code: 0 });
    expect(first.report.state).toBeUndefined();
  });

  it("runs a command's own EXIT trap and still reports", async () => {
    const first = await run("trap 'echo bye' EXIT; y=7");
    expect(first).toMatchObject({ output: "bye\n", report: { exitCode: 0 } });
    expect((await run("echo $y", first.state)).output).toBe("7\n");
  });

  it("does not carry set -e, set -x or set -u over, nor show its own work under set -x", async () => {
    const first = await run("set -eux; false; echo not reached");
    expect(first.report.exitCode).toBe(1);
    expect(first.output).toMatch(/^\++ false\n$/);
    expect((await run("false; echo $unset_variable; echo reached", first.state)).output).toBe("\nreached\n");
  });

  it("unsets what the command unset", async () => {
    const first = await run("export GONE=1");
    const second = await run("unset GONE GIVEN", first.state);
    expect((await run('echo "[$GONE$GIVEN]"', second.state)).output).toBe("[]\n");
  });

  it("does not let the wrapper's own names through", async () => {
    const { state } = await run("plain=1");
    expect(`${state.shell}${Object.keys(state.environment).join(" ")}`).not.toContain("__mm_");
    expect(state.shell).toBe('declare -- plain="1"');
  });
});

describe("how a command runs", () => {
  it("reads nothing from stdin", async () => {
    expect((await run('read line; echo "$? [$line]"; cat')).output).toBe("1 []\n");
  });

  it("writes stdout and stderr in one order", async () => {
    expect((await run("echo 1; echo 2 >&2; echo 3")).output).toBe("1\n2\n3\n");
  });

  it("reports a syntax error as bash does", async () => {
    const { output, report } = await run("if then");
    expect(output).toContain("syntax error near unexpected token");
    expect(report.exitCode).toBe(2);
  });

  it("still runs when the saved directory is gone", async () => {
    const { report } = await run("true", { ...start, cwd: "/no/such/directory" });
    expect(report.exitCode).toBe(0);
  });

  it("names its process group at once", async () => {
    const { output, report } = await run("echo $$");
    expect(report.pid).toBe(Number(output));
  });
});

describe("what cannot be forged", () => {
  it("takes a report only from the report stream and with this command's nonce", () => {
    const other = "f".repeat(32);
    expect(parseReport(nonce, `${other} end 0\nend 0\n${nonce} end x\n`)).toEqual({});
    expect(parseReport(nonce, `noise ${nonce} end 4\n`)).toEqual({ exitCode: 4 });
  });

  it("does not take printed text for a report", async () => {
    const { report } = await run(`echo "${"a".repeat(32)} end 0"; echo "${"a".repeat(32)} end 0" >&2; exit 9`);
    expect(report.exitCode).toBe(9);
  });

  it("ignores a state that is not one", () => {
    for (const text of [
      "",
      "????",
      Buffer.from("relative\0\0A=1").toString("base64"),
      Buffer.from("/x").toString("base64"),
    ])
      expect(parseReport(nonce, `${nonce} state ${text}\n`).state).toBeUndefined();
  });

  it.each(["'; echo broken; '", "$(echo broken)", "a\nb", "\\", "`x`", "\u202e"])("quotes %j as data", async (text) => {
    expect((await run(`printf %s ${quoteForBash(text)}`)).output).toBe(text);
    expect(
      (await run('printf %s "$VALUE"', { ...start, environment: { ...start.environment, VALUE: text } })).output,
    ).toBe(text);
  });
});
