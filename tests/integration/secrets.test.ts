/**
 * The product reveals no secret of its configuration. Every secret has a unique value, and every outside server echoes its requests. The
 * test searches everything that the shipped processes write, answer, store and export.
 */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { variables } from "@markmill/config";
import { createClient } from "@markmill/contract";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { makePlace, markmill, type StartedMarkmill, startMarkmill } from "../support/markmill-process.ts";
import { workflow } from "../support/mill.ts";
import { type OtlpReceiver, startOtlpReceiver } from "../support/otlp-receiver.ts";
import { freshDatabase } from "../support/postgres.ts";
import { until } from "../support/until.ts";

/** Long enough to appear in no text by chance. No value is a part of another. */
const secretOf = (name: string) => `Qx7${name.toLowerCase().replaceAll("_", "")}Zk9marker`;
const secretNames = variables.filter(({ secret }) => secret === true).map(({ name }) => name);
/** Secrets that are sent to no server in these tests: store passwords, a signing key, secrets of other commands. */
const unsent = ["DATABASE_URL", "REDIS_URL", "S3_SECRET_ACCESS_KEY", "GIT_TOKEN", "MARKMILL_TOKEN"];

const closing: (() => Promise<unknown>)[] = [];
const started: StartedMarkmill[] = [];
let echo: Awaited<ReturnType<typeof startEcho>>;
let collector: OtlpReceiver;
let database: pg.Client;
let env: Record<string, string>;
let place: Awaited<ReturnType<typeof makePlace>>;

