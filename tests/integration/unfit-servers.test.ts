// Every process refuses unsuitable servers by name at its start, before it writes anything.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readConfig } from "@markmill/config";
import { openQueues } from "@markmill/queue";
import { openStack } from "@markmill/stack";
import { openStore } from "@markmill/store";
import { Redis } from "ioredis";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { afterDeath } from "../support/after-death.ts";
import { askService } from "../support/ask-services.ts";
import { freePort } from "../support/free-port.ts";
import { startMill } from "../support/mill.ts";
import { findPgBouncer, startPgBouncer } from "../support/pgbouncer.ts";
import { freshDatabase, migratedDatabase, type TestDatabase } from "../support/postgres.ts";
import { freshRedis, redisAvailable } from "../support/redis.ts";
import { startTcpPostgres, type TcpPostgres } from "../support/tcp-postgres.ts";
import { until } from "../support/until.ts";

let database: TestDatabase;
let postgres: TcpPostgres;
beforeAll(async () => {
  [database, postgres] = await Promise.all([migratedDatabase(), startTcpPostgres()]);
});
afterAll(async () => {
  await database?.drop();
  await postgres?.stop();
});

async function tell(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("set default_transaction_read_only = off");
  for (const statement of statements) await client.query(statement);
  await client.end();
}

const openAt = async (url: string, migrate = true) => await (await openStore({ url, migrate })).close();

describe("unsuitable Postgres servers", () => {
  it.each([true, false])("a database whose sessions are read-only is refused (migrate: %s)", async (migrate) => {
    await tell(database.url, `alter database "${database.name}" set default_transaction_read_only = on`);
    try {
      await expect(openAt(database.url, migrate)).rejects.toMatchObject({
        code: "STORE_READ_ONLY_SETTING",
        fix: expect.stringContaining("default_transaction_read_only"),
      });
    } finally {
      await tell(database.url, `alter database "${database.name}" reset default_transaction_read_only`);
    }
  });

  it("a hot standby is refused", async () => {
    const standby = await startTcpPostgres({ standby: true });
    try {
      await expect(openAt(standby.url("markmill"))).rejects.toMatchObject({ code: "STORE_READ_ONLY" });
    } finally {
      await standby.stop();
    }
  });

  it.each(["SQL_ASCII", "LATIN1"])("a database in the encoding %s is refused", async (encoding) => {
    const name = `in_${encoding.toLowerCase()}`;
    await tell(
      postgres.url("postgres"),
      `create database ${name} encoding '${encoding}' locale 'C' template template0`,
    );
    await expect(openAt(postgres.url(name))).rejects.toMatchObject({
      code: "STORE_ENCODING",
      message: expect.stringContaining(encoding),
    });
  });

  it("a role that may not create a schema is refused", async () => {
    await tell(postgres.url("postgres"), "create role weak login", "create database of_another");
    const url = postgres.url("of_another").replace("markmill@", "weak@");
    await expect(openAt(url)).rejects.toMatchObject({ code: "STORE_REFUSED" });
  });

  it("a database that a newer Markmill has migrated is refused", async () => {
    const newer = await migratedDatabase();
    await tell(newer.url, "insert into markmill.migrations (name, checksum) values ('9999-future', 'x')");
    await expect(openAt(newer.url)).rejects.toMatchObject({ code: "STORE_SCHEMA_NEWER" });
    await newer.drop();
  });

  it("a database whose queue a newer Markmill has migrated is refused", async () => {
    const newer = await migratedDatabase();
    await tell(newer.url, "update bullmq.migration set min_client_version = 99");
    await expect(openQueues({ backend: { kind: "postgres", url: newer.url } })).rejects.toMatchObject({
      code: "QUEUE_SCHEMA_NEWER",
    });
    await newer.drop();
  });

  it("a database without tables is refused where no tables may be created", async () => {
    const empty = await freshDatabase();
    const store = await openStore({ url: empty.url, migrate: false });
    await expect(store.as("default").runs.list({})).rejects.toMatchObject({ code: "STORE_SCHEMA_MISSING" });
    await store.close();
    await empty.drop();
  });

  it("a server that is too old is refused", async () => {
    const old = await pretendVersion(postgres.port, "130014");
    await expect(openAt(`postgres://markmill@127.0.0.1:${old.port}/markmill`)).rejects.toMatchObject({
      code: "STORE_VERSION",
      message: expect.stringContaining("13.14"),
    });
    old.close();
  });
});

