// A process that runs commands of markmill one after another (resident-markmill.ts). What a process of its own would give a command, it
// gets here: a working directory, an environment, words, streams and an exit code; and `main.ts` anew, since running it is importing it.
import { pathToFileURL } from "node:url";

export interface Wanted {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly args: readonly string[];
}

const main = pathToFileURL(process.argv[2] ?? "");
const kept = { stdout: "", stderr: "" };
for (const name of ["stdout", "stderr"] as const) {
  process[name].write = (text: unknown, ...more: unknown[]): boolean => {
    kept[name] += typeof text === "string" ? text : Buffer.from(text as Uint8Array).toString("utf8");
    const done = more.at(-1);
    if (typeof done === "function") process.nextTick(done);
    return true;
  };
}

let count = 0;
process.on("message", async ({ cwd, env, args }: Wanted) => {
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  process.argv.splice(1, process.argv.length, main.pathname, ...args);
  process.stdout.removeAllListeners("error");
  process.exitCode = undefined;
  Object.assign(kept, { stdout: "", stderr: "" });
  count += 1;
  await import(`${main.href}?${count}`);
  process.send?.({ code: process.exitCode ?? 0, signal: null, ...kept });
});
process.on("disconnect", () => process.exit(0));
process.send?.("ready");
