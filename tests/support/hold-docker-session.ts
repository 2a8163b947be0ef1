// A second worker: opens a session (argument: host, image, session id) and runs one command (fourth argument) in it. Prints
// one line of JSON when the session is open and one with the outcome.
import { createDockerSandbox } from "../../packages/sandbox/src/docker/docker-sandbox.ts";
import { sessionSpec } from "./session-spec.ts";

const [host = "", image = "", id = "", command = ""] = process.argv.slice(2);
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);

const sandbox = await createDockerSandbox({ hosts: [host], images: [image] });
const session = await sandbox.open(sessionSpec(id));
say({ attached: session.attached });
const { exitCode, output } = await session.run({ kind: "shell", text: command });
say({ exitCode, output });
await sandbox.close();
