// Cleans up when this process can no longer do it (kill -9, a closed terminal): a shell that sleeps on a pipe whose other end
// only this process holds.
import { spawn } from "node:child_process";

/** `script` sees `args` as $1, $2, … and runs once this process is gone, unless it was called off. */
export function afterDeath(script: string, args: readonly string[]): { callOff(): void } {
  const shell = spawn("/bin/sh", ["-c", `read -r _ && exit 0\n${script}`, "markmill-test-watch", ...args], {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  shell.on("error", () => undefined);
  shell.stdin.on("error", () => undefined);
  shell.unref();
  if ("unref" in shell.stdin && typeof shell.stdin.unref === "function") shell.stdin.unref();
  return { callOff: () => shell.stdin.end("done\n") };
}
