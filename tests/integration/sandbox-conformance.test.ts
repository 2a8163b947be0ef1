/** One suite for the port, on every adapter. What only one of them has is tested in sandbox-docker and sandbox-jail. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe } from "vitest";
import { createDockerSandbox } from "../../packages/sandbox/src/docker/docker-sandbox.ts";
import { createJailSandbox } from "../../packages/sandbox/src/jail/jail-sandbox.ts";
import { createNoneSandbox } from "../../packages/sandbox/src/none/none-sandbox.ts";
import type { Sandbox, SessionFiles } from "../../packages/sandbox/src/port.ts";
import { describeCheckpoints } from "../support/checkpoint-cases.ts";
import { dockerAvailable, sharedDocker } from "../support/docker-engine.ts";
import { describeLooks } from "../support/look-cases.ts";
import { describeLimits, describeSandbox, type SecondWorker } from "../support/sandbox-cases.ts";
import { sessionSpec } from "../support/session-spec.ts";

const linux = process.platform === "linux";
const docker = await dockerAvailable("the port of the sandbox on Docker containers");

interface Adapter {
  readonly name: string;
  readonly available: boolean;
  readonly hasWalls: boolean;
  make(root: string): Promise<Sandbox>;
  /** The program of a second worker and its arguments before the session's id. */
  worker?(root: string): Promise<readonly string[]>;
}

const support = (name: string) => fileURLToPath(new URL(`../support/${name}`, import.meta.url));

const adapters: readonly Adapter[] = [
  {
    name: "docker",
    available: docker,
    hasWalls: true,
    make: async () => {
      const { host, image } = await sharedDocker();
      return await createDockerSandbox({ hosts: [host], images: [image] });
    },
    worker: async () => {
      const { host, image } = await sharedDocker();
      return [support("hold-docker-session.ts"), host, image];
    },
  },
  {
    name: "jail",
    available: linux,
    hasWalls: true,
    make: (root) => createJailSandbox({ root }),
    worker: async (root) => [support("jail-worker.ts"), root, "run"],
  },
  {
    name: "none",
    available: linux,
    hasWalls: false,
    make: async (root) => createNoneSandbox({ root, warn: () => undefined }),
  },
];

describe.each(adapters)("the port on $name", ({ available, hasWalls, make, worker }) => {
  describe.skipIf(!available)("holds:", () => {
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
      const child = spawn(process.execPath, [...program, id, command], { stdio: ["ignore", "pipe", "inherit"] });
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
      spec: () => sessionSpec("any"),
    };

    describeSandbox({
      sandbox: () => sandbox,
      newId,
      hasWalls,
      ...(worker === undefined ? {} : { worker: second }),
    });
    describe.skipIf(!hasWalls)("limits", () => describeLimits(() => harness.open()));
    describe("checkpoints", () => describeCheckpoints(harness));
    describe("looks", () => describeLooks(harness));
  });
});
