// Whether a worker can run commands: its report, how long the report counts, and the warning before a run waits.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { startApi, type TestApi } from "../support/api.ts";
import { type MarkmillPlace, makePlace, markmill } from "../support/markmill-process.ts";
import { definitionOf, type Mill, startMill, workflow } from "../support/mill.ts";
import { applySettings, beat, type CommandStanding, presenceSettings, presenceText } from "../support/store.ts";
import { until } from "../support/until.ts";

const commands = workflow('  START --> EXECUTE_IT["EXECUTE: echo hi"] --> SUCCESS');
const none = workflow('  START --> SET_A["SET: A = 1"] --> SUCCESS');
const lacking: CommandStanding = {
  can: "nothing",
  code: "SANDBOX_ENGINE_UNREACHABLE",
  means: "The container engine does not answer.",
  fix: "Start Docker, or check who may use its socket.",
  message: "tcp://10.99.1.2:2376 does not answer",
};

let mill: Mill;
let api: TestApi;
let alive: pg.Client;
let place: MarkmillPlace & { remove(): Promise<void> };
beforeAll(async () => {
  mill = await startMill({ backend: "postgres", script: "default: { reply: ok }", worker: false, supervisor: false });
  api = await startApi(mill);
  place = await makePlace({ MARKMILL_URL: api.url, MARKMILL_TOKEN: await api.key(["owner"]) });
  alive = new pg.Client({ connectionString: mill.databaseUrl });
  await alive.connect();
  await applySettings(alive, presenceSettings);
  await alive.query(presenceText, ["alive"]);
});
afterAll(async () => {
  await alive?.end();
  await place?.remove();
  await api?.close();
  await mill?.close();
});
beforeEach(async () => {
  await mill.store.database.calm.query("delete from workers");
});

/** A living worker with this report on commands. */
async function says(standing: CommandStanding): Promise<void> {
  const info = { sandbox: "docker", commands: { ...standing } };
  await beat(mill.store.database, { id: "alive", host: "h", info });
  // Its last heartbeat stays recent for the whole test.
  await mill.store.database.calm.query("update workers set heartbeat_at = clock_timestamp() + interval '1 hour'");
}

/** Answers are cached for a second. */
async function readyOnce(code: string | undefined) {
  return await until(async () => {
    const response = await fetch(`${api.url}/health/ready`);
    const text = await response.text();
    const body = JSON.parse(text);
    return body.components.sandbox.code === code ? { status: response.status, text, body } : null;
  });
}

it("a killed worker does not count as alive, however recent its last heartbeat is", async () => {
  const worker = await mill.spawnWorker({ sandbox: "none" });
  await until(async () => (await mill.store.commandStandings()).some(({ can }) => can === "execute"));
  await mill.store.database.calm.query("update workers set heartbeat_at = clock_timestamp() + interval '1 hour'");
  await worker.kill();
  await until(async () => (await mill.store.commandStandings()).length === 0);
  expect(await mill.store.workers()).toHaveLength(1);
});

it("a silent worker does not count as alive, although its connection is open", async () => {
  await says({ can: "execute" });
  expect(await mill.store.commandStandings()).toEqual([{ can: "execute" }]);
  await mill.store.database.calm.query("update workers set heartbeat_at = clock_timestamp() - interval '1 minute'");
  expect(await mill.store.commandStandings()).toEqual([]);
});

it("readiness answers 200 and says why no worker can run commands, without details for operators", async () => {
  expect(await readyOnce("WORKERS_NONE")).toMatchObject({ status: 200, body: { ok: true } });
  await says(lacking);
  const { status, text, body } = await readyOnce(lacking.code);
  expect([status, body.ok]).toEqual([200, true]);
  expect(body.components.sandbox).toEqual({ ok: false, needed: false, ...publicOf(lacking) });
  expect(text).not.toContain("10.99.1.2");
  await says({ can: "execute" });
  expect((await readyOnce(undefined)).body.components.sandbox).toEqual({ ok: true, needed: false });
});

it("a run that needs commands is accepted with a warning while no worker can run them, and without one otherwise", async () => {
  await says(lacking);
  await readyOnce(lacking.code);
  const owner = await api.client("owner");
  const store = mill.store.as("default");
  const [needs, plain] = [definitionOf({ "main.wf.md": commands }), definitionOf({ "main.wf.md": none })];
  for (const one of [needs, plain]) await store.definitions.save(one);
  const start = (definition: string) => owner.startRun({ body: { definition } });
  const warned = await until(async () => {
    const started = await start(needs.hash);
    return started.warnings?.[0]?.code === lacking.code ? started : null;
  });
  expect(warned.warnings?.[0]?.message).toContain("no worker can execute commands");
  expect(warned.warnings?.[0]?.message).not.toContain("10.99.1.2");
  const { items } = await owner.listEvents({ params: { id: warned.id }, query: {} });
  expect(items[0]?.warnings.map(({ code }) => code)).toContain(lacking.code);
  expect((await start(plain.hash)).warnings).toEqual([]);
  const batch = {
    key: "k",
    name: "k",
    definition: needs.hash,
    members: [] as never[],
    works: [] as never[],
    late: null,
    aiConsent: "any" as const,
    language: null,
    rubric: { criteria: [] },
  };
  expect((await owner.saveBatch({ body: batch })).warnings).toMatchObject([{ code: lacking.code }]);
});

it("the command line shows this warning at once, with and without a server", async () => {
  await says(lacking);
  await readyOnce(lacking.code);
  await writeFile(join(place.cwd, "commands.wf.md"), commands);
  const told = await markmill(place, ["run", "commands.wf.md", "--detach"]);
  expect(told.stderr).toContain(`${lacking.code}: The workflow runs commands, but no worker can execute commands`);
  expect(told.code).toBe(0);
  const doctor = await markmill(place, ["doctor"]);
  expect(doctor.stdout).toMatch(/warn +sandbox +no worker can execute commands \(SANDBOX_ENGINE_UNREACHABLE\)/);
});

function publicOf(standing: CommandStanding) {
  if (standing.can !== "nothing") throw new Error("it can");
  const { code, means, fix } = standing;
  return { code, means, fix };
}
