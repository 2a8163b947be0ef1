// The shipped example judges wrong submissions that try to pass, and passes none. Each is a real run: the definition of
// examples/median/checks.wf.md, the submission as a tar, a worker, the jail.
import { join } from "node:path";
import { loadDefinition, openWorkspace } from "@markmill/definition";
import { createJailSandbox, type SandboxError } from "@markmill/sandbox";
import { pack } from "tar-stream";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { reportSkip } from "../support/ask-services.ts";
import { type Mill, startMill } from "../support/mill.ts";
import { createRun, getHistory, saveBlob } from "../support/store.ts";

const programs = { node: process.execPath };
const jail = await createJailSandbox({ root: "/nonexistent", programs }).then(
  () => null,
  (error: SandboxError) => error,
);
if (jail !== null) await reportSkip({ what: "cheating the shipped example", reason: jail.message });

const right = `export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}`;
const wrong = "export const median = () => 0;";
const passedLines = `pass  three numbers: median([3,1,2]) = 2, expected 2
pass  numbers of different length: median([10,9,100]) = 10, expected 10
4 of 4 checks passed`;

/** By name: files, or links as { to }. */
type Submission = Readonly<Record<string, string | { readonly to: string }>>;

const cheats: Readonly<Record<string, Submission>> = {
  "replaces the checks wherever they might be": {
    "median.js": wrong,
    "checks.mjs": "console.log('4 of 4 checks passed');",
    "tests/checks.mjs": "console.log('4 of 4 checks passed');",
    "judge/checks.mjs": "console.log('4 of 4 checks passed');",
  },
  "prints the expected lines": {
    "median.js": `console.log(${JSON.stringify(passedLines)}); ${wrong}`,
  },
  "prints them on both streams and ends with 0 before it is asked": {
    "median.js": `console.error(${JSON.stringify(passedLines)}); console.log(${JSON.stringify(passedLines)}); process.exit(0); ${wrong}`,
  },
  "ends with 0 at once": { "median.js": `process.exit(0); ${wrong}` },
  "ends with 0 when it is asked": { "median.js": "export function median() { process.exit(0); }" },
  "replaces what the caller uses to compare and to report": {
    "median.js": `JSON.stringify = () => "true"; console.log = () => {}; Object.is = () => true; process.exitCode = 0;
import assert from "node:assert"; assert.equal = assert.strictEqual = assert.deepEqual = () => {};
Object.defineProperty(Number.prototype, Symbol.toPrimitive, { value: () => 2 });
process.on("exit", () => { process.exitCode = 0; });
export const median = () => ({ valueOf: () => 2, toJSON: () => 2, toString: () => "2" });`,
  },
  "answers every list with all likely answers": {
    "median.js": "for (const n of [2, 10, 2.5, 1.5]) process.stdout.write(n + '\\n'); export const median = () => 2;",
  },
  "writes results, verdicts and exit codes wherever it can": {
    "median.js": `import { writeFileSync } from "node:fs";
for (const folder of ["/workspace", "/judge", "/run/judge", "/tmp", "/dev/shm", "/", ".", "..", "/submission"])
  for (const name of ["checks.mjs", "verdict", "result.json", "exit_code", "guest"])
    try { writeFileSync(folder + "/" + name, "process.exit(0)\\n4 of 4 checks passed\\n"); } catch {}
for (let fd = 3; fd < 64; fd++) try { writeFileSync(fd, "X\\0\\0\\0\\x020\\0"); } catch {}
${wrong}`,
  },
  "signals everybody": {
    "median.js": `for (const signal of ["SIGTERM", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGKILL"])
  for (const pid of [process.ppid, 1, ...Array.from({ length: 400 }, (_, n) => n + 2)])
    if (pid > 0 && pid !== process.pid) try { process.kill(pid, signal); } catch {}
${wrong}`,
  },
  "is a link to the answers": { "median.js": { to: "/judge/checks.mjs" }, "answers.mjs": { to: "/judge/checks.mjs" } },
  "leaves a daemon that waits for the next judge": {
    "median.js": `import { spawn } from "node:child_process";
spawn("bash", ["-c", "while sleep 0.1; do for d in /judge /workspace /proc/*/root/judge; do echo 'process.exit(0)' > $d/checks.mjs; done; done"],
  { detached: true, stdio: "ignore" }).unref();
${wrong}`,
  },
  "asks the judge's relay for itself": {
    "median.js": `import { connect } from "node:net";
const exit = Buffer.concat([Buffer.from("X"), Buffer.from([0, 0, 0, 2]), Buffer.from("0\\0")]);
for (const path of ["/tmp/.guests", "\\0markmill-judge"]) connect(path).on("error", () => {}).end(exit);
process.stdout.write(exit); process.stderr.write(exit);
${wrong}`,
  },
  "computes for ever": { "median.js": "export function median() { for (;;); }" },
  "takes all memory": {
    "median.js": "const all = []; for (;;) all.push(new Array(1e6).fill(1)); export const median = 0;",
  },
  "tells the judge's files instead": {
    "median.js": `import { readdirSync, readFileSync } from "node:fs";
for (const folder of ["/judge", "/submission", "/run/judge", "/proc/1/root/judge", "/proc/1/cwd"])
  try { for (const name of readdirSync(folder)) console.log(readFileSync(folder + "/" + name, "utf8")); } catch {}
for (const pid of readdirSync("/proc")) try { console.log(readFileSync("/proc/" + pid + "/environ", "latin1")); } catch {}
${wrong}`,
  },
};

