// A Docker engine for the tests: the one that is given, else the one that runs, else dockerd started here.
//
// D1 An engine started here lives in its own pid and mount namespace: killing its first process ends every container, shim and
//    mount with it, whatever state they are in. Its files, its bridge and its cgroups are removed after.
// D2 It touches no firewall rule and no forwarding setting; published ports work on loopback through the userland proxy.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterDeath } from "./after-death.ts";
import { type UnpackedPackages, unpackPackages } from "./unpack-packages.ts";

const run = promisify(execFile);
const START_MS = 30_000;

export interface DockerEngine {
  /** As DOCKER_HOST has it. */
  readonly host: string;
  /** False when containers cannot publish ports: no bridge could be made. */
  readonly networked: boolean;
  /** True when the engine was there before: leave nothing of yours in it. */
  readonly foreign: boolean;
  stop(): Promise<void>;
}

export async function findDockerEngine(cache: string): Promise<DockerEngine> {
  const given = process.env.TEST_DOCKER_HOST ?? process.env.DOCKER_HOST;
  if (given !== undefined) {
    if (await answers(given)) return foreign(given);
    throw new Error(`the Docker engine at ${given} (DOCKER_HOST or TEST_DOCKER_HOST) does not answer`);
  }
  const usual = "unix:///var/run/docker.sock";
  if (await answers(usual)) return foreign(usual);
  if (process.platform !== "linux") throw new Error(`no Docker engine answers at ${usual}`);
  if (process.getuid?.() !== 0) throw new Error(`no Docker engine answers at ${usual}, and starting one needs root`);
  return (await startDockerEngine(cache)).engine;
}

export interface OwnEngine {
  readonly engine: DockerEngine;
  /** kill -9 of dockerd, containers and all. Its files stay for `restart`. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** SIGSTOP: neither it nor its containers end. */
  freeze(program: "dockerd" | "containerd"): Promise<void>;
  thaw(): Promise<void>;
  /** Leaves no room below its data root. Only with `dataMegabytes`. */
  fill(): Promise<void>;
  makeRoom(): Promise<void>;
}

/**
 * An engine of the caller's own, root only. It ends with `stop`, or with this process. `dataMegabytes`: its data root is a file system of its
 * own, of that size.
 */
export async function startDockerEngine(
  cache: string,
  { dataMegabytes }: { readonly dataMegabytes?: number } = {},
): Promise<OwnEngine> {
  const programs = await findPrograms(cache);
  const directory = await mkdtemp(join(tmpdir(), "markmill-docker-"));
  const name = `mm${process.pid % 100_000}x${Math.floor(Math.random() * 1000)}`;
  const networked = await makeBridge(name);
  const host = `unix://${directory}/docker.sock`;
  const data = join(directory, "data");
  await mkdir(data);
  if (dataMegabytes !== undefined) await run("mount", ["-t", "tmpfs", "-o", `size=${dataMegabytes}m`, "tmpfs", data]);
  const filling = join(data, "filling");
  let frozen: readonly number[] = [];
  let child = await launch();
  let watch = watchOver(child);

  async function launch(): Promise<ChildProcess> {
    // Left by a killed dockerd, the pid file names a process that is alive in the new namespace, too: number 1.
    await rm(join(directory, "docker.pid"), { force: true });
    await rm(join(directory, "exec"), { recursive: true, force: true });
    const dockerd = [
      ...["dockerd", "--host", host, "--pidfile", join(directory, "docker.pid")],
      ...["--data-root", data, "--exec-root", join(directory, "exec")],
      ...["--bridge", networked ? name : "none", "--iptables=false", "--ip6tables=false", "--ip-forward=false"],
      ...["--ip-masq=false", "--cgroup-parent", name, "--config-file", join(directory, "daemon.json")],
    ];
    const log = `exec >"${directory}/log" 2>&1; echo '{}' >"${directory}/daemon.json"; exec "$@"`;
    const namespaces = ["--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"];
    const started = spawn("unshare", [...namespaces, "/bin/sh", "-c", log, "dockerd", ...dockerd], {
      cwd: "/",
      detached: true,
      stdio: "ignore",
      env: {
        ...process.env,
        PATH: `${programs.path}:${process.env.PATH ?? ""}`,
        ...(programs.libraryPath === "" ? {} : { LD_LIBRARY_PATH: programs.libraryPath, ...iptablesModules(programs) }),
      },
    });
    started.on("error", () => undefined);
    started.unref();
    const giveUp = performance.now() + START_MS;
    while (!(await answers(host))) {
      if (ended(started) || performance.now() > giveUp) {
        const said = await readFile(join(directory, "log"), "utf8").catch(() => "");
        await end(started);
        throw new Error(`dockerd did not start: ${said.trim().split("\n").slice(-3).join(" | ")}`);
      }
      await sleep(20);
    }
    return started;
  }

  async function cleanUp(): Promise<void> {
    await run("/bin/sh", ["-c", leavings, "clean-up", name]).catch(() => undefined);
    if (dataMegabytes !== undefined) await run("umount", ["--lazy", data]);
    await rm(directory, { recursive: true, force: true });
  }

  function watchOver(process: ChildProcess) {
    return afterDeath(`kill -KILL "$2"; sleep 1; ${leavings}; umount -l "$3/data" 2>/dev/null; rm -rf "$3"`, [
      name,
      String(process.pid),
      directory,
    ]);
  }

  return {
    engine: {
      host,
      networked,
      foreign: false,
      async stop() {
        await end(child);
        watch.callOff();
        await cleanUp();
      },
    },
    kill: () => end(child),
    async restart() {
      await end(child);
      watch.callOff();
      child = await launch();
      watch = watchOver(child);
    },
    async freeze(program) {
      const [first] = await childrenOf(child.pid);
      const stopped =
        program === "dockerd" ? first : (await childrenOf(first)).find((pid) => nameOf(pid) === "containerd");
      if (stopped === undefined) throw new Error(`there is no ${program}`);
      frozen = [...frozen, stopped];
      process.kill(stopped, "SIGSTOP");
    },
    async thaw() {
      for (const pid of frozen) process.kill(pid, "SIGCONT");
      frozen = [];
    },
    async fill() {
      // Ends with "no space left".
      await run("/bin/sh", ["-c", 'cat /dev/zero >"$1"', "fill", filling]).catch(() => undefined);
    },
    makeRoom: () => rm(filling, { force: true }),
  };
}

