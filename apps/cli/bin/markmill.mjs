#!/usr/bin/env node
// Runs on any Node from 18 on, only to hand over to the Node 24 that the workspace pins (npm package `node`).
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const major = Number(process.versions.node.split(".")[0]);
if (major >= 24) {
  await import("../src/main.ts");
} else {
  const pinned = fileURLToPath(new URL("../../../node_modules/node/bin/node", import.meta.url));
  if (!existsSync(pinned)) {
    console.error(
      `markmill needs Node 24; this is Node ${process.versions.node}, and the pinned runtime is not installed.\n` +
        "fix: npm ci --ignore-scripts=false   (or put Node 24 first in PATH)",
    );
    process.exit(2);
  }
  const result = spawnSync(pinned, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: "inherit" });
  process.exit(result.status ?? 1);
}
