/** The command `cases` of the judge, and the tests on the language pages of the documentation, in the jail. */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createJailSandbox, type SandboxError } from "@markmill/sandbox";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openJudge } from "../../packages/sandbox/src/judge/judge-session.ts";
import type { Sandbox } from "../../packages/sandbox/src/port.ts";
import { reportSkip } from "../support/ask-services.ts";
import { programsMissing } from "../support/installed-programs.ts";
import { judgeSpec } from "../support/judge-spec.ts";

const jail = await createJailSandbox({ root: "/nonexistent" }).then(
  () => null,
  (error: SandboxError) => error,
);
if (jail !== null) await reportSkip({ what: "the command `cases` in the jail", reason: jail.message });

type Texts = Readonly<Record<string, string>>;
const filesOf = (texts: Texts) =>
  Object.entries(texts).map(([path, text]) => ({ path, mode: 0o644, bytes: Buffer.from(text, "latin1") }));

const without = {
  python: await programsMissing("the Python page of the documentation", ["python3"]),
  javascript: await programsMissing("the JavaScript page of the documentation", ["node"]),
  c: await programsMissing("the C page of the documentation", ["gcc"]),
  java: await programsMissing("the Java page of the documentation", ["javac", "java"]),
} as const;

const page = (language: string) =>
  readFileSync(join(import.meta.dirname, `../../docs/languages/${language}.md`), "utf8");