async function childrenOf(pid: number | undefined): Promise<number[]> {
  const lists = globSync(`/proc/${pid}/task/*/children`).map((path) => readFile(path, "utf8").catch(() => ""));
  return (await Promise.all(lists)).flatMap((list) => list.trim().split(" ").map(Number)).filter((one) => one > 0);
}

function nameOf(pid: number): string {
  return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
}

/** What an ended engine leaves outside its directory: $1 names its bridge and its cgroups. */
const leavings =
  'ip link delete "$1" 2>/dev/null; ' +
  'find /sys/fs/cgroup -depth -type d -path "*/$1*" -exec rmdir {} + 2>/dev/null; true';

function foreign(host: string): DockerEngine {
  return { host, networked: true, foreign: true, stop: async () => undefined };
}

/** iptables looks for its modules where its package puts them. */
function iptablesModules({ libraryPath }: UnpackedPackages): { XTABLES_LIBDIR?: string } {
  const place = libraryPath.split(":").find((directory) => existsSync(join(directory, "xtables")));
  return place === undefined ? {} : { XTABLES_LIBDIR: join(place, "xtables") };
}

/** An installation chooses one of the two iptables. Without it containers in a network find no names. */
async function nameIptables(programs: UnpackedPackages): Promise<UnpackedPackages> {
  for (const directory of programs.path.split(":")) {
    if (!existsSync(join(directory, "xtables-nft-multi"))) continue;
    await symlink("xtables-nft-multi", join(directory, "iptables")).catch(() => undefined);
    await symlink("xtables-nft-multi", join(directory, "ip6tables")).catch(() => undefined);
  }
  return programs;
}

/** dockerd and what it needs. */
export async function findPrograms(cache: string): Promise<UnpackedPackages> {
  const directories = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"];
  if (directories.some((directory) => existsSync(join(directory, "dockerd")))) {
    return { path: directories.join(":"), libraryPath: "" };
  }
  const unpacked = await unpackPackages(cache, "docker", ["docker.io", "iptables"]).catch((error: unknown) => {
    throw new Error(
      `there is no dockerd, and its packages cannot be had: ${error instanceof Error ? error.message : error}`,
    );
  });
  return await nameIptables(unpacked);
}

/** A bridge of a private range for this engine only; false where it cannot be made. */
async function makeBridge(name: string): Promise<boolean> {
  try {
    await run("ip", ["link", "add", name, "type", "bridge"]);
    await run("ip", ["address", "add", `10.213.${Math.floor(Math.random() * 250)}.1/24`, "dev", name]);
    await run("ip", ["link", "set", name, "up"]);
    return true;
  } catch {
    await run("ip", ["link", "delete", name]).catch(() => undefined);
    return false;
  }
}

function ended(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

async function end(child: ChildProcess): Promise<void> {
  if (ended(child)) return;
  child.ref();
  const exit = once(child, "exit");
  // unshare waits for dockerd and would be gone before it; its only child is the namespace's first process.
  const [first] = await childrenOf(child.pid);
  if (first !== undefined) process.kill(first, "SIGKILL");
  else child.kill("SIGKILL");
  await exit;
}

function answers(host: string): Promise<boolean> {
  const address = new URL(host);
  const target =
    address.protocol === "unix:"
      ? { socketPath: address.pathname, path: "/_ping" }
      : { host: address.hostname, port: address.port, path: "/_ping" };
  return new Promise((resolve) => {
    const ping = request({ ...target, timeout: 2_000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    ping.on("timeout", () => ping.destroy(new Error("timeout")));
    ping.on("error", () => resolve(false));
    ping.end();
  });
}
