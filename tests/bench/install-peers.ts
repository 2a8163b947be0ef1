/** The peers' packages: installed when a peer is first measured, and again when their lock file has changed. */
import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const directory = fileURLToPath(new URL(".", import.meta.url));

export function installPeers(progress: (line: string) => void): void {
  const lock = changed(`${directory}package-lock.json`);
  if (changed(`${directory}node_modules/.package-lock.json`) >= lock) return;
  progress("installing the peers (npm ci --prefix tests/bench)");
  const { status } = spawnSync("npm", ["ci", "--prefix", directory], { stdio: ["ignore", 2, 2] });
  if (status !== 0) throw new Error("The peers could not be installed. --only markmill,markmill-postgres needs none.");
}

function changed(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