/** A model, tools, a bucket and a collector that echo their requests, mostly in errors. */
async function startEcho() {
  const sent: string[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts).toString("utf8");
    const said = saidBack(request.url ?? "", request.headers);
    sent.push(said);
    const json = (status: number, value: unknown) =>
      void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    if (!request.url?.startsWith("/v1/chat")) {
      const status = request.url?.startsWith("/told") ? 200 : 400;
      return void response.writeHead(status, { "content-type": "text/plain" }).end(said);
    }
    const status = Number(/refuse with (\d+)/.exec(body)?.[1] ?? 200);
    if (status !== 200) return json(status, { error: { message: said, type: "x", code: said, param: said } });
    const names = body.includes('"role":"tool"')
      ? []
      : [...body.matchAll(/use the tool (\w+)/g)].map(([, name]) => name);
    const tool_calls = names.map((name, index) => ({
      id: `c${index}`,
      type: "function",
      function: { name, arguments: JSON.stringify(toolArguments[name ?? ""] ?? {}) },
    }));
    const message = { role: "assistant", content: said, ...(tool_calls.length > 0 && { tool_calls }) };
    json(200, {
      id: "x",
      object: "chat.completion",
      created: 1,
      model: "scripted",
      choices: [{ index: 0, message, finish_reason: tool_calls.length > 0 ? "tool_calls" : "stop" }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    address: `127.0.0.1:${port}`,
    sent,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function saidBack(url: string, headers: IncomingHttpHeaders): string {
  return `I got ${url} with ${JSON.stringify(headers)}`;
}

const toolArguments: Record<string, object> = { serper: { query: "tides" }, search: { query: "tides" } };

beforeAll(async () => {
  const made = await freshDatabase();
  closing.push(() => made.drop());
  database = new pg.Client({ connectionString: made.url });
  await database.connect();
  closing.push(() => database.end());
  const databaseUrl = new URL(made.url);
  // If the server requires a password, the URL already contains it.
  if (databaseUrl.password === "") databaseUrl.password = secretOf("DATABASE_URL");
  echo = await startEcho();
  closing.push(() => echo.close());
  collector = await startOtlpReceiver();
  closing.push(() => collector.close());
  place = await makePlace();
  closing.push(() => place.remove());
  const given = Object.fromEntries(secretNames.map((name) => [name, secretOf(name)]));
  env = {
    ...place.env,
    ...given,
    DATABASE_URL: databaseUrl.href,
    REDIS_URL: `redis://:${secretOf("REDIS_URL")}@127.0.0.1:1/0`,
    QUEUE_BACKEND: "postgres",
    OPENAI_BASE_URL: `${echo.url}/v1`,
    DEFAULT_MODEL: "scripted",
    LOG_LEVEL: "trace",
    SANDBOX: "none",
    API_PORT: "0",
    PG_POOL_SIZE: "4",
    GIT_TOKEN_HOST: "git.example",
    BLOBS: "s3",
    S3_BUCKET: "files",
    S3_ENDPOINT: echo.url,
    TOOL_ALLOW: echo.address,
    TOOL_SECRETS: JSON.stringify({ T: { value: secretOf("TOOL_SECRETS"), hosts: [`http://${echo.address}`] } }),
    TOOL_SERPER_URL: `${echo.url}/serper`,
    TOOL_JINA_URL: `${echo.url}/told`,
    TOOL_BROWSERLESS_URL: echo.url,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`,
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${echo.url}/metrics`,
    OTEL_EXPORTER_OTLP_HEADERS: `x-key=${secretOf("OTEL_EXPORTER_OTLP_HEADERS")}`,
    OTEL_BSP_SCHEDULE_DELAY: "100",
    OTEL_METRIC_EXPORT_INTERVAL: "500",
  };
  toolArguments.jina = { website: `${echo.url}/page` };
  toolArguments.browserless = { website: `${echo.url}/page` };
});
afterAll(async () => {
  await stopAll();
  for (const close of closing.splice(0).reverse()) await close();
});

async function start(role: string): Promise<StartedMarkmill> {
  const process = startMarkmill({ ...place, env }, [role]);
  started.push(process);
  await process.says("stdout", new RegExp(`${role} started`));
  return process;
}

async function stopAll(): Promise<void> {
  for (const { child } of started) child.kill("SIGTERM");
  await Promise.all(started.map(({ ended }) => ended));
}

/** Names of the secrets that a text contains, whole or as a long part. */
function toldIn(text: string): string[] {
  return secretNames.filter((name) => text.includes(secretOf(name).slice(0, 12)));
}

it("no secret of the configuration is in a log, a problem, an event, the history, the database or a span", async () => {
  const api = await start("api");
  await Promise.all([start("worker"), start("supervisor")]);
  const url = /"url":"([^"]+)"/.exec(api.stdout())?.[1] ?? "";
  const token = (await api.says("stderr", /first key \(shown only this once\): (\S+)/))[1] ?? "";
  const client = createClient({ url, token });
  const headers = { authorization: `Bearer ${token}` };
  const http = (path: string) =>
    `{ description: Asks., url: "${echo.url}${path}", headers: { Authorization: { secret: T, before: "Bearer " } }, schema: { type: object }, repeat: safe }`;
  const tools = `---\ntools: { told: ${http("/told")}, refused: ${http("/refused")}, serper: serper, jina: jina, browserless: browserless }\n---\n`;
  const asks = ["told", "refused", "serper", "jina", "browserless"].map((name) => `use the tool ${name}`).join(", ");
  const texts = { refused: "refuse with 400", broken: "refuse with 500", shut: "refuse with 401", tools: asks };
  const answers: string[] = [];
  const ids: string[] = [];
  for (const [name, text] of Object.entries(texts)) {
    const head = name === "tools" ? tools : "";
    const source = workflow('  START --> PROMPT_A["PROMPT: User A"] --> SUCCESS', { "User A": text }, head);
    const { hash } = await client.saveDefinition({ body: { root: "a.wf.md", files: { "a.wf.md": source } } });
    ids.push((await client.startRun({ body: { definition: hash } })).id);
  }
  // Every process has reported its error: it ended, or it waits and says for what.
  for (const id of ids) {
    await until(async () => {
      const run = await client.getRun({ params: { id } });
      const events = await client.listEvents({ params: { id }, query: {} });
      return run.endedAt !== null || JSON.stringify([run, events]).includes("MODEL_") ? true : null;
    });
  }
  await until(async () => (collector.spans().some(({ name }) => name === "run") ? true : null));
  for (const id of ids) {
    for (const part of ["", "/activities", "/calls", "/tool-calls", "/messages", "/variables", "/events", "/replay"]) {
      const answer = await fetch(`${url}/v1/runs/${id}${part}`, { headers });
      expect(answer.status, part).toBe(200);
      answers.push(await answer.text());
    }
  }
  // The bucket refuses the request with a reason.
  const uploaded = await fetch(`${url}/v1/files`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/octet-stream" },
    body: new Uint8Array(200_000),
  });
  expect(uploaded.status).toBeGreaterThanOrEqual(500);
  answers.push(await uploaded.text());
  for (const path of [
    "/metrics",
    "/v1/workers",
    "/v1/models",
    "/v1/audit",
    "/health/ready",
    "/openapi.json",
    "/v1/none",
  ]) {
    answers.push(await (await fetch(`${url}${path}`, { headers })).text());
  }
  await stopAll();

  // These secrets were sent, so the servers could echo them.
  expect(secretNames.filter((name) => !toldIn(echo.sent.join("\n")).includes(name)).sort()).toEqual([...unsent].sort());
  expect(answers.join("\n")).toContain("I got /");
  expect(answers.flatMap((text) => toldIn(text).map((name) => [name, text.slice(0, 500)]))).toEqual([]);
  for (const process of started) {
    const { stdout, stderr } = await process.ended;
    expect(stdout.length).toBeGreaterThan(100);
    expect(toldIn(stdout + stderr)).toEqual([]);
  }
  expect(collector.raw().length).toBeGreaterThan(1_000);
  expect(toldIn(collector.raw())).toEqual([]);
  const tables = await database.query<{ name: string }>(
    "select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')",
  );
  expect(tables.rows.length).toBeGreaterThan(10);
  for (const { name } of tables.rows) {
    const { rows } = await database.query<{ row: string }>(`select to_jsonb(one)::text as row from ${name} one`);
    expect([name, toldIn(rows.map(({ row }) => row).join("\n"))]).toEqual([name, []]);
  }
});

it("a command whose stores are unreachable or refuse it prints the reason without passwords", async () => {
  const away = { ...env, DATABASE_URL: `postgresql://app:${secretOf("DATABASE_URL")}@127.0.0.1:1/markmill` };
  const { MARKMILL_URL: _, MARKMILL_TOKEN: __, ...rest } = away as Record<string, string>;
  for (const args of [["status"], ["migrate"], ["doctor"], ["status", "--json"]]) {
    const { code, stdout, stderr } = await markmill({ ...place, env: rest }, args);
    expect(code, args.join(" ")).not.toBe(0);
    expect(stdout + stderr).not.toBe("");
    expect([args, toldIn(stdout + stderr)]).toEqual([args, []]);
  }
});
