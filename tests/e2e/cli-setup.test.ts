// The setup, and the output after a wrong setup. Starting and stopping use the shipped command.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { join } from "node:path";
import { parseScript, startScriptedModel } from "@markmill/llm";
import { Redis } from "ioredis";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { askService } from "../support/ask-services.ts";
import { type MarkmillPlace, makePlace, markmill, startMarkmill } from "../support/markmill-process.ts";
import { freshDatabase } from "../support/postgres.ts";
import { freshRedis, redisAvailable } from "../support/redis.ts";
import { type ResidentMarkmill, residentMarkmill } from "../support/resident-markmill.ts";
import { writeWorkflows } from "./cli-workflows.ts";

let place: MarkmillPlace & { remove(): Promise<void> };
let shipped: MarkmillPlace & { remove(): Promise<void> };
let resident: ResidentMarkmill;
let database: Awaited<ReturnType<typeof freshDatabase>>;
const withEnv = (env: Readonly<Record<string, string>>): MarkmillPlace => ({ ...place, env: { ...place.env, ...env } });

beforeAll(async () => {
  resident = await residentMarkmill();
  place = await makePlace({ SANDBOX: "none" }, { postgres: "running" });
  shipped = await makePlace({ SANDBOX: "none" }, { command: "shipped", home: "bare" });
  for (const { cwd } of [place, shipped]) writeWorkflows(cwd);
  database = await freshDatabase();
});
afterAll(async () => {
  await resident.close();
  await database.drop();
  await place.remove();
  await shipped.remove();
});

/** Answers every request with a sign-in page. */
async function serveHtml(): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<html><body>Sign in</body></html>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

