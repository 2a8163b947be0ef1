/** Unchanged Gradescope autograders as EXECUTE in the judge: from a folder or a zip, in several languages, and their errors. */
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadDefinition } from "@markmill/definition";
import type { ReadResults } from "@markmill/grading";
import { createJailSandbox, type SandboxError, type SessionFile } from "@markmill/sandbox";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeZip } from "../../packages/grading/src/submission/testing-zip.ts";
import { defaultLimits } from "../../packages/sandbox/src/limits.ts";
import type { Claimed } from "../../packages/store/src/machine.ts";
import { createJudgeKeeper, type JudgeKeeper } from "../../packages/worker/src/judge-session.ts";
import { createPerformer, type PerformerParts } from "../../packages/worker/src/perform.ts";
import { reportSkip } from "../support/ask-services.ts";
import { workflow } from "../support/mill.ts";

const jail = await createJailSandbox({ root: "/nonexistent" }).then(
  () => null,
  (error: SandboxError) => error,
);
if (jail !== null) await reportSkip({ what: "autograders in the jail", reason: jail.message });

const fixtures = join(import.meta.dirname, "../fixtures/autograders");
const chart = `START --> EXECUTE_TESTS["Execute: autograder"]\nEXECUTE_TESTS@{ session: judge }`;

function filesOf(name: string): Record<string, string> {
  const folder = join(fixtures, name);
  return Object.fromEntries(readdirSync(folder).map((file) => [file, readFileSync(join(folder, file), "utf8")]));
}