const pgbouncer = await findPgBouncer("Postgres behind a connection pooler");
describe.skipIf(pgbouncer === null)("PgBouncer before Postgres", () => {
  const ignoring =
    "ignore_startup_parameters=extra_float_digits,options,statement_timeout,idle_in_transaction_session_timeout";
  /** Since 1.21 PgBouncer keeps prepared statements apart, in any session. */
  const preparing = Number(pgbouncer?.version.split(".")[1]) >= 21 ? ["max_prepared_statements=100"] : [];

  it.each([
    { mode: "transaction", more: [] },
    { mode: "transaction", more: [ignoring, "server_round_robin=1", ...preparing] },
    { mode: "statement", more: [] },
    { mode: "statement", more: [ignoring] },
  ] as const)("a pooler in $mode mode is refused ($more)", async ({ mode, more }) => {
    if (pgbouncer === null) return;
    const pooler = await startPgBouncer(pgbouncer, postgres, mode, more);
    try {
      // The second process meets sessions that are already open.
      for (const _ of [1, 2]) {
        await expect(openAt(pooler.url("markmill"))).rejects.toMatchObject({
          code: "STORE_POOLER",
          fix: expect.stringContaining("session"),
        });
      }
    } finally {
      await pooler.stop();
    }
  });

  it.each(inject("thorough") ? [[], [ignoring]] : [[]])(
    "a pooler in session mode works, with the settings of each connection (%s)",
    async (...more) => {
      if (pgbouncer === null) return;
      const name = `pooled_${more.length}`;
      await tell(postgres.url("postgres"), `create database ${name}`);
      const pooler = await startPgBouncer(pgbouncer, postgres, "session", more);
      const mill = await startMill({
        backend: "postgres",
        database: { url: pooler.url(name), drop: async () => undefined },
        supervisor: true,
        script: "default: { reply: done }",
      });
      try {
        const { status, variables } = await mill.run({ "main.wf.md": greeting });
        expect([status, variables.RESULT]).toEqual(["success", "done"]);
        // This is the check of /health/ready.
        await mill.store.probe();
        const { rows } = await mill.store.database.hot.query(
          "select current_setting('search_path') as path, current_setting('enable_seqscan') as scan, current_setting('statement_timeout') as most",
        );
        expect(rows).toEqual([{ path: "markmill,public", scan: "off", most: "13500ms" }]);
      } finally {
        await mill.close();
        await pooler.stop();
      }
    },
  );
});

describe.skipIf(!(await redisAvailable("Redis servers that cannot keep the queue")))("unsuitable Redis servers", () => {
  it("a cluster of three nodes is refused by processes that need the queue and by those that can work without", async () => {
    const nodes = await Promise.all([0, 1, 2].map(() => startClusterNode()));
    const clients = nodes.map(({ url }) => new Redis(url));
    try {
      const [first] = clients;
      for (const [index, client] of clients.entries()) {
        await client.call(
          "CLUSTER",
          "ADDSLOTSRANGE",
          ...(["0 5000", "5001 10000", "10001 16383"][index] ?? "").split(" "),
        );
      }
      for (const { port, bus } of nodes.slice(1)) await first?.call("CLUSTER", "MEET", "127.0.0.1", port, bus);
      await until(async () => String(await first?.call("CLUSTER", "INFO")).includes("cluster_state:ok"));
      for (const { url } of nodes) {
        await expect(openQueues({ backend: { kind: "redis", url } })).rejects.toMatchObject({ code: "QUEUE_CLUSTER" });
      }
      await expect(stackOn(nodes[0]?.url ?? "")).rejects.toMatchObject({ code: "QUEUE_CLUSTER" });
    } finally {
      for (const client of clients) client.disconnect();
      for (const node of nodes) await node.stop();
    }
  });

  it.each([
    { what: "that evicts keys", words: ["--maxmemory-policy", "allkeys-lru"], code: "QUEUE_EVICTION_POLICY" },
    { what: "whose memory is full", words: ["--maxmemory", "1kb"], code: "QUEUE_FULL" },
    { what: "that is a replica", words: ["--replicaof", "127.0.0.1", "9"], code: "QUEUE_READ_ONLY" },
    {
      what: "that lacks the replicas it writes with",
      words: ["--min-replicas-to-write", "1"],
      code: "QUEUE_READ_ONLY",
    },
    {
      what: "whose user may not write",
      words: [],
      denied: "-@write",
      code: "QUEUE_REFUSED",
    },
    {
      what: "whose user may not run scripts",
      words: [],
      denied: "-eval",
      code: "QUEUE_REFUSED",
    },
  ])("a server $what is refused", async ({ words, code, ...more }) => {
    const server = await freshRedis(words);
    if ("denied" in more) {
      const redis = new Redis(server.url);
      await redis.call("ACL", "SETUSER", "default", more.denied);
      redis.disconnect();
    }
    try {
      await expect(openQueues({ backend: { kind: "redis", url: server.url } })).rejects.toMatchObject({ code });
    } finally {
      await server.stop();
    }
  });

  it("a server without the database in the URL is refused", async () => {
    const server = await freshRedis();
    try {
      await expect(openQueues({ backend: { kind: "redis", url: `${server.url}/99` } })).rejects.toMatchObject({
        code: "QUEUE_REFUSED",
        message: expect.stringContaining("DB index is out of range"),
      });
    } finally {
      await server.stop();
    }
  });

  it("a Sentinel is refused", async () => {
    const server = await freshRedis();
    const sentinel = await startSentinel(server.port);
    try {
      await expect(stackOn(sentinel.url)).rejects.toMatchObject({ code: "QUEUE_NOT_REDIS" });
    } finally {
      await sentinel.stop();
      await server.stop();
    }
  });

  it("a server that is not Redis is refused", async () => {
    const web = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    const port = await listen(web);
    try {
      await expect(stackOn(`redis://127.0.0.1:${port}`)).rejects.toMatchObject({ code: "QUEUE_NOT_REDIS" });
    } finally {
      web.close();
    }
  });

  it("a worker rests while a server refuses its requests, and continues afterwards", async () => {
    const server = await freshRedis();
    const redis = new Redis(server.url);
    const errors: string[] = [];
    const delivered: string[] = [];
    const queues = await openQueues({
      backend: { kind: "redis", url: server.url },
      onError: ({ code }) => errors.push(code),
    });
    try {
      queues.serve("control", async ({ runId }) => {
        delivered.push(runId);
        return { do: "done" };
      });
      await redis.config("SET", "maxmemory", "1kb");
      await until(() => errors.includes("QUEUE_FULL"));
      await sleep(1_500);
      // Without a rest there would be thousands.
      expect(errors.length).toBeLessThan(50);
      await redis.config("SET", "maxmemory", "0");
      const spec = {
        queue: "control",
        activityId: 1,
        epoch: 1,
        attempt: 1,
        enqueues: 1,
        delayMs: 0,
        parentJob: null,
      } as const;
      await until(async () => (await queues.enqueue([{ ...spec, runId: "after" }])).length === 0);
      await until(() => delivered.includes("after"));
    } finally {
      await queues.close();
      redis.disconnect();
      await server.stop();
    }
  });

  it("a wrong password fails the start, also where the queue may be unreachable", async () => {
    const server = await freshRedis();
    const redis = new Redis(server.url);
    await redis.config("SET", "requirepass", "right");
    redis.disconnect();
    try {
      await expect(stackOn(server.url.replace("//", "//:wrong@"))).rejects.toMatchObject({ code: "QUEUE_REFUSED" });
    } finally {
      await server.stop();
    }
  });
});

