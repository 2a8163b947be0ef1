import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { inject } from "vitest";
import { askService } from "./ask-services.ts";

export type TestDatabase = { readonly url: string; readonly name: string; drop(): Promise<void> };

/** An empty database on a server of the run (TEST_DATABASE_URL, else an embedded one). Dropped with the run at the latest. */
export async function freshDatabase(): Promise<TestDatabase> {
  const { url } = await askService("postgres", lane());
  return await createDatabase(url, "");
}

/** The same with the tables of the store and of the queue, as their migrations make them. */
export async function migratedDatabase(): Promise<TestDatabase> {
  const template = await askService("template", lane());
  return await createDatabase(template.url, `template "${template.name}"`);
}

/** Half the processor time of the default, where the server can: it writes what it copies to its log. */
const copying = process.env.TEST_DATABASE_URL ? "" : "strategy file_copy";

const lane = () => process.env.VITEST_POOL_ID ?? "1";

async function createDatabase(server: string, from: string): Promise<TestDatabase> {
  const name = `markmill_test_${inject("testServices").run}_${randomBytes(4).toString("hex")}`;
  await withClient(server, (client) => client.query(`create database "${name}" ${from} ${copying}`));
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, name, drop: () => dropDatabase(server, name) };
}

/**
 * `pool.end()` resolves before its connections are closed. A drop that terminated them would raise an error that
 * nobody listens for, so it waits a moment for them to go, and terminates only those that a test left open.
 */
async function dropDatabase(server: string, name: string): Promise<void> {
  const open = "select from pg_stat_activity where datname = $1 and backend_type = 'client backend'";
  await withClient(server, async (client) => {
    for (let look = 0; look < 40 && (await client.query(open, [name])).rowCount !== 0; look += 1) await sleep(25);
    await client.query(`drop database if exists "${name}" with (force)`);
  });
}

async function withClient(url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