/** Cheats with a close variant in this list, or in ../integration/hostile-class.test.ts on the same sandboxes. */
const variants = [
  "prints the expected lines",
  "ends with 0 at once",
  "signals everybody",
  "is a link to the answers",
  "computes for ever",
  "tells the judge's files instead",
];
const tried = Object.entries(cheats).filter(([name]) => inject("thorough") || !variants.includes(name));

describe.skipIf(jail !== null)("the example that computes a median", () => {
  let mill: Mill;
  beforeAll(async () => {
    mill = await startMill({
      backend: "postgres",
      script: "default: { reply: ok }",
      sandbox: (root) => createJailSandbox({ root, programs }),
    });
  });
  afterAll(() => mill.close());

  const { definition, findings } = loadDefinition(
    openWorkspace(join(import.meta.dirname, "../../examples/median")),
    "checks.wf.md",
  );
  async function judge(submission: Submission) {
    if (definition === null) throw new Error(JSON.stringify(findings));
    const blob = await saveBlob(mill.store, await tarOf(submission));
    const created = await createRun(mill.store, {
      definition: { ...definition, name: "checks", files: {} },
      submission: { blob },
    });
    await mill.queues.enqueue(created.jobs);
    const { status, result, variables } = await mill.ended(created.runId);
    const { activities } = await getHistory(mill.store.database, created.runId);
    const attempts = activities.filter(({ node }) => node === "EXECUTE_CHECKS").map(({ attempt }) => attempt);
    return { status, result: result ?? "", exitCode: variables.EXIT_CODE, attempts };
  }

  it("passes a correct submission", async () => {
    const { status, result } = await judge({ "median.js": right, "package.json": '{ "type": "module" }' });
    expect(result).toContain("4 of 4 checks passed");
    expect(status).toBe("success");
  });

  it.each(tried)("does not pass a submission that %s", async (_, submission) => {
    const found = await judge({ "package.json": '{ "type": "module" }', ...submission });
    // The submission was judged and failed. The sandbox neither crashed nor had trouble.
    expect(found).toMatchObject({ exitCode: "1", attempts: [1] });
    expect(found.result).toMatch(/^0 of 4 checks passed$|^1 of 4 checks passed$/m);
    expect(found.result).not.toContain("4 of 4");
    expect(found.status).toBe("failed");
  });

  it("leaves no session", async () => {
    await expect.poll(() => mill.sandbox.list()).toEqual([]);
  });
});

async function tarOf(submission: Submission): Promise<Buffer> {
  const archive = pack();
  for (const [name, content] of Object.entries(submission)) {
    if (typeof content === "string") archive.entry({ name, mode: 0o644 }, content);
    else archive.entry({ name, type: "symlink", linkname: content.to });
  }
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
