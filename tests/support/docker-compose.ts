// docker compose for the tests: the plugin, the program of old, or the distribution's package unpacked into the checkout.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { unpackPackages } from "./unpack-packages.ts";

export interface DockerCompose {
  readonly command: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
}

/** Throws where it cannot be had. */
export async function findDockerCompose(cache: string): Promise<DockerCompose> {
  for (const command of [["docker", "compose"], ["docker-compose"]] as const) {
    if (works({ command: [...command], env: {} })) return { command: [...command], env: {} };
  }
  const python = "/usr/bin/python3";
  if (!existsSync(python))
    throw new Error("neither docker compose nor docker-compose, and no python3 to run the package");
  const { path } = await unpackPackages(cache, "docker-compose", ["docker-compose"]);
  const root = join(path.split(":")[0] ?? "", "../..");
  const unpacked = {
    command: [python, join(root, "usr/bin/docker-compose")] as const,
    env: { PYTHONPATH: join(root, "usr/lib/python3/dist-packages") },
  };
  if (!works(unpacked)) throw new Error("neither docker compose nor docker-compose, and its package does not start");
  return unpacked;
}

function works({ command: [program, ...args], env }: DockerCompose): boolean {
  return spawnSync(program, [...args, "version"], { stdio: "ignore", env: { ...process.env, ...env } }).status === 0;
}