/** Answers every request with one very long reply. */
async function serveReply(text: string): Promise<{ readonly server: Server; readonly url: string }> {
  const body = JSON.stringify({
    model: "scripted",
    choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: text } }],
    usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 },
  });
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(200, { "content-type": "application/json" }).end(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

const tooWide = (text: string) => text.split("\n").filter((line) => line.length > 80);

describe("markmill --help", () => {
  it("lists the commands without starting a server, and every command has its own help", async () => {
    const { code, stdout } = await markmill(shipped, ["--help"]);
    expect(code).toBe(0);
    const names = [...stdout.matchAll(/^ {2}([a-z-]+) {2,}[A-Z]/gm)].map(([, name]) => name ?? "");
    expect(names.length).toBeGreaterThanOrEqual(19);
    expect(tooWide(stdout)).toEqual([]);
    for (const name of names) {
      const help = await resident.say(place, [name, "--help"]);
      expect(help.stdout).toMatch(new RegExp(`^Usage: markmill ${name}`));
      expect(tooWide(help.stdout)).toEqual([]);
    }
  });
});

describe("a wrong setup", () => {
  it("an unreachable Postgres is reported within seconds, with advice and without the password", async () => {
    const { code, stderr } = await resident.say(withEnv({ DATABASE_URL: "postgresql://me:hunter2@127.0.0.1:9/x" }), [
      "status",
    ]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^markmill: STORE_UNREACHABLE: .*\nfix: Check that Postgres runs/);
    expect(stderr).not.toMatch(/hunter2|\n\s+at /);
  });

  it("an unreachable Redis is reported with advice and without the password", async () => {
    const env = withEnv({ DATABASE_URL: database.url, REDIS_URL: "redis://:hunter2@127.0.0.1:9" });
    const { code, stderr } = await resident.say(env, ["status"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/markmill: QUEUE_UNREACHABLE: .*\nfix: /);
    expect(stderr).not.toContain("hunter2");
  });

  it("production processes without their servers exit with code, message and fix, and without a password in their logs", async () => {
    const [worker, supervisor] = await Promise.all([
      markmill(withEnv({ DATABASE_URL: "postgresql://me:hunter2@127.0.0.1:9/x" }), ["worker"]),
      markmill(withEnv({ DATABASE_URL: database.url, REDIS_URL: "redis://:hunter2@127.0.0.1:9" }), ["supervisor"]),
    ]);
    expect(worker).toMatchObject({ code: 1, stderr: expect.stringMatching(/^markmill: STORE_UNREACHABLE: .*\nfix: /) });
    expect(supervisor).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^markmill: QUEUE_UNREACHABLE: .*\nfix: /),
    });
    expect(JSON.stringify([worker, supervisor])).not.toContain("hunter2");
  });

  it("a server that accepts the connection and does not answer does not block the command", async () => {
    const sockets = new Set<Socket>();
    const silent = createTcpServer((socket) => sockets.add(socket.on("error", () => undefined)));
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const at = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    try {
      const [store, queue] = await Promise.all([
        markmill(withEnv({ DATABASE_URL: `postgresql://me@${at}/x` }), [
          "run",
          "greet.wf.md",
          "NAME=x",
          "--model",
          "scripted",
        ]),
        markmill(withEnv({ DATABASE_URL: database.url, REDIS_URL: `redis://${at}` }), [
          "run",
          "greet.wf.md",
          "NAME=x",
          "--model",
          "scripted",
        ]),
      ]);
      expect(store).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^markmill: STORE_UNREACHABLE: .*\nfix: /m),
      });
      expect(queue).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^markmill: QUEUE_UNREACHABLE: .*\nfix: /m),
      });
    } finally {
      for (const socket of sockets) socket.destroy();
      silent.close();
    }
  });

  it("a schema of a newer version is left unchanged", async () => {
    const newer = await freshDatabase();
    try {
      const env = withEnv({ DATABASE_URL: newer.url });
      expect(await resident.say(env, ["migrate"])).toMatchObject({ code: 0 });
      const client = new Client({ connectionString: newer.url });
      await client.connect();
      await client.query("insert into markmill.migrations (name, checksum) values ('9999-future', 'x')");
      await client.end();
      const { code, stderr } = await resident.say(env, ["status"]);
      expect(code).toBe(1);
      expect(stderr).toMatch(/STORE_SCHEMA_NEWER: .*9999-future.*\nfix: Update Markmill/);
    } finally {
      await newer.drop();
    }
  });

  it("a port in use is named", async () => {
    const server = createTcpServer();
    await new Promise<void>((resolve) => server.listen(0, resolve));
    const port = String((server.address() as AddressInfo).port);
    try {
      const mock = await resident.say(place, ["mock-model", "replies.yaml", "--port", port]);
      expect(mock).toMatchObject({ code: 1, stderr: expect.stringContaining(`SCRIPTED_PORT_IN_USE: Port ${port}`) });
      const worker = await markmill(withEnv({ DATABASE_URL: database.url, HEALTH_PORT: port }), ["worker"]);
      expect(worker).toMatchObject({ code: 1, stderr: expect.stringMatching(/PORT_IN_USE: .*\nfix: .*HEALTH_PORT/) });
    } finally {
      server.close();
    }
  });

  it("a wrong setting is reported as wrong usage, with all mistakes at once", async () => {
    const { code, stderr } = await resident.say(withEnv({ SANDBOX: "chroot", LOCK_DURATION_MS: "soon" }), ["status"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/CONFIG_INVALID: LOCK_DURATION_MS [\s\S]*CONFIG_INVALID: SANDBOX /);
  });

  it("a model that answers with a web page is reported as such", async () => {
    const { server, url } = await serveHtml();
    try {
      const env = withEnv({ OPENAI_BASE_URL: url });
      const run = ["run", "greet.wf.md", "NAME=x", "--model", "scripted", "--patience", "1s"];
      const { code, stderr } = await resident.say(env, run);
      expect(code).toBe(8);
      expect(stderr).toMatch(/MODEL_REPLY_HTML[\s\S]*check that OPENAI_BASE_URL/);
      const doctor = await resident.say(env, ["doctor", "--quick"]);
      expect(doctor.code).toBe(1);
      expect(doctor.stdout).toMatch(/^fail {2}model .*web page\n.*fix: /m);
    } finally {
      server.close();
    }
  });

  it("a missing key is reported before any request, and doctor reports it too", async () => {
    const { OPENAI_BASE_URL: _, ...env } = place.env;
    const keyless: MarkmillPlace = { ...place, env };
    const { code, stderr } = await resident.say(keyless, ["run", "greet.wf.md", "NAME=x", "--model", "gpt-5-mini"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^MODEL_KEY_MISSING: https:\/\/api\.openai\.com\/v1 needs an API key.*\n.*fix: Set OPENAI_API_KEY/m,
    );
    const doctor = await resident.say(keyless, ["doctor", "--quick"]);
    expect(doctor.stdout).toMatch(/^warn {2}model +OPENAI_API_KEY is not set.*\n +fix: Set OPENAI_API_KEY/m);
  });

  it("a reply of 10 MB is refused by default, and arrives whole if the setting allows it", async () => {
    const text = `${"words ".repeat(1_750_000)}end`;
    const { server, url } = await serveReply(text);
    try {
      const run = ["run", "greet.wf.md", "NAME=x", "--model", "scripted"];
      const refused = await resident.say(withEnv({ OPENAI_BASE_URL: url }), run);
      expect(refused.code).toBe(1);
      expect(refused.stderr).toMatch(/^reason: MODEL_REPLY_TOO_LARGE: .*raise it.*The limit is 4194304 bytes/m);
      expect(refused.stdout.length).toBeLessThan(1_000);
      const room = {
        MAX_REPLY_BYTES: "16777216",
        CEILING_VALUE_CHARS: "12000000",
        CEILING_STATE_CHARS: "48000000",
      };
      const allowed = await resident.say(withEnv({ OPENAI_BASE_URL: url, ...room }), run);
      expect(allowed.code).toBe(0);
      // The comparison must not print a diff of 10 MB.
      expect(allowed.stdout === `${text}\n`).toBe(true);
      expect(Math.max(...allowed.stderr.split("\n").map((line) => line.length))).toBeLessThan(250);
    } finally {
      server.close();
    }
  });
});

