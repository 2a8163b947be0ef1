// A second worker process for the jail tests. Arguments: root directory, then
//   run <session id> <command> [program]
//                                  opens the session, with the program shown as `lent`, runs the command, prints one line when it is open
//                                  and one at the end
//   hold <session id>              opens the session, prints one line, and waits to be killed
//   self-test                      prints the verdict and how the limits are enforced
import { createJailSandbox } from "../../packages/sandbox/src/jail/jail-sandbox.ts";
import { judgeSelfTest, runSelfTest } from "../../packages/sandbox/src/self-test.ts";
import { sessionSpec } from "./session-spec.ts";

const [root = "", act = "", id = "", command = "", program] = process.argv.slice(2);
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);

const sandbox = await createJailSandbox({ root, ...(program === undefined ? {} : { programs: { lent: program } }) });
if (act === "self-test") {
  const report = await runSelfTest(sandbox);
  say({ ...judgeSelfTest(report), probes: report.probes.length, left: await sandbox.list(), ...sandbox.describe() });
} else {
  const session = await sandbox.open(sessionSpec(id));
  say({ attached: session.attached });
  if (act === "hold") await new Promise(() => setInterval(() => {}, 60_000));
  const { exitCode, output } = await session.run({ kind: "shell", text: command });
  say({ exitCode, output });
}
