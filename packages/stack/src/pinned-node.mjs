// Starts the Node 24 that the workspace pins (npm package `node`) from any Node since version 18.
//
// N1 The working process ends together with the process that was started: a kill -9 of the launcher, or of npx, leaves no process
//    running. The launcher holds one end of a pipe, which the kernel closes when the launcher ends. npx holds none, so its end is
//    detected by a changed parent process.
// N2 Background processes (background.ts of the command line) are started without these marks and outlive their parent.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import module from "node:module";
import { Socket } from "node:net";
import { fileURLToPath } from "node:url";

const launcherPipe = 3;
const launched = "MARKMILL_LAUNCHED";
const parentCheckMs = 500;

/** Imports `main` here if this Node is recent enough. Otherwise starts `program` with the pinned Node and the same arguments. */
export async function onPinnedNode(program, main) {
  const major = Number(process.versions.node.split(".")[0]);
  if (major >= 24) {
    endWithLauncher();
    endWithNpx(() => process.kill(process.pid, "SIGKILL"));
    // Caches the compiled TypeScript files: `validate` starts in 0.25 s of processor time instead of 0.6 s.
    module.enableCompileCache();
    await main();
    return;
  }
  const pinned = fileURLToPath(new URL("../../../node_modules/node/bin/node", import.meta.url));
  if (!existsSync(pinned)) {
    console.error(
      `markmill needs Node 24; this is Node ${process.versions.node}, and the pinned runtime is not installed.\n` +
        "fix: npm ci --ignore-scripts=false   (or put Node 24 first in PATH)",
    );
    process.exit(2);
  }
  const child = spawn(pinned, [fileURLToPath(program), ...process.argv.slice(2)], {
    stdio: ["inherit", "inherit", "inherit", "pipe"],
    env: { ...process.env, [launched]: String(process.pid) },
  });
  child.stdio[launcherPipe].on("error", () => undefined);
  endWithNpx(() => {
    child.kill("SIGKILL");
    process.kill(process.pid, "SIGKILL");
  });
  // A terminal sends Ctrl-C to the child as well. If it were passed on, it would count as the second one.
  process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGKILL" ? 137 : 1)));
}

/** The mark contains the launcher's pid. A process further down that inherits it ignores it. */
function endWithLauncher() {
  const by = process.env[launched];
  delete process.env[launched];
  if (by !== String(process.ppid)) return;
  const pipe = new Socket({ fd: launcherPipe, readable: true, writable: false });
  pipe.on("error", () => undefined);
  pipe.on("close", () => process.kill(process.pid, "SIGKILL"));
  pipe.resume();
  pipe.unref();
}

function endWithNpx(end) {
  const { npm_command: command, npm_lifecycle_event: script } = process.env;
  if (command !== "exec" && script !== "markmill" && script !== "demo") return;
  const parent = process.ppid;
  setInterval(() => process.ppid === parent || end(), parentCheckMs).unref();
}