async function stackOn(redisUrl: string): Promise<void> {
  const reading = readConfig({ DATABASE_URL: database.url, REDIS_URL: redisUrl });
  if (!reading.ok) throw new Error(JSON.stringify(reading.findings));
  const stack = await openStack({ config: reading.config, cwd: tmpdir(), queue: "when there" });
  await stack.close();
}

async function startClusterNode() {
  const bus = await freePort();
  const server = await freshRedis(["--cluster-enabled", "yes", "--cluster-port", String(bus)]);
  return { ...server, bus };
}

/** It watches the server at this port. */
async function startSentinel(watched: number) {
  const source = await askService("redis-source");
  if (source.kind !== "program") throw new Error("Sentinel needs redis-server as a program");
  const directory = await mkdtemp(join(tmpdir(), "markmill-sentinel-"));
  const port = await freePort();
  const settings = `port ${port}\nbind 127.0.0.1\ndir ${directory}\nsentinel monitor main 127.0.0.1 ${watched} 1\n`;
  await writeFile(join(directory, "sentinel.conf"), settings);
  const { file, libraryPath } = source.program;
  const env = libraryPath === null ? process.env : { ...process.env, LD_LIBRARY_PATH: libraryPath };
  const child = spawn(file, [join(directory, "sentinel.conf"), "--sentinel"], { env, stdio: "ignore" });
  const watch = afterDeath('kill -KILL "$1"; rm -rf "$2"', [String(child.pid ?? 0), directory]);
  const url = `redis://127.0.0.1:${port}`;
  const client = new Redis(url, { retryStrategy: () => 50 });
  client.on("error", () => undefined);
  await client.ping();
  client.disconnect();
  return {
    url,
    async stop() {
      watch.callOff();
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Old servers are not available. A proxy answers with another `server_version_num` of the same length. */
async function pretendVersion(port: number, version: string) {
  const client = new pg.Client({ connectionString: postgres.url("postgres") });
  await client.connect();
  const { rows } = await client.query<{ version: string }>("select current_setting('server_version_num') as version");
  await client.end();
  const real = rows[0]?.version ?? "";
  const proxy = createServer((socket) => {
    const server = connect(port, "127.0.0.1");
    socket.pipe(server);
    server.on("data", (data) => socket.write(Buffer.from(data.toString("latin1").replaceAll(real, version), "latin1")));
    server.on("end", () => socket.end());
    for (const end of [server, socket]) end.on("error", () => undefined);
  });
  return { port: await listen(proxy), close: () => proxy.close() };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

const greeting = `# Greeting

# Workflow

\`\`\`mermaid
flowchart TD
    START --> PROMPT_GREET["Prompt: User Greet"]
    PROMPT_GREET --> SUCCESS
\`\`\`

# Prompts

## User Greet

Greet.
`;
