// redis-server from the distribution's packages, unpacked into a directory of the checkout. Nothing is installed on the system:
// no service starts, no user is made, and root is not needed.
import { execFile } from "node:child_process";
import { existsSync, globSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

export type RedisProgram = { readonly file: string; readonly libraryPath: string | null };

export type RedisInstall =
  | { readonly ok: true; readonly program: RedisProgram }
  | { readonly ok: false; readonly reason: string };

const limitMs = 180_000;

/** `installed` lists what the system already has, so that only the missing libraries are fetched. */
export async function installRedis(cache: string, installed = "/var/lib/dpkg/status"): Promise<RedisInstall> {
  const target = join(cache, `redis-${process.arch}`);
  if (existsSync(target)) return { ok: true, program: programIn(target) };
  const work = join(cache, `redis-${process.pid}`);
  const archives = join(work, "cache", "archives");
  try {
    for (const directory of ["state/lists/partial", "cache/archives/partial", "root"]) {
      mkdirSync(join(work, directory), { recursive: true });
    }
    const options = [
      `Dir::State=${join(work, "state")}`,
      `Dir::State::status=${installed}`,
      `Dir::Cache=${join(work, "cache")}`,
      "Debug::NoLocking=true",
      "APT::Sandbox::User=",
      "Acquire::Languages=none",
      "Acquire::Retries=1",
      "Acquire::http::Timeout=20",
    ].flatMap((option) => ["-o", option]);
    await run("apt-get", [...options, "update"]);
    await run("apt-get", [...options, "-y", "--no-install-recommends", "--download-only", "install", "redis-server"]);
    for (const archive of globSync(join(archives, "*.deb"))) await run("dpkg-deb", ["-x", archive, join(work, "root")]);
    renameSync(join(work, "root"), target);
    return { ok: true, program: programIn(target) };
  } catch (error) {
    return { ok: false, reason: `from packages: ${error instanceof Error ? error.message : error}` };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function programIn(root: string): RedisProgram {
  const file = join(root, "usr/bin/redis-server");
  if (!existsSync(file)) throw new Error(`no redis-server below ${root}`);
  return { file, libraryPath: globSync(join(root, "{usr/lib,lib}/*-linux-gnu*")).join(":") };
}

async function run(program: string, args: readonly string[]): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" };
  await promisify(execFile)(program, args, { env, timeout: limitMs, maxBuffer: 16 * 1024 * 1024 });
}
