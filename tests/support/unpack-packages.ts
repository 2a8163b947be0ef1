// Programs from the distribution's packages, unpacked into a directory of the checkout. Nothing is installed on the system: no
// service starts, no user is made, and root is not needed.
import { execFile } from "node:child_process";
import { existsSync, globSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const limitMs = 180_000;

export interface UnpackedPackages {
  /** For PATH. */
  readonly path: string;
  /** For LD_LIBRARY_PATH. */
  readonly libraryPath: string;
}

/** The packages with those of their dependencies that `installed`, the system's own list, lacks. Kept under `cache/name`. */
export async function unpackPackages(
  cache: string,
  name: string,
  packages: readonly string[],
  installed = "/var/lib/dpkg/status",
): Promise<UnpackedPackages> {
  const target = join(cache, `${name}-${process.arch}`);
  if (!existsSync(target)) await download(join(cache, `${name}-${process.pid}`), target, packages, installed);
  return {
    path: globSync(join(target, "{usr/,}{s,}bin")).join(":"),
    // Libraries of PulseAudio find each other by the place they are usually installed at.
    libraryPath: globSync(join(target, "{usr/lib,lib}/*-linux-gnu*{,/pulseaudio}")).join(":"),
  };
}

async function download(work: string, target: string, packages: readonly string[], installed: string): Promise<void> {
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
    await run("apt-get", [...options, "-y", "--no-install-recommends", "--download-only", "install", ...packages]);
    for (const archive of globSync(join(work, "cache/archives/*.deb"))) {
      await run("dpkg-deb", ["-x", archive, join(work, "root")]);
    }
    renameSync(join(work, "root"), target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function run(program: string, args: readonly string[]): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" };
  await promisify(execFile)(program, args, { env, timeout: limitMs, maxBuffer: 16 * 1024 * 1024 });
}
