// A busy pg client queues the next query and warns. Its next major version will refuse it. The test uses everything that talks to
// Postgres, BullMQ included, breaks the connections, and expects no such warning.

import { Client } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { PatientClient } from "../../packages/queue/src/patient-client.ts";
import { type Mill, startMill, workflow } from "../support/mill.ts";
import { cancelRun, getHistory, getRun, stopRun, watch } from "../support/store.ts";

const warnings: string[] = [];
const note = (warning: Error) => void warnings.push(`${warning.name}: ${warning.message}\n${warning.stack ?? ""}`);
process.on("warning", note);

let mill: Mill;
beforeAll(async () => {
  mill = await startMill({ backend: "postgres", script: 'rules: [{ when: { pattern: "." }, reply: "yes" }]' });
});
afterAll(async () => {
  await mill?.close();
  process.off("warning", note);
});

const busy = () => warnings.filter((warning) => warning.includes("client.query()"));

const main = workflow(
  'START --> SET_A["Set: A=1"] --> PROMPT_Q["Prompt: User Q"] --> CALL_B[[b.wf.md]] --> CHECK_A{"Check: RESULT CONTAINS yes"}\nCHECK_A -->|TRUE| SUCCESS\nCHECK_A -->|FALSE| FAILED',
  { "User Q": "Say yes." },
);
const callee = workflow('START --> PROMPT_Q["Prompt: User Q"] --> SUCCESS', { "User Q": "Say yes, too." });
const files = { "a.wf.md": main, "b.wf.md": callee };

async function breakConnections(): Promise<void> {
  const { rows } = await mill.store.database.calm.query<{ count: number }>(
    `select count(pg_terminate_backend(pid))::integer as count from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()`,
  );
  expect(rows[0]?.count).toBeGreaterThan(0);
}

it("no code queries a busy pg client, also not after broken connections", async () => {
  const stop = watch(mill.databaseUrl, { onRuns: () => undefined, onControl: () => undefined });
  for (let round = 0; round < 3; round++) {
    const ids = await Promise.all(Array.from({ length: 10 }, () => mill.start(files)));
    if (round > 0) await breakConnections().catch(() => undefined);
    await Promise.all([
      stopRun(mill.store, ids[0] ?? "").catch(() => undefined),
      cancelRun(mill.store, ids[1] ?? "", "enough").catch(() => undefined),
    ]);
    for (const id of ids.slice(1)) await mill.ended(id);
    await Promise.all(ids.flatMap((id) => [getRun(mill.store.database, id), getHistory(mill.store.database, id)]));
    await mill.queues.counts();
    await mill.restart();
  }
  await stop();
  expect(busy()).toEqual([]);
});

it("the queue's connections answer one query after the other, where a plain client warns", async () => {
  const ask = async (client: Client) => {
    await client.connect();
    const asked = Array.from({ length: 5 }, (_, n) => client.query<{ n: number }>("select $1::integer as n", [n]));
    const failing = client.query("select 1 / 0").catch(() => "failed");
    const answers = (await Promise.all(asked)).map(({ rows }) => rows[0]?.n);
    expect(await failing).toBe("failed");
    expect((await client.query<{ n: number }>("select 7 as n")).rows).toEqual([{ n: 7 }]);
    await client.end();
    await new Promise((resolve) => setTimeout(resolve, 20));
    return answers;
  };
  expect(await ask(new PatientClient({ connectionString: mill.databaseUrl }))).toEqual([0, 1, 2, 3, 4]);
  expect(busy()).toEqual([]);
  // The test expects this warning, which Node prints once per process.
  await ask(new Client({ connectionString: mill.databaseUrl }));
  expect(busy()).toHaveLength(1);
});
