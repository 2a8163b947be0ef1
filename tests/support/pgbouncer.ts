// PgBouncer in front of a Postgres server (tcp-postgres.ts): the machine's, else Debian's package unpacked into `.cache/`.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterDeath } from "./after-death.ts";
import { reportSkip } from "./ask-services.ts";
import { freePort } from "./free-port.ts";
import type { TcpPostgres } from "./tcp-postgres.ts";
import { unpackPackages } from "./unpack-packages.ts";
import { until } from "./until.ts";

export interface PgBouncerProgram {
  readonly file: string;
  readonly env: NodeJS.ProcessEnv;
  readonly version: string;
}

/** null: there is none, which is reported. */
export async function findPgBouncer(what: string): Promise<PgBouncerProgram | null> {
  const own = probe({ ...process.env, PATH: [process.env.PATH, "/usr/sbin", "/usr/local/sbin"].join(delimiter) });
  if (own !== null) return own;
  try {
    const cache = join(import.meta.dirname, "../../.cache");
    const { path, libraryPath } = await unpackPackages(cache, "pgbouncer", ["pgbouncer"]);
    const unpacked = probe({ ...process.env, PATH: path, LD_LIBRARY_PATH: libraryPath });
    if (unpacked === null) throw new Error(`no pgbouncer in ${path}`);
    return unpacked;
  } catch (error) {
    const reason = `no pgbouncer on the machine, nor from packages: ${error instanceof Error ? error.message : error}`;
    await reportSkip({ what, reason });
    return null;
  }
}

function probe(env: NodeJS.ProcessEnv): PgBouncerProgram | null {
  const { stdout, status } = spawnSync("pgbouncer", ["--version"], { env, encoding: "utf8" });
  return status === 0 ? { file: "pgbouncer", env, version: /\d+\.\d+/.exec(stdout)?.[0] ?? "" } : null;
}

export type PoolMode = "session" | "transaction" | "statement";

/** `more`: further lines of its settings. */
export async function startPgBouncer(
  program: PgBouncerProgram,
  postgres: TcpPostgres,
  mode: PoolMode,
  more: readonly string[] = [],
): Promise<{ url(database: string): string; stop(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), "markmill-pgbouncer-"));
  await chmod(directory, 0o755);
  const port = await freePort();
  const settings = [
    "[databases]",
    `* = host=127.0.0.1 port=${postgres.port}`,
    "[pgbouncer]",
    ...["listen_addr=127.0.0.1", `listen_port=${port}`, "unix_socket_dir="],
    ...["auth_type=trust", `auth_file=${join(directory, "users")}`, `pool_mode=${mode}`, "default_pool_size=80"],
    ...more,
  ];
  await writeFile(join(directory, "users"), '"markmill" ""\n');
  await writeFile(join(directory, "pgbouncer.ini"), `${settings.join("\n")}\n`);
  // It refuses to run as root.
  const identity = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const server = spawn(program.file, [join(directory, "pgbouncer.ini")], {
    ...identity,
    env: program.env,
    cwd: "/",
    detached: true,
    stdio: "ignore",
  });
  server.unref();
  const watch = afterDeath('kill -KILL "$1"; rm -rf "$2"', [String(server.pid ?? 0), directory]);
  await until(async () => server.exitCode !== null || (await listens(port)));
  if (server.exitCode !== null) throw new Error("pgbouncer ended at once");
  return {
    url: (database) => `postgres://markmill@127.0.0.1:${port}/${database}`,
    async stop() {
      watch.callOff();
      const exit = once(server, "exit");
      server.kill("SIGKILL");
      await exit;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}