describe.skipIf(!(await redisAvailable("the command with its queue in Redis")))("a queue in Redis", () => {
  it("runs a workflow, and a server that may evict jobs is refused, by doctor too", async () => {
    const redis = await freshRedis();
    const client = new Redis(redis.url);
    try {
      const env = withEnv({ DATABASE_URL: database.url, REDIS_URL: redis.url });
      const greeted = await resident.say(env, ["run", "greet.wf.md", "NAME=Ada", "--script", "replies.yaml"]);
      expect(greeted).toMatchObject({ code: 0, stdout: "Welcome, Ada!\n" });
      await client.config("SET", "maxmemory-policy", "allkeys-lru");
      const refused = await resident.say(env, ["run", "greet.wf.md", "NAME=Ada", "--script", "replies.yaml"]);
      expect(refused).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/QUEUE_EVICTION_POLICY: .*allkeys-lru.*\nfix: .*noeviction/),
      });
      expect((await resident.say(env, ["doctor", "--quick"])).stdout).toMatch(/^fail {2}queue .*allkeys-lru/m);
    } finally {
      client.disconnect();
      await redis.stop();
    }
  });
});

describe("markmill doctor", () => {
  it("reports the state of each part, and shows no secret", async () => {
    const env = withEnv({ DATABASE_URL: database.url, OPENAI_API_KEY: "hunter2" });
    const { code, stdout } = await resident.say(env, ["doctor", "--quick", "--json"]);
    const report = JSON.parse(stdout);
    expect(code).toBe(1);
    expect(report.ok).toBe(false);
    const states = Object.fromEntries(
      report.items.map(({ check, state }: { check: string; state: string }) => [check, state]),
    );
    expect(states).toMatchObject({
      node: "ok",
      configuration: "ok",
      disk: "ok",
      database: "ok",
      memory: "ok",
      queue: "ok",
      model: "fail",
      sandbox: "warn",
    });
    expect(stdout).not.toContain("hunter2");
  });

  it("shows no password of an address, also if a library repeats it", async () => {
    const env = withEnv({
      DATABASE_URL: "postgresql://me:hunter2@127.0.0.1:9/x",
      OPENAI_BASE_URL: "http://me:hunter2@127.0.0.1:9/v1?api_key=hunter2",
      OPENAI_API_KEY: "sk-hunter2",
    });
    for (const manner of [[], ["--json"]]) {
      const { stdout, stderr } = await resident.say(env, ["doctor", "--quick", ...manner]);
      expect(stdout).toContain("127.0.0.1:9");
      expect(stdout + stderr).not.toContain("hunter2");
    }
  });
});

