// Runs initdb and the probes, as another user if requested. They get their own environment, so that PGDATA, PGPORT or a locale of the
// caller have no effect, and English messages for the translation of errors.
import { spawn } from "node:child_process";
import { open } from "node:fs/promises";
import type { ServerUser } from "./choose-server-user.ts";

export const programEnvironment: Record<string, string> = { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };

export type ProgramOutcome = { readonly ok: boolean; readonly output: string };

/** Never throws: a program that cannot be executed (EACCES, ENOENT) is an ordinary outcome. */
export async function runProgram(
  file: string,
  args: readonly string[],
  options: { readonly user: ServerUser; readonly timeoutMs: number; readonly heldDirectory?: string },
): Promise<ProgramOutcome> {
  const held = options.heldDirectory === undefined ? undefined : await open(options.heldDirectory, "r");
  try {
    return await new Promise((resolve) => {
      let output = "";
      const child = spawn(file, args, {
        ...spawnIdentity(options.user),
        cwd: "/",
        env: programEnvironment,
        stdio: ["ignore", "pipe", "pipe", held?.fd ?? "ignore"],
        timeout: options.timeoutMs,
        killSignal: "SIGKILL",
      });
      const gather = (chunk: Buffer) => {
        output = (output + chunk.toString("utf8")).slice(-20_000);
      };
      child.stdout?.on("data", gather);
      child.stderr?.on("data", gather);
      child.once("error", (error) => resolve({ ok: false, output: `${output}${error.message}` }));
      child.once("close", (code, signal) => {
        const ending = signal === null ? "" : `\nended by ${signal}`;
        resolve({ ok: code === 0, output: `${output}${ending}` });
      });
    });
  } finally {
    await held?.close();
  }
}

export function spawnIdentity(user: ServerUser): { uid?: number; gid?: number } {
  return user.kind === "self" ? {} : { uid: user.uid, gid: user.gid };
}
