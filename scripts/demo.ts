// `npm run demo`: reviews a small submission on the embedded stack, with a scripted model and commands in the sandbox.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { readProcessConfig } from "@markmill/config";
import { openSandbox } from "../apps/cli/src/stack/open-sandbox.ts";

const root = join(import.meta.dirname, "..");
const program = join(root, "apps/cli/bin/markmill.mjs");
const args = [
  ...["run", "examples/median/review.wf.md", "STUDENT=Ada"],
  ...["--submission", "examples/median/submission", "--script", "examples/median/model.yaml"],
  ...((await hasSandbox()) ? [] : ["--sandbox", "none"]),
];

console.error(`A tutor reviews Ada's median.js. The model is scripted, so this costs nothing; the commands are real.

$ npx markmill ${args.join(" ")}
`);
// A terminal's Ctrl-C is for the run, which then says how it is continued.
process.on("SIGINT", () => undefined);
const [status] = await once(spawn(process.execPath, [program, ...args], { cwd: root, stdio: "inherit" }), "exit");
if (status === 0) {
  console.error(`
What to try next:
  npx markmill history last
      every prompt, reply and command of this run
  npx markmill show examples/median/review.wf.md
      the workflow it followed: a Markdown file with a flowchart
  npx markmill run examples/first/greet.wf.md CLASS='the new class' --script examples/first/model.yaml
      a workflow small enough to change`);
} else if (status !== 130) {
  console.error("\nThe demo did not succeed. 'npx markmill doctor' checks this machine and says what to fix.");
}
process.exitCode = status ?? 1;

/** Without one, the demo's own commands, which are part of this repository, run on the machine itself, and it says so. */
async function hasSandbox(): Promise<boolean> {
  const reading = readProcessConfig(join(root, ".env"));
  if (!reading.ok) return true;
  try {
    await (await openSandbox(reading.config.sandbox.kind, reading.config, root, () => undefined)).close();
    return true;
  } catch (error) {
    console.error(`This machine has no sandbox: ${error instanceof Error ? error.message : error}\n`);
    return false;
  }
}
