// The API from outside: a client generated from the OpenAPI document, the commands of docs/api.md, an unreachable queue, and a
// server that is killed in the middle of a start.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { ApiProblem, createClient } from "@markmill/contract";
import { generate, HttpClient } from "openapi-typescript-codegen";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { askingWorkflow, startApi, type TestApi } from "../support/api.ts";
import { type Mill, startMill, workflow } from "../support/mill.ts";
import { migratedDatabase } from "../support/postgres.ts";
import { freshRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

const run = promisify(execFile);
let mill: Mill;
let api: TestApi;
let folder: string;
beforeAll(async () => {
  mill = await startMill({ backend: "postgres", script: "default: { reply: ok }\n" });
  api = await startApi(mill);
  folder = await mkdtemp(join(tmpdir(), "markmill-api-"));
});
afterAll(async () => {
  await api?.close();
  await mill?.close();
  await rm(folder, { recursive: true, force: true });
});

const steps = workflow('  START --> SET_A["SET: A = 1"] --> SUCCESS');

it("a generated client of the OpenAPI document starts a run and streams its events", async () => {
  const document = JSON.parse(await (await fetch(`${api.url}/openapi.json`)).text());
  await generate({ input: document, output: join(folder, "client"), httpClient: HttpClient.FETCH });
  const made = await import(pathToFileURL(join(folder, "client", "index.ts")).href);
  made.OpenAPI.BASE = api.url;
  made.OpenAPI.TOKEN = await api.key(["owner"]);
  const { hash } = await made.DefinitionsService.saveDefinition({ root: "a.wf.md", files: { "a.wf.md": steps } });
  const { id } = await made.RunsService.startRun({ definition: hash });
  let after = 0;
  const types: string[] = [];
  for (let ended = false; !ended; ) {
    const page = await made.EventsService.listEvents(id, after, 50, 5_000);
    types.push(...page.items.map(({ type }: { type: string }) => type));
    after = page.last;
    ended = page.ended;
  }
  expect(types).toEqual(["run.started", "activity.succeeded"]);
  expect(await made.RunsService.getRun(id)).toMatchObject({ status: "success" });
});

it("the commands of docs/api.md work as described", async () => {
  const text = await readFile(new URL("../../docs/api.md", import.meta.url), "utf8");
  const commands = [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, command = ""]) => command);
  expect(commands.length).toBeGreaterThan(8);
  // Not every machine has jq, so this Node script does what the commands use of jq.
  const jq = join(folder, "jq");
  await writeFile(
    jq,
    `#!${process.execPath}\nconst [, , , path, file] = process.argv;\nlet value = JSON.parse(require("node:fs").readFileSync(file, "utf8"));\nfor (const [, name, index] of path.matchAll(/\\.(\\w+)|\\[(\\d+)\\]/g)) value = value[name ?? Number(index)];\nconsole.log(value);\n`,
    { mode: 0o755 },
  );
  const env = {
    ...process.env,
    PATH: `${folder}:${process.env.PATH ?? ""}`,
    MARKMILL_URL: api.url,
    MARKMILL_TOKEN: await api.key(["owner", "ops"]),
  };
  for (const command of commands) {
    // The question opens a moment after the start of its run.
    if (command.includes("/answer")) {
      for (
        let left = 100;
        left > 0 && (await readFile(join(folder, "asks.json"), "utf8")).includes('"items":[]');
        left -= 1
      ) {
        await run("bash", ["-c", commands.find((one) => one.includes("-o asks.json")) ?? ""], { cwd: folder, env });
      }
    }
    const { stdout } = await run("bash", ["-euo", "pipefail", "-c", command], {
      cwd: folder,
      env,
      timeout: 60_000,
    }).catch((error: { stdout: string; stderr: string }) => {
      throw new Error(`${command}\n${error.stdout}\n${error.stderr}`);
    });
    if (command.includes("/stream")) expect(stdout).toContain("event: end");
  }
});

