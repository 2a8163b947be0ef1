// A worker tries its jail before it trusts it, which takes ten seconds of processor time, and keeps the verdict in its home for a day. The
// homes of tests are new: here the jail is tried once for a run, and what it passed is noted in each home that asks for it.
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createJailSandbox } from "../../packages/sandbox/src/jail/jail-sandbox.ts";
import { proofKey } from "../../packages/sandbox/src/prove-sandbox.ts";
import { markmillVersion } from "../../packages/stack/src/version.ts";
import { compileCache } from "./compile-cache.ts";

export interface JailSelfTest {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** By the command, in a directory that has room for a home. */
export async function tryJail(program: string, directory: string): Promise<JailSelfTest> {
  const { PATH = "", HOME = "" } = process.env;
  const args = [program, "sandbox", "self-test", "--sandbox", "jail", "--json"];
  const env = { PATH, HOME, ...compileCache, MARKMILL_HOME: "jail-home" };
  return await new Promise((resolve) => {
    const child = execFile(process.execPath, args, { cwd: directory, env }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? 1, stdout, stderr }),
    );
  });
}

/** Without a note, the first worker of the home tries the jail itself. */
export async function noteSelfTest({ code }: JailSelfTest, home: string): Promise<void> {
  if (code !== 0) return;
  const jail = await createJailSandbox({ root: join(home, "sessions", "jail"), programs: { node: process.execPath } });
  const key = await proofKey(jail, { version: markmillVersion() });
  await jail.close();
  await mkdir(home, { recursive: true, mode: 0o700 });
  await writeFile(join(home, "jail-self-test.json"), JSON.stringify({ [key]: Date.now() }), { mode: 0o600 });
}
