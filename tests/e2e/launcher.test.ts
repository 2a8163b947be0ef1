// The working process ends with the process that was started, also if that process is killed and cannot clean up.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { identifyProcess } from "@markmill/base";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compileCache } from "../support/compile-cache.ts";

const program = join(import.meta.dirname, "../../apps/cli/bin/markmill.mjs");
/** Makes the launcher believe that it runs on Node 20. The Node that it starts is not changed. */
const olderNode = `data:text/javascript,Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.19.0" } })`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "markmill-launcher-"));
  writeFileSync(join(folder, "replies.yaml"), 'default: { reply: "hello" }\n');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function started(child: ChildProcess): Promise<void> {
  let said = "";
  for await (const part of child.stdout ?? []) {
    said += String(part);
    if (/http:/.test(said)) return;
  }
  throw new Error(`it ended: ${said}`);
}

function childrenOf(pid: number): number[] {
  const listed = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return listed === "" ? [] : listed.split(" ").map(Number);
}

describe.skipIf(process.platform !== "linux")("kill -9 of a parent process", () => {
  const words = ["mock-model", "replies.yaml", "--port", "0"];
  const env = { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", ...compileCache };

  it("ends the child process that does the work, also if the launcher runs on an older Node", async () => {
    const launcher = spawn(process.execPath, ["--import", olderNode, program, ...words], {
      cwd: folder,
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    await started(launcher);
    const workers = childrenOf(launcher.pid ?? 0);
    expect(workers).toHaveLength(1);
    launcher.kill("SIGKILL");
    await once(launcher, "exit");
    await expect.poll(() => workers.map(identifyProcess)).toEqual([null]);
  }, 60_000);

  it("ends the working process of npx", async () => {
    const script = `require("node:child_process").spawn(process.execPath, process.argv.slice(1), { stdio: "inherit" })`;
    const npx = spawn(process.execPath, ["-e", script, program, ...words], {
      cwd: folder,
      env: { ...env, npm_command: "exec" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    await started(npx);
    const workers = childrenOf(npx.pid ?? 0);
    expect(workers).toHaveLength(1);
    npx.kill("SIGKILL");
    await once(npx, "exit");
    await expect.poll(() => workers.map(identifyProcess)).toEqual([null]);
  }, 60_000);
});
