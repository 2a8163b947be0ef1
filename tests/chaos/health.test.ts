/** The health reports and logs of a deployment's processes while their servers stop and start under load. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, createClient } from "@markmill/contract";
import { parseScript, startScriptedModel } from "@markmill/llm";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { writeWorkflows } from "../e2e/cli-workflows.ts";
import {
  type MarkmillPlace,
  makePlace,
  markmill,
  type StartedMarkmill,
  startMarkmill,
} from "../support/markmill-process.ts";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import { freshRedis, type RedisServer, redisAvailable } from "../support/redis.ts";

interface Said {
  readonly status: number;
  readonly ok: boolean;
  readonly components: Readonly<
    Record<string, { readonly ok: boolean; readonly code?: string; readonly fix?: string }>
  >;
}

const replies = `rules: [{ when: { text: "Greet Ada" }, reply: late, delay: 4s }]
default: { reply: hello, delay: 200ms }
`;
/** The number of runs that are open when a server stops. */
const load = 40;

interface LogLine {
  readonly code?: string;
  readonly trouble?: "began" | "lasts" | "ended";
  readonly times?: number;
}

const roles = ["worker", "supervisor", "api"] as const;
const there = await redisAvailable("the health of processes while Redis comes and goes");

/** A proxy between the processes and Postgres, which acts as a broken network. */
async function breakable(url: string) {
  const through = new URL(url);
  const { hostname, port, searchParams } = through;
  const directory = searchParams.get("host");
  const behind =
    directory === null
      ? { host: hostname, port: Number(port) }
      : { path: `${directory}/.s.PGSQL.${searchParams.get("port")}` };
  const sockets = new Set<Socket>();
  let broken = false;
  const server = createServer((from) => {
    if (broken) return void from.destroy();
    const to = connect(behind);
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  through.search = "";
  through.host = `127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  return {
    url: through.href,
    cut() {
      broken = true;
      for (const socket of sockets) socket.destroy();
    },
    mend() {
      broken = false;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describe.skipIf(!there)("the health endpoints of worker, supervisor and API", () => {
  let place: MarkmillPlace & { remove(): Promise<void> };
  let database: TestDatabase;
  let line: Awaited<ReturnType<typeof breakable>>;
  let redis: RedisServer;
  let admin: Redis;
  let model: Awaited<ReturnType<typeof startScriptedModel>>;
  let client: Client | null = null;
  const logs = new Map<string, StartedMarkmill>();
  const processes = new Map<string, { readonly process: StartedMarkmill; readonly port: string }>();

  async function start(role: string): Promise<void> {
    const process = startMarkmill(place, [role]);
    const [, port = ""] = await process.says("stdout", new RegExp(`"healthPort":(\\d+).*${role} started`));
    processes.set(role, { process, port });
    logs.set(role, process);
  }
  async function ask(role: string, what: "live" | "ready", method = "GET"): Promise<Said> {
    const answer = await fetch(`http://127.0.0.1:${processes.get(role)?.port}/health/${what}`, { method });
    if (method === "HEAD") return { status: answer.status, ok: answer.ok, components: {} };
    return { status: answer.status, ...((await answer.json()) as Omit<Said, "status">) };
  }
  /** For worker, supervisor and API: the status of /health/ready and the code of a component. */
  const ready = async (component: string) =>
    await Promise.all(
      roles
        .filter((role) => processes.has(role))
        .map(async (role) => {
          const { status, components } = await ask(role, "ready");
          return `${role} ${status} ${components[component]?.code ?? "ok"}`;
        }),
    );
  /** Runs with prompts, so that the queue and the database are busy all the time. */
  async function startRuns(name: string): Promise<void> {
    const api = processes.get("api")?.process;
    const [, token = ""] = (await api?.says("stderr", /first key \(shown only this once\): (\S+)/)) ?? [];
    const [, url = ""] = (await api?.says("stdout", /"url":"([^"]+)"/)) ?? [];
    client ??= createClient({ url, token });
    const text = readFileSync(join(place.cwd, "two.wf.md"), "utf8");
    const { hash } = await client.saveDefinition({ body: { root: "two.wf.md", files: { "two.wf.md": text } } });
    for (let n = 0; n < load; n += 1) await client.startRun({ body: { definition: hash, labels: { load: name } } });
  }
  async function runsEnd(name: string): Promise<void> {
    const open = async () =>
      (await client?.listRuns({ query: { label: [`load=${name}`], limit: 100 } }))?.items.filter(
        ({ status }) => status !== "success",
      ).length;
    await expect.poll(open, { timeout: 120_000 }).toBe(0);
  }
  /** Log lines about trouble, of one process and one code. */
  function linesOf(role: string, code: string): LogLine[] {
    const lines = (logs.get(role)?.stdout() ?? "").split("\n").filter((line) => line.startsWith("{"));
    return lines.map((line): LogLine => JSON.parse(line)).filter((line) => line.code === code);
  }
  const allLive = async () =>
    expect(await Promise.all([...processes.keys()].map(async (role) => (await ask(role, "live")).status))).toEqual([
      200, 200, 200,
    ]);

  const adaAsked = () => model.requests().filter((request) => JSON.stringify(request).includes("Greet Ada")).length;

  beforeAll(async () => {
    database = await freshDatabase();
    line = await breakable(database.url);
    redis = await freshRedis();
    admin = new Redis(redis.url, { lazyConnect: true, retryStrategy: () => 100 });
    admin.on("error", () => undefined);
    const script = parseScript(replies, "replies.yaml");
    if (!script.ok) throw new Error(JSON.stringify(script.findings));
    model = await startScriptedModel({ script: script.script, port: 0 });
    place = await makePlace({
      SANDBOX: "none",
      DATABASE_URL: line.url,
      REDIS_URL: redis.url,
      QUEUE_BACKEND: "redis",
      HEALTH_PORT: "0",
      API_PORT: "0",
      OPENAI_BASE_URL: model.url,
      DEFAULT_MODEL: "scripted",
    });
    writeWorkflows(place.cwd);
    expect(await markmill(place, ["migrate"])).toMatchObject({ code: 0 });
    await Promise.all(roles.map(start));
    await admin.connect();
  });
  afterAll(async () => {
    for (const { process } of processes.values()) process.child.kill("SIGKILL");
    admin?.disconnect();
    await line?.close();
    await redis?.stop();
    await model?.close();
    await database?.drop();
    await place?.remove();
  });

  it("answer GET and HEAD at two addresses, and at no other", async () => {
    for (const [role, { port }] of processes) {
      for (const what of ["live", "ready"] as const) {
        expect([role, what, await ask(role, what)]).toMatchObject([role, what, { status: 200, ok: true }]);
        expect((await ask(role, what, "HEAD")).status).toBe(200);
      }
      const post = await fetch(`http://127.0.0.1:${port}/health/live`, { method: "POST" });
      expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
      expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(404);
    }
    expect((await ask("worker", "ready")).components).toMatchObject({ database: { ok: true }, queue: { ok: true } });
  });

  it.each([
    ["is full", "QUEUE_FULL", () => admin.config("SET", "maxmemory", "1"), () => admin.config("SET", "maxmemory", "0")],
    ["is a replica", "QUEUE_READ_ONLY", () => admin.replicaof("127.0.0.1", 1), () => admin.replicaof("NO", "ONE")],
    ["says nothing", "QUEUE_UNREACHABLE", () => redis.freeze(), () => redis.thaw()],
  ])("report that Redis %s, and later that it is healthy again", async (_, code, break_, mend) => {
    await break_();
    // The API accepts runs without a queue.
    await expect
      .poll(() => ready("queue"))
      .toEqual([`worker 503 ${code}`, `supervisor 503 ${code}`, `api 200 ${code}`]);
    expect((await ask("worker", "ready")).components.queue?.fix).toMatch(/Redis|REDIS_URL/);
    // An idle process logs it too.
    await expect.poll(() => linesOf("worker", code).length).toBeGreaterThan(0);
    await allLive();
    await mend();
    await expect.poll(() => ready("queue")).toEqual(["worker 200 ok", "supervisor 200 ok", "api 200 ok"]);
  });

  // Longer than a worker without deliveries waits before it stops.
  it.runIf(inject("thorough"))("keep every worker alive while Redis is full for long", async () => {
    await startRuns("full");
    await admin.config("SET", "maxmemory", "1");
    await sleep(35_000);
    expect((await ask("worker", "ready")).components).toMatchObject({
      queue: { code: "QUEUE_FULL" },
      worker: { ok: true },
    });
    await allLive();
    await admin.config("SET", "maxmemory", "0");
    await runsEnd("full");
  });

  it.each([
    ["Redis", "queue", "QUEUE_UNREACHABLE", () => redis.kill(), () => redis.restart()],
    ["Postgres", "database", "STORE_UNREACHABLE", async () => line.cut(), async () => line.mend()],
  ])(
    "report that %s is lost under load, in a few log lines, and later that it is back",
    async (name, part, code, lose, mend) => {
      await startRuns(name);
      await lose();
      const api = part === "queue" ? `api 200 ${code}` : `api 503 ${code}`;
      await expect.poll(() => ready(part)).toEqual([`worker 503 ${code}`, `supervisor 503 ${code}`, api]);
      // Long enough for every part of each process to meet the trouble many times.
      await expect.poll(() => linesOf("worker", code).length).toBeGreaterThan(0);
      await sleep(2_000);
      await allLive();
      await mend();
      await expect.poll(() => ready(part)).toEqual(["worker 200 ok", "supervisor 200 ok", "api 200 ok"]);
      await runsEnd(name);
    },
  );

  it("report a worker with an unsaved reply as live, but not ready, while the database is unreachable and while it drains", async () => {
    const worker = processes.get("worker");
    if (worker === undefined) throw new Error("no worker");
    const elsewhere: MarkmillPlace = { ...place, env: { ...place.env, DATABASE_URL: database.url } };
    expect(
      await markmill(elsewhere, ["run", "greet.wf.md", "NAME=Ada", "--model", "scripted", "--detach"]),
    ).toMatchObject({ code: 0 });
    await expect.poll(adaAsked).toBe(1);
    line.cut();
    const away = ["worker 503", "supervisor 503", "api 503"].map((told) => `${told} STORE_UNREACHABLE`);
    await expect.poll(() => ready("database")).toEqual(away);
    await allLive();
    worker.process.child.kill("SIGTERM");
    await expect.poll(async () => (await ask("worker", "ready")).components.process?.code).toBe("PROCESS_STOPPING");
    await allLive();
    line.mend();
    expect((await worker.process.ended).code).toBe(0);
    processes.delete("worker");
    await expect.poll(() => ready("database")).toEqual(["supervisor 200 ok", "api 200 ok"]);
    const shown = await markmill(elsewhere, ["status", "--json"]);
    expect(JSON.parse(shown.stdout).items[0]).toMatchObject({ status: "success" });
    expect(adaAsked()).toBe(1);
  });

  it("count each kind of end, and report how often it happened", async () => {
    const queue = () => linesOf("api", "QUEUE_UNREACHABLE").map(({ trouble }) => trouble);
    await expect.poll(queue).toContain("ended");
    expect(linesOf("api", "QUEUE_UNREACHABLE").at(-1)?.times).toBeGreaterThan(2);
    for (const code of ["QUEUE_UNREACHABLE", "STORE_UNREACHABLE"]) {
      for (const role of roles) {
        const told = linesOf(role, code).map(({ trouble }) => trouble);
        expect([role, ...told.filter((trouble) => trouble !== "lasts")].join(" ")).toMatch(
          /^\w+( began( ended)?){0,2}$/,
        );
        expect(told.filter((trouble) => trouble === "lasts").length).toBeLessThan(4);
      }
    }
  });
});
