/** Starts processes of ours that outlive their command. Their output goes to a file. */
import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../bin/markmill.mjs", import.meta.url));

export function spawnBackground(
  args: readonly string[],
  place: { readonly cwd: string; readonly log: string },
): number {
  mkdirSync(dirname(place.log), { recursive: true });
  const log = openSync(place.log, "a", 0o600);
  try {
    const child = spawn(process.execPath, [program, ...args], {
      cwd: place.cwd,
      detached: true,
      // npm's environment variables are removed, because they would end the process together with npx (pinned-node.mjs, N2).
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/.test(name))),
      stdio: ["ignore", log, log],
    });
    child.unref();
    return child.pid ?? 0;
  } finally {
    closeSync(log);
  }
}
