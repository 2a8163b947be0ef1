// `npm run demo`: grades the example class on the embedded stack, with a scripted model and hidden tests in the sandbox.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { readProcessConfig } from "@markmill/config";
import { openSandbox } from "@markmill/stack";

const root = join(import.meta.dirname, "..");
const program = join(root, "apps/cli/bin/markmill.mjs");
const sandboxed = await hasSandbox();
const args = sandboxed
  ? ["grade", "examples/class-roman", "--script", "examples/class-roman/model.yaml", "--similarity"]
  : ["run", "examples/first/greet.wf.md", "CLASS=the new class", "--script", "examples/first/model.yaml"];

console.error(`${
  sandboxed
    ? "Grading a class of 26 students: hidden tests run in the sandbox, and a scripted model grades, so this costs nothing. It takes a minute or two."
    : "The example class needs a sandbox, which this machine lacks. The demo runs a smaller example with a scripted model. 'npx markmill doctor' shows what to do."
}

$ npx markmill ${args.join(" ")}
`);
// A terminal's Ctrl-C is for the run, which then says how it is continued.
process.on("SIGINT", () => undefined);
const [status] = await once(
  spawn(process.execPath, [program, ...args], {
    cwd: root,
    stdio: "inherit",
  }),
  "exit",
);
// Not everybody can be graded: a zip bomb and a missing file are part of the class, and attacks wait for a person.
const passed = status === 0 || (sandboxed && status === 3);
if (passed && sandboxed) {
  console.error(`
What to try next:
  npx markmill review --list
      list submissions that need a human decision, with the reasons
  npx markmill release
      release the grades and write the students' reports
  npx markmill export --to canvas --template examples/class-roman/roster.csv --check
      check which released grades the gradebook would import
  npx markmill show examples/class-roman/grade.wf.md
      show the workflow of each submission: a Markdown file with a flowchart`);
} else if (passed) {
  console.error(`
What to try next:
  npx markmill history last
      show show every prompt, reply and command of this run
  npx markmill show examples/median/review.wf.md
      show a longer workflow: a Markdown file with a flowchart
  npx markmill run examples/first/greet.wf.md CLASS='the new class' --script examples/first/model.yaml
      run a workflow that is small enough to change`);
} else if (status !== 130) {
  console.error("\nThe demo did not succeed. 'npx markmill doctor' checks this machine and says what to fix.");
}
process.exitCode = passed ? 0 : (status ?? 1);

async function hasSandbox(): Promise<boolean> {
  const reading = readProcessConfig(root);
  if (!reading.ok) return true;
  try {
    await (await openSandbox(reading.config.sandbox.kind, reading.config, root, () => undefined)).close();
    return true;
  } catch (error) {
    console.error(`This machine has no sandbox: ${error instanceof Error ? error.message : error}\n`);
    return false;
  }
}