describe("while the queue's server is unreachable", () => {
  it("runs are started, read, answered and cancelled, and all continue when the server is back", async () => {
    const redis = await freshRedis();
    const there = await startMill({ backend: "redis", redisUrl: redis.url, script: "default: { reply: ok }\n" });
    const served = await startApi(there);
    try {
      const owner = await served.client("owner");
      const { hash } = await owner.saveDefinition({ body: { root: "a.wf.md", files: { "a.wf.md": askingWorkflow } } });
      const asked = await owner.startRun({ body: { definition: hash } });
      const asks = async () => (await owner.listAsks({ query: { run: asked.id } })).items;
      await until(async () => (await asks()).length > 0, { everyMs: 50 });
      await redis.kill();
      const { id } = await owner.startRun({ body: { definition: hash } });
      const cancelled = await owner.startRun({ body: { definition: hash } });
      expect((await owner.cancelRun({ params: { id: cancelled.id } })).status).toBe("cancelled");
      expect((await owner.getRun({ params: { id } })).status).toBe("doing");
      const [ask] = await asks();
      await owner.answerAsk({ params: { id: ask?.id ?? 0 }, body: { text: "yes" } });
      const ready = await fetch(`${served.url}/health/ready`);
      expect([ready.status, await ready.json()]).toMatchObject([
        200,
        { components: { database: { ok: true }, queue: { ok: false, needed: false, code: "QUEUE_UNREACHABLE" } } },
      ]);
      await redis.restart();
      expect((await there.ended(asked.id)).status).toBe("success");
      const open = await until(async () => (await owner.listAsks({ query: { run: id } })).items[0], { everyMs: 50 });
      await owner.answerAsk({ params: { id: open.id }, body: { text: "yes" } });
      expect((await there.ended(id)).status).toBe("success");
    } finally {
      await served.close();
      await there.close();
      await redis.stop();
    }
  });
});

it("an idempotent start, repeated after kill -9 of the server, creates one run", async () => {
  const database = await migratedDatabase();
  const bin = fileURLToPath(new URL("../../apps/api/src/main.ts", import.meta.url));
  const env = { ...process.env, DATABASE_URL: database.url, API_PORT: "0", LOG_LEVEL: "info", REDIS_URL: "" };
  const serve = async () => {
    const child = spawn(process.execPath, [bin, "--no-env-file"], {
      env,
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    const hear = (bytes: Buffer) => {
      said += bytes.toString();
    };
    for (const stream of [child.stdout, child.stderr]) stream.on("data", hear);
    while (!/"url":"([^"]+)"/.test(said)) {
      if (child.exitCode !== null) throw new Error(said);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const [, url = ""] = /"url":"([^"]+)"/.exec(said) ?? [];
    return { child, url, key: /mm_[\w-]+/.exec(said)?.[0] ?? null };
  };
  let server = await serve();
  const token = server.key ?? "";
  expect(token).toMatch(/^mm_/);
  try {
    const owner = createClient({ url: server.url, token });
    const { hash } = await owner.saveDefinition({ body: { root: "a.wf.md", files: { "a.wf.md": askingWorkflow } } });
    const ids = new Set<string>();
    const killedAfterMs = inject("thorough") ? [0, 8, 16] : [8];
    for (const ms of killedAfterMs) {
      const headers = { "idempotency-key": `round-${ms}` };
      const client = createClient({ url: server.url, token, patienceMs: [] });
      const asked = Array.from({ length: 10 }, () => client.startRun({ headers, body: { definition: hash } }));
      const killed = new Promise((resolve) => setTimeout(resolve, ms)).then(() => server.child.kill("SIGKILL"));
      const settled = await Promise.allSettled(asked);
      await killed;
      if (server.child.exitCode === null && server.child.signalCode === null) await once(server.child, "exit");
      server = await serve();
      expect(server.key).toBeNull();
      const again = await createClient({ url: server.url, token }).startRun({ headers, body: { definition: hash } });
      ids.add(again.id);
      for (const one of settled) {
        if (one.status === "fulfilled") expect(one.value.id).toBe(again.id);
        else expect(one.reason).toBeInstanceOf(ApiProblem);
      }
    }
    const { items } = await createClient({ url: server.url, token }).listRuns();
    expect(new Set(items.map(({ id }) => id))).toEqual(ids);
    expect(ids.size).toBe(killedAfterMs.length);
  } finally {
    server.child.kill("SIGKILL");
    await database.drop();
  }
});
