// A redis-server process of the tests' own on a free loopback port, set as production must be: appendonly, noeviction.
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterDeath } from "./after-death.ts";
import { freePort } from "./free-port.ts";
import { installRedis, type RedisProgram } from "./install-redis.ts";

export type RedisSource =
  | { readonly kind: "program"; readonly program: RedisProgram }
  | { readonly kind: "container"; readonly image: string }
  | { readonly kind: "none"; readonly reason: string };

/** Best first: on the machine, unpacked from packages, in a container. The search may take a minute on a bare machine. */
export async function findRedis(cache: string): Promise<RedisSource> {
  const version = spawnSync("redis-server", ["--version"], { encoding: "utf8" });
  const [, major = "0", minor = "0"] = /v=(\d+)\.(\d+)/.exec(version.stdout ?? "") ?? [];
  if (Number(major) > 6 || (Number(major) === 6 && Number(minor) >= 2)) {
    return { kind: "program", program: { file: "redis-server", libraryPath: null } };
  }
  const reasons = [
    version.error ? "no redis-server on the machine" : `redis-server ${major}.${minor} is older than 6.2`,
  ];
  const install = await installRedis(cache);
  if (install.ok) return { kind: "program", program: install.program };
  reasons.push(install.reason);
  const image = "redis:7-alpine";
  try {
    await docker("run", "--rm", image, "redis-server", "--version");
    return { kind: "container", image };
  } catch (error) {
    reasons.push(`in a container: ${error instanceof Error ? error.message.trim() : error}`);
  }
  return { kind: "none", reason: reasons.join("; ") };
}

export type RedisServer = {
  readonly url: string;
  readonly port: number;
  /** kill -9. The files stay for `restart`. */
  kill(): Promise<void>;
  /** It stands still (SIGSTOP): connections stay, and nothing is answered until it goes on. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** On the same port, with the files it left. */
  restart(): Promise<void>;
  /** Ends it and removes its files. */
  stop(): Promise<void>;
};

/** `more`: further words of its command line. */
export async function startRedis(source: RedisSource, more: readonly string[] = []): Promise<RedisServer> {
  if (source.kind === "none") throw new Error(`Redis is not available: ${source.reason}`);
  const directory = await mkdtemp(join(tmpdir(), "markmill-redis-"));
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const start = () =>
      source.kind === "program"
        ? startProgram(source.program, directory, port, more)
        : startContainer(source.image, directory, port, more);
    try {
      let running = await start();
      return {
        url: `redis://127.0.0.1:${port}`,
        port,
        kill: () => running.kill(),
        freeze: () => running.freeze(),
        thaw: () => running.thaw(),
        async restart() {
          await running.kill();
          running = await start();
        },
        async stop() {
          await running.kill();
          await rm(directory, { recursive: true, force: true });
        },
      };
    } catch (error) {
      // Somebody else may have taken the port in between.
      if (attempt < 4) continue;
      await rm(directory, { recursive: true, force: true });
      throw error;
    }
  }
}

type Running = { kill(): Promise<void>; freeze(): Promise<void>; thaw(): Promise<void> };

const settings = (port: number, bind: string) => [
  ...["--port", String(port), "--bind", bind, "--protected-mode", "no"],
  ...["--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--maxmemory-policy", "noeviction"],
];

async function startProgram(
  { file, libraryPath }: RedisProgram,
  directory: string,
  port: number,
  more: readonly string[],
): Promise<Running> {
  const log = join(directory, "redis.log");
  const child = spawn(file, [...settings(port, "127.0.0.1"), ...more, "--dir", directory, "--logfile", log], {
    cwd: directory,
    detached: true,
    env: libraryPath === null ? process.env : { ...process.env, LD_LIBRARY_PATH: libraryPath },
    stdio: "ignore",
  });
  child.on("error", () => undefined);
  child.unref();
  const watch = afterDeath('kill -KILL "$1"; rm -rf "$2"', [String(child.pid ?? 0), directory]);
  const running: Running = {
    async kill() {
      watch.callOff();
      if (ended(child)) return;
      child.ref();
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
    },
    async freeze() {
      child.kill("SIGSTOP");
    },
    async thaw() {
      child.kill("SIGCONT");
    },
  };
  try {
    await answers(port, () => ended(child));
  } catch (error) {
    await running.kill();
    throw new Error(
      `${error instanceof Error ? error.message : error}\n${await readFile(log, "utf8").catch(() => "")}`,
    );
  }
  return running;
}

async function startContainer(
  image: string,
  directory: string,
  port: number,
  more: readonly string[],
): Promise<Running> {
  const name = `markmill-test-redis-${port}`;
  const options = ["--rm", "-d", "--name", name, "-p", `127.0.0.1:${port}:6379`, "-v", `${directory}:/data`];
  await docker("run", ...options, image, "redis-server", ...settings(6379, "0.0.0.0"), ...more);
  const watch = afterDeath('docker rm -f "$1"; rm -rf "$2"', [name, directory]);
  const running: Running = {
    async kill() {
      watch.callOff();
      await docker("rm", "-f", name);
    },
    freeze: () => docker("pause", name),
    thaw: () => docker("unpause", name),
  };
  await answers(port, () => false).catch(async (error) => {
    await running.kill();
    throw error;
  });
  return running;
}

async function docker(...args: string[]): Promise<void> {
  await promisify(execFile)("docker", args, { timeout: 120_000 });
}

function ended(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

async function answers(port: number, gaveUp: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!(await pings(port))) {
    if (gaveUp()) throw new Error("redis-server ended at once");
    if (performance.now() > deadline) throw new Error(`redis-server on port ${port} does not answer`);
    await sleep(20);
  }
}

function pings(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1_000, () => end(false));
    socket.once("error", () => end(false));
    socket.once("connect", () => socket.write("PING\r\n"));
    // While it reads its files it answers -LOADING.
    socket.once("data", (data) => end(data.toString("latin1").startsWith("+PONG")));
  });
}