describe.skipIf(jail !== null)("an autograder made for Gradescope", () => {
  let root = "";
  let judges: JudgeKeeper;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "markmill-autograder-"));
    judges = createJudgeKeeper({
      sandbox: await createJailSandbox({ root }),
      ceiling: { ...defaultLimits, diskBytes: 64 * 1024 * 1024 },
      images: [],
      app: "markmill-test",
      worker: "w",
    });
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  async function graded(
    autograder: Readonly<Record<string, string>> | Buffer,
    submission: Readonly<Record<string, string>>,
    more = "",
  ) {
    const zip = Buffer.isBuffer(autograder);
    const from = zip ? "hw.zip" : "hw";
    const files = new Map<string, Buffer>([
      ["a.md", Buffer.from(workflow(chart, {}, `---\njudge: { autograder: ${from}${more} }\n---\n\n`))],
      ...(zip
        ? ([["hw.zip", autograder]] as const)
        : Object.entries(autograder).map(([name, text]) => [`hw/${name}`, Buffer.from(text)] as const)),
    ]);
    const { definition, findings } = loadDefinition(
      { read: (path) => files.get(path), list: () => files.keys() },
      "a.md",
    );
    if (definition === null) throw new Error(JSON.stringify(findings));
    const handedIn: SessionFile[] = Object.entries(submission).map(([path, text]) => ({
      path,
      mode: 0o644,
      bytes: Buffer.from(text),
    }));
    const parts = { judges, sessions: null, submission: async () => ({ kind: "list", files: handedIn }) };
    const work = { kind: "execute", source: "literal", text: "autograder", session: "judge" };
    const claimed = {
      run: { rootId: "r", program: definition.programs["a.md"] },
      activity: { work },
      interrupted: false,
    };
    const performed = await createPerformer(parts as unknown as PerformerParts).perform(
      claimed as unknown as Claimed,
      "job",
      new AbortController().signal,
    );
    if (performed.did !== "succeed" || performed.outcome.kind !== "executed") return { performed, tests: null };
    const { tests, notes = [], text } = performed.outcome;
    return { performed, tests: tests === undefined ? null : (JSON.parse(tests) as ReadResults), notes, text };
  }

  const sharesOf = (tests: ReadResults | null) =>
    tests?.is === "read" ? tests.tests.map(({ name, share, weight }) => [name, share, weight]) : tests;

  it("runs from a folder, in shell, and finds setup, cases, submission and metadata at their places", async () => {
    const { tests, notes } = await graded(filesOf("shell"), { "add.sh": "echo $(($1 + $2))" });
    expect(sharesOf(tests)).toEqual([
      ["5 plus 7", 1, 2],
      ["1 plus 2", 1, 2],
      ["10 plus -4", 1, 2],
      ["metadata", 1, 0],
    ]);
    expect(tests).toMatchObject({
      tests: [{ visibility: "after_published", message: "said 12" }, {}, {}, { visibility: "hidden" }],
    });
    expect(notes?.[0]).toContain("cannot be verified");
  });

  it("runs from a zip, in JavaScript, and a score above the maximum is extra credit", async () => {
    const zip = makeZip([
      ...Object.entries(filesOf("node")).map(([name, bytes]) => ({ name: `hw1/${name}`, bytes })),
      { name: "__MACOSX/hw1/._grade.mjs", bytes: "x" },
    ]);
    const { tests, notes } = await graded(zip, { "double.mjs": "export const double = (n) => n * 2;" });
    expect(sharesOf(tests)).toEqual([
      ["double 2", 1, 3],
      ["double 0", 1, 2],
      ["double -3", 1, 3],
    ]);
    expect(tests).toMatchObject({ tests: [{ visibility: "visible", message: "**4**" }, {}, { visibility: "hidden" }] });
    expect(notes?.join()).toContain("double 0: 3 of 2 points is extra credit");
  });

  it("runs in Python", async () => {
    const { tests } = await graded(filesOf("python"), { "essay.txt": "three words only" });
    expect(sharesOf(tests)).toEqual([
      ["long enough", 0, 1],
      ["not too long", 1, 1],
    ]);
  });

  it.each([
    ["no results.json", "true", "no results/results.json"],
    ["no JSON", "echo '{' >results/results.json", "not valid JSON"],
    ["neither score nor tests", `echo '{"output": "-"}' >results/results.json`, "neither a score nor tests"],
    ["a pipe for results", "mkfifo results/results.json", "no results/results.json"],
    ["results without end", "yes >results/results.json", ""],
  ])("causes a grader error instead of zero points: %s", async (_, script, why) => {
    const { tests } = await graded({ run_autograder: `#!/bin/bash\n${script}\n` }, { a: "" }, ", wall: 20s");
    expect(tests).toMatchObject({ is: "unusable", why: expect.stringContaining(why) });
  });

  it("may give one score for the whole submission", async () => {
    const { tests, notes } = await graded(
      { run_autograder: `#!/bin/bash\necho '{"score": 3}' >results/results.json\n` },
      { a: "" },
    );
    expect(tests).toMatchObject({ is: "read", tests: [], total: { score: 3, most: null, sum: null } });
    expect(notes?.join()).toContain("As in Gradescope, the score counts.");
  });

  it("is not run when its setup fails", async () => {
    const files = { ...filesOf("shell"), "setup.sh": "#!/bin/bash\nexit 7\n" };
    const { tests, text } = await graded(files, { "add.sh": "echo 0" });
    expect(tests).toMatchObject({ is: "unusable", why: expect.stringContaining("setup.sh failed") });
    expect(text).toContain("setup.sh ended with exit code 7");
  });

  it("is stopped by the judge's time limit", async () => {
    const { tests } = await graded({ run_autograder: "#!/bin/bash\nsleep 60\n" }, { a: "" }, ", wall: 2s");
    expect(tests).toMatchObject({ is: "unusable", why: expect.stringContaining("too long") });
  });

  it("holds the run with a reason if it is an archive bomb or contains run_autograder too deep", async () => {
    const invalid = { did: "fail", next: "hold", failure: { code: "SANDBOX_AUTOGRADER_INVALID" } };
    const deep = makeZip([{ name: "a/b/run_autograder", bytes: "x" }]);
    expect((await graded(deep, { a: "" })).performed).toMatchObject(invalid);
    const bomb = makeZip([
      { name: "run_autograder", bytes: "x" },
      { name: "big", bytes: Buffer.alloc(30 * 1024 * 1024) },
    ]);
    expect((await graded(bomb, { a: "" })).performed).toMatchObject(invalid);
  });

  it("that holds no run_autograder, or is no zip, is an error of the workflow", async () => {
    for (const bytes of [makeZip([{ name: "a.txt", bytes: "x" }]), Buffer.from("run_autograder")])
      await expect(graded(bytes, { a: "" })).rejects.toThrow("JUDGE_AUTOGRADER");
  });
});
