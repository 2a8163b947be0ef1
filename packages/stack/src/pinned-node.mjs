// Runs on any Node from 18 on, only to hand over to the Node 24 that the workspace pins (npm package `node`).
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";

/** `main` is imported here where this Node will do; else the pinned one is started with `program` and the same words. */
export async function onPinnedNode(program, main) {
  const major = Number(process.versions.node.split(".")[0]);
  if (major >= 24) {
    // Keeps the compiled form of the TypeScript files: `validate` starts in 0.25 s of processor time instead of 0.6 s.
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
  const child = spawn(pinned, [fileURLToPath(program), ...process.argv.slice(2)], { stdio: "inherit" });
  // A terminal's Ctrl-C reaches the child by itself: handed on, it would count as the second one.
  process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGKILL" ? 137 : 1)));
}
