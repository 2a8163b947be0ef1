/** One suite for the port, on every adapter, each in a file of its own. What only one of them has is tested in sandbox-docker and sandbox-jail. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, inject } from "vitest";
import type { Sandbox, SessionFiles } from "../../packages/sandbox/src/port.ts";
import { describeCheckpoints } from "./checkpoint-cases.ts";
import { compileCache } from "./compile-cache.ts";
import { describeLooks } from "./look-cases.ts";
import { describeLimits, describeSandbox, type SecondWorker } from "./sandbox-cases.ts";
import { sessionSpec } from "./session-spec.ts";

export interface Adapter {
  readonly name: string;
  readonly available: boolean;
  readonly hasWalls: boolean;
  /**
   * "own": without the cases that are decided by code all adapters share, which are tried on the jail. All of them in the soak, and where
   * there is no jail.
   */
  readonly cases?: "all" | "own";
  make(root: string): Promise<Sandbox>;
  /** The program of a second worker and its arguments before the session's id. */
  worker?(root: string): Promise<readonly string[]>;
}

/** The path of a program in this folder. */
export const supportProgram = (name: string) => fileURLToPath(new URL(name, import.meta.url));

export function describePort({ name, available, hasWalls, cases = "all", make, worker }: Adapter): void {
  const shared = cases === "all" || inject("thorough") || process.platform !== "linux";
  describe.skipIf(!available)(`the port on ${name} holds:`, () => {
    let root = "";
    let sandbox: Sandbox;
    let program: readonly string[] = [];
    const opened: string[] = [];

    beforeAll(async () => {
      // In memory: some cases make files by the ten thousand.
      root = await mkdtemp(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "markmill-port-"));
      sandbox = await make(root);
      program = (await worker?.(root)) ?? [];
    });
    afterAll(async () => {
      await Promise.all(opened.map((id) => sandbox.remove(id)));
      await sandbox.close();
      await rm(root, { recursive: true, force: true });
    });

    const newId = () => {
      const id = `t-${randomBytes(6).toString("hex")}`;
      opened.push(id);
      return id;
    };
    const second = (id: string, command: string): SecondWorker => {
      const child = spawn(process.execPath, [...program, id, command], {
        stdio: ["ignore", "pipe", "inherit"],
        env: { ...process.env, ...compileCache },
      });
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      return {
        line: async () => JSON.parse((await lines.next()).value ?? "null"),
        kill: () => child.kill("SIGKILL"),
        ended: once(child, "exit"),
      };
    };
    const harness = {
      open: (files?: SessionFiles) => sandbox.open(sessionSpec(newId(), files === undefined ? {} : { files })),
      ownTmp: hasWalls,
      shared,
      readByHost: name !== "docker",
      spec: () => sessionSpec("any"),
    };

    describeSandbox({
      sandbox: () => sandbox,
      newId,
      hasWalls,
      shared,
      ...(worker === undefined ? {} : { worker: second }),
    });
    describe.skipIf(!hasWalls)("limits", () => describeLimits(() => harness.open()));
    describe("checkpoints", () => describeCheckpoints(harness));
    describe("looks", () => describeLooks(harness));
  });
}
