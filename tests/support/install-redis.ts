import { existsSync } from "node:fs";
import { join } from "node:path";
import { unpackPackages } from "./unpack-packages.ts";

export type RedisProgram = { readonly file: string; readonly libraryPath: string | null };

export type RedisInstall =
  | { readonly ok: true; readonly program: RedisProgram }
  | { readonly ok: false; readonly reason: string };

/** redis-server from the distribution's packages. `installed` lists what the system already has. */
export async function installRedis(cache: string, installed?: string): Promise<RedisInstall> {
  try {
    const { path, libraryPath } = await unpackPackages(cache, "redis", ["redis-server"], installed);
    const file = path
      .split(":")
      .map((directory) => join(directory, "redis-server"))
      .find((candidate) => existsSync(candidate));
    if (file === undefined) throw new Error(`no redis-server in ${path}`);
    return { ok: true, program: { file, libraryPath } };
  } catch (error) {
    return { ok: false, reason: `from packages: ${error instanceof Error ? error.message : error}` };
  }
}
