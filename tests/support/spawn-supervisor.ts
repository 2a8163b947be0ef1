/** A supervisor in a process of its own, to be killed. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { askService } from "./ask-services.ts";
import { compileCache } from "./compile-cache.ts";
import type { Mill } from "./mill.ts";

export interface SpawnedSupervisor {
  readonly process: ChildProcess;
  readonly exited: Promise<void>;
  kill(): Promise<void>;
}

/** `killAt`: dies by SIGKILL when admission gets there; `created:4`: the fourth time. */
export async function spawnSupervisor(
  mill: Pick<Mill, "databaseUrl" | "queueAt">,
  options: { readonly killAt?: string; readonly runsPerTenant?: number },
): Promise<SpawnedSupervisor> {
  const settings = { databaseUrl: mill.databaseUrl, ...mill.queueAt, ...options };
  const child = spawn(process.execPath, [(await askService("programs"))["mill-supervisor"], JSON.stringify(settings)], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    env: { ...process.env, ...compileCache },
  });
  const exited = once(child, "exit").then(() => undefined);
  await Promise.race([once(child, "message"), exited]);
  return {
    process: child,
    exited,
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
