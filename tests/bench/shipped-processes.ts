/** The processes of a deployment as they ship (`markmill api`, `worker`, `supervisor`), each in its own process, on the benchmark's servers. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export interface ShippedProcess {
  readonly pid: number;
  readonly child: ChildProcess;
  /** What it wrote until it had started. */
  readonly said: string;
}

export interface ShippedProcesses {
  /** Resolves when it says that it has started. `name`: under which its figures are shown. */
  start(app: "api" | "worker" | "supervisor", name?: string): Promise<ShippedProcess>;
  readonly pids: Readonly<Record<string, number>>;
  stop(): Promise<void>;
}

export interface Shipping {
  readonly env: Readonly<Record<string, string>>;
  /** For node itself. */
  readonly flags?: readonly string[];
}

export function shipProcesses({ env, flags = [] }: Shipping): ShippedProcesses {
  const members = new Map<string, ChildProcess>();
  return {
    async start(app, name = app) {
      const main = fileURLToPath(new URL("../../apps/cli/src/main.ts", import.meta.url));
      const child = spawn(process.execPath, [...flags, main, app, "--no-env-file"], {
        env: { ...process.env, LOG_LEVEL: "info", ...env },
        cwd: tmpdir(),
        stdio: ["ignore", "pipe", "pipe", "ipc"],
      });
      members.set(name, child);
      let said = "";
      for (const stream of [child.stdout, child.stderr]) {
        stream?.on("data", (bytes: Buffer) => {
          if (said.length < 100_000) said += bytes.toString();
          if (/"level":[56]0/.test(bytes.toString()))
            process.stderr.write(`${name}: ${bytes.toString().slice(0, 2_000)}\n`);
        });
      }
      while (!said.includes(`${app} started`)) {
        if (child.exitCode !== null) throw new Error(`${app} ended: ${said}`);
        await sleep(50);
      }
      return { pid: child.pid ?? 0, child, said };
    },
    get pids() {
      return Object.fromEntries([...members].map(([name, { pid = 0 }]) => [name, pid]));
    },
    async stop() {
      for (const child of members.values()) child.kill("SIGKILL");
      await Promise.all(
        [...members.values()].map((child) =>
          child.exitCode === null && child.signalCode === null ? once(child, "exit") : null,
        ),
      );
    },
  };
}