describe("markmill sandbox self-test", () => {
  it("refuses to run its probes on the bare machine", async () => {
    const { code, stderr } = await resident.say(place, ["sandbox", "self-test"]);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("'none' is not a sandbox") });
  });

  it("lists the refused actions, or the reason why no sandbox can be tested", async () => {
    const { code, stdout, stderr } = await askService("jail-self-test");
    if (stdout === "") {
      expect({ code, stderr }).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^markmill: SANDBOX_\w+: .*\nfix: /),
      });
      return;
    }
    const report = JSON.parse(stdout);
    expect(report.probes.length).toBeGreaterThanOrEqual(25);
    expect({ code, failures: report.failures }).toEqual({ code: 0, failures: [] });
  });
});

describe("production processes", () => {
  it("a worker and a supervisor run what a client without workers starts, and exit in order", async () => {
    const script = parseScript(readFileSync(join(shipped.cwd, "replies.yaml"), "utf8"), "replies.yaml");
    if (!script.ok) throw new Error(JSON.stringify(script.findings));
    const model = await startScriptedModel({ script: script.script, port: 0 });
    const settings = { DATABASE_URL: database.url, OPENAI_BASE_URL: model.url, HEALTH_PORT: "0" };
    const env = { ...shipped, env: { ...shipped.env, ...settings } };
    const worker = startMarkmill(env, ["worker"]);
    const supervisor = startMarkmill(env, ["supervisor"]);
    const [, port] = await worker.says("stdout", /"healthPort":(\d+).*worker started/);
    await supervisor.says("stdout", /supervisor started/);
    const health = await fetch(`http://127.0.0.1:${port}/health/ready`);
    expect([health.status, await health.json()]).toMatchObject([200, { ok: true }]);

    expect(await resident.say(env, ["run", "greet.wf.md", "NAME=Ada", "--model", "scripted"])).toMatchObject({
      code: 0,
      stdout: "Welcome, Ada!\n",
    });
    const refused = await resident.say(env, ["run", "greet.wf.md", "NAME=Ada", "--script", "replies.yaml"]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("has its own workers") });

    for (const process of [worker, supervisor]) process.child.kill("SIGTERM");
    const ends = await Promise.all([worker.ended, supervisor.ended]);
    await model.close();
    expect(ends.map(({ code }) => code)).toEqual([0, 0]);
    for (const line of ends[0].stdout.trim().split("\n")) expect(JSON.parse(line)).toMatchObject({ role: "worker" });
  });
});

describe("markmill up and down", () => {
  it("up starts one instance, and down stops it and Postgres with it", async () => {
    const first = await markmill(shipped, ["up", "--detach"]);
    expect(first).toMatchObject({ code: 0, stderr: expect.stringMatching(/^up: process \d+/) });
    expect(first.stderr).toMatch(/^api: http:\/\/127\.0\.0\.1:\d+ /m);
    expect(first.stderr).toMatch(/^first key \(shown only this once\): mm_[\w-]+$/m);
    expect((await resident.say(shipped, ["up", "--detach"])).stderr).toMatch(/^the stack is already up/);
    // The key's file was deleted. A person with access to the database can replace a lost key.
    expect(readdirSync(join(shipped.cwd, ".markmill")).filter((name) => /^up-/.test(name))).toEqual([]);
    const replaced = await resident.say(shipped, ["up", "--new-key"]);
    expect(replaced).toMatchObject({ code: 0, stdout: expect.stringMatching(/^mm_[\w-]+\n$/) });
    const url = /^api: (\S+)/m.exec(first.stderr)?.[1];
    const headers = { authorization: `Bearer ${replaced.stdout.trim()}` };
    expect((await fetch(`${url}/v1/tenants`, { headers })).status).toBe(200);
    const pid = Number(/process (\d+)/.exec(first.stderr)?.[1]);
    expect(process.kill(pid, 0)).toBe(true);
    const down = await markmill(shipped, ["down"]);
    expect(down).toMatchObject({ code: 0, stderr: expect.stringContaining(`stopped: process ${pid}`) });
    expect(existsSync(join(shipped.cwd, ".markmill/postgres/data/postmaster.pid"))).toBe(false);
    expect(await resident.say(shipped, ["down"])).toMatchObject({ code: 0, stderr: "the stack was not running\n" });
  });

  it("up without --detach runs until it is interrupted", async () => {
    const up = startMarkmill(shipped, ["up"]);
    await up.says("stderr", /^up: Postgres/m);
    up.child.kill("SIGINT");
    expect(await up.ended).toMatchObject({ code: 0 });
  });
});