describe.skipIf(jail !== null)("the cases command of the judge", () => {
  let root = "";
  let sandbox: Sandbox;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "markmill-cases-"));
    sandbox = await createJailSandbox({ root });
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  /** `tests`: null if no results were written. */
  async function judged(command: string, submission: Texts, teacher: Texts) {
    const session = await openJudge(
      sandbox,
      judgeSpec({ submission: { kind: "list", files: filesOf(submission) }, files: filesOf(teacher) }),
    );
    try {
      const { outcome, results, nonce } = await session.decide(
        { kind: "shell", text: command },
        { maxResultBytes: 1024 * 1024 },
      );
      const read = results?.kind === "read" ? Buffer.from(results.bytes).toString("utf8") : null;
      const written = read === null ? null : (JSON.parse(read) as { nonce: string; tests: Tested[] });
      return {
        exitCode: outcome.exitCode,
        output: outcome.output,
        signed: written?.nonce === nonce,
        tests: written?.tests.map(({ name, status, message }) => [name, status, message]) ?? null,
        visible: written?.tests.filter(({ visibility }) => visibility === "visible").map(({ name }) => name) ?? [],
      };
    } finally {
      await session.end();
    }
  }
  interface Tested {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly visibility: string;
  }

  it("runs each case once, with input, arguments and expected exit code, and signs the results", async () => {
    const program = 'read -r n; echo "$((n * 2)) $*  "; echo; [ "$n" != 0 ] || { echo "zero!" >&2; exit 4; }\n';
    const { output, ...rest } = await judged(
      "cases --visible 'examples/*' -- bash double.sh",
      { "double.sh": program },
      {
        "cases/examples/one.in": "21\n",
        "cases/examples/one.out": "42\n",
        "cases/hidden/arguments.in": "1\n",
        "cases/hidden/arguments.args": "a b\nc\n",
        "cases/hidden/arguments.out": "2 a b c\n",
        "cases/hidden/wrong.in": "2\n",
        "cases/hidden/wrong.out": "5\n",
        "cases/hidden/zero.in": "0\n",
        "cases/hidden/zero.out": "0\n",
        "cases/hidden/zero.exit": "4\n",
        "cases/hidden/zero2.in": "0\n",
        "cases/hidden/zero2.out": "0\n",
      },
    );
    expect(rest).toEqual({
      exitCode: 1,
      signed: true,
      tests: [
        ["examples/one", "passed", ""],
        ["hidden/arguments", "passed", ""],
        ["hidden/wrong", "failed", 'line 1: expected "5", it printed "4"'],
        ["hidden/zero", "passed", ""],
        ["hidden/zero2", "failed", "it ended with exit code 4 instead of 0: zero!"],
      ],
      visible: ["examples/one"],
    });
    expect(output).toContain("failed  hidden/wrong");
    expect(output).not.toContain("42");
  });

  it("builds once, with the teacher's files in place of the student's files of the same path", async () => {
    const { tests, exitCode } = await judged(
      "cases --with /judge/main --build 'cat main.sh part.sh > program; chmod +x program' -- ./program",
      { "part.sh": "say six\n", "main.sh/in-the-way": "echo forged\n" },
      { "main/main.sh": '#!/bin/bash\nsay() { echo "it says $1"; }\n', "cases/six.out": "it says six" },
    );
    expect({ tests, exitCode }).toEqual({ tests: [["six", "passed", ""]], exitCode: 0 });
  });

  it("fails every test of a submission that does not build, with the output of the build", async () => {
    const { tests, exitCode } = await judged(
      "cases --build 'echo \"line 3: expected ;\" >&2; exit 1' -- ./program",
      { "a.c": "x" },
      { "cases/one.out": "1", "cases/two.out": "2" },
    );
    const message = "it does not build: line 3: expected ;\n";
    expect({ tests, exitCode }).toEqual({
      tests: [
        ["one", "failed", message],
        ["two", "failed", message],
      ],
      exitCode: 1,
    });
  });

  it.each([
    ["an endless loop", "while :; do :; done", "it did not end within 0.5 s"],
    ["a signal", "kill -SEGV $$", "it ended with signal 11 (segmentation fault)"],
    ["the exit code of a wrong request", "exit 125", "it ended with exit code 125 instead of 0"],
    ["nothing printed", ":", "it printed nothing"],
    ["bytes that are not text", "printf 'a\\377\\001\"\\\\'", 'line 1: expected "x", it printed "a?\u0001"\\"'],
    ["results of its own", 'echo "{}" >"$MARKMILL_RESULTS"; echo y', 'line 1: expected "x", it printed "y"'],
    ["a line too many", "echo x; echo y", 'line 2: nothing was expected, it printed "y"'],
  ])("counts as a failed test of the student: %s", async (_, program, message) => {
    const { tests, signed } = await judged(
      "cases --time 0.5 -- bash program.sh",
      { "program.sh": program },
      { "cases/case.out": "x" },
    );
    expect({ tests, signed }).toEqual({ tests: [["case", "failed", message]], signed: true });
  });

  it.each([
    ["lines", "a b  \r\nc\n\n\n", "a b\nc", true],
    ["lines", "a  b", "a b", false],
    ["exact", "a\n", "a", false],
    ["words", " a\n\nb ", "a b", true],
    ["words", "1.0", "1", false],
    ["numbers", "x 0.30000000000000004", "x 0.3", true],
    ["numbers", "1e3 nan", "1000 nan", true],
    ["numbers", "0.31", "0.3", false],
    ["numbers", "1 2 3", "1 2", false],
  ])("compares with --compare %s: %j for %j passes: %j", async (how, printed, expected, passes) => {
    const { exitCode } = await judged(
      `cases --compare ${how} -- cat text`,
      { text: printed },
      { "cases/case.out": expected },
    );
    expect(exitCode).toBe(passes ? 0 : 1);
  });

  it.each([
    ["cases -- bash a.sh", { "cases/one.in": "1" }, "one.in has no one.out beside it"],
    ["cases -- bash a.sh", { "other/one.out": "1" }, "cannot be read"],
    ["cases --dir /judge/other -- bash a.sh", { "other/note.txt": "1" }, "there is no NAME.out below /judge/other"],
    ["cases -- no-such-interpreter a", { "cases/a.out": "" }, "no-such-interpreter is not installed in this sandbox"],
    ["cases --build 'nocc -o a a.c' -- ./a", { "cases/a.out": "" }, "nocc is not installed in this sandbox"],
    ["cases --tiem 3 -- bash a.sh", { "cases/a.out": "" }, "unknown option --tiem"],
    ["cases --time soon -- bash a.sh", { "cases/a.out": "" }, "--time is a number above 0, not soon"],
    ["cases --compare roughly -- bash a.sh", { "cases/a.out": "" }, "--compare is lines, exact, words or numbers"],
    ["cases", { "cases/a.out": "" }, "name a program"],
  ])("writes no results after wrong usage by the teacher: %s", async (command, teacher, says) => {
    const { tests, exitCode, output } = await judged(command, { "a.sh": "echo 1" }, teacher as unknown as Texts);
    expect({ tests, exitCode }).toEqual({ tests: null, exitCode: 2 });
    expect(output).toContain(says);
  });

  it.for([
    [
      "python",
      "python",
      "python3 /judge/tests.py",
      "square.py",
      "def square(n):\n    print('noise')\n    return n * n if n > 0 else 0\n",
    ],
    [
      "javascript",
      "js",
      "node /judge/tests.mjs",
      "square.js",
      "export const square = (n) => (console.log('noise'), n > 0 ? n * n : 0);\n",
    ],
  ] as const)("runs the test program of the %s page as written", async (row, { skip }) => {
    const [language, fence, command, file, program] = row;
    skip(without[language], "reported above");
    const [, code = ""] = new RegExp(`\`\`\`${fence}\\n([^]*?)\`\`\``).exec(page(language)) ?? [];
    const name = command.slice(command.lastIndexOf("/") + 1);
    const { tests, signed } = await judged(
      command,
      { [file]: program, "package.json": '{"type":"module"}' },
      { [name]: code },
    );
    expect({ tests, signed }).toEqual({
      tests: [
        ["square/0", "passed", undefined],
        ["square/1", "failed", undefined],
      ],
      signed: true,
    });
  });

  it.for([
    [
      "c",
      {
        "a.c":
          '#include <stdio.h>\n#include <math.h>\nint main(void) { double x; scanf("%lf", &x); printf("%g\\n", sqrt(x)); }\n',
      },
    ],
    [
      "java",
      {
        "Main.java":
          "public class Main { public static void main(String[] a) { System.out.println((int) Math.sqrt(new java.util.Scanner(System.in).nextInt())); } }\n",
      },
    ],
  ] as const)("runs the second command of the %s page as written", async ([language, submission], { skip }) => {
    skip(without[language], "reported above");
    const commands = [...page(language).matchAll(/```text\n(.+)\n```/g)].map(([, command]) => command ?? "");
    const { tests } = await judged(commands[1] ?? "", submission as unknown as Texts, {
      "cases/roots/nine.in": "9",
      "cases/roots/nine.out": "3",
    });
    expect(tests).toEqual([["roots/nine", "passed", ""]]);
  });
});
