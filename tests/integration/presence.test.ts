/** Who may claim an activity after its lease: that depends on whether its holder was killed, is paused, or gave the activity up. */

import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { migratedDatabase, type TestDatabase } from "../support/postgres.ts";
import {
  applySettings,
  beat,
  buryWorkers,
  createLeaseKeeper,
  createRun,
  type LeaseKeeper,
  listWorkers,
  openStore,
  presenceSettings,
  presenceText,
  type Store,
} from "../support/store.ts";
import { until } from "../support/until.ts";
import { claimed, definition, onePrompt, only } from "./store-programs.ts";

const leaseMs = 3_000;
let database: TestDatabase;
let holder: Store;
let other: Store;
let keeper: LeaseKeeper | null = null;
beforeAll(async () => {
  database = await migratedDatabase();
  holder = await openStore({ url: database.url, worker: "holder", leaseMs });
  other = await openStore({ url: database.url, worker: "other", leaseMs });
});
afterAll(async () => {
  await keeper?.close();
  await holder.close();
  await other.close();
  await database.drop();
});
beforeEach(async () => {
  await keeper?.close();
  keeper = null;
  await until(async () => (await presences()) === 0);
  await holder.database.calm.query("delete from workers");
});

async function presences(): Promise<number> {
  const { rows } = await other.database.calm.query<{ count: number }>(
    `select count(*)::integer as count from pg_locks l join pg_stat_activity s on s.pid = l.pid
     where l.locktype = 'advisory' and l.mode = 'ShareLock' and s.datname = current_database() and s.application_name = 'markmill leases'`,
  );
  return rows[0]?.count ?? 0;
}

/** The connection of a paused worker is open, and carries no data. */
async function pausedWorker(): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: database.url, application_name: "markmill leases" });
  await client.connect();
  await applySettings(client, presenceSettings);
  await client.query(presenceText, ["holder"]);
  return async () => {
    await client.end();
    await until(async () => (await presences()) === 0);
  };
}

/** A prompt that the holder claimed, whose lease ended `overMs` ago. */
async function overdue(overMs: number, keepsMs = 600_000) {
  await beat(holder.database, { id: "holder", host: "h", info: {}, keepsMs });
  const enqueue = only((await createRun(holder, { definition: definition({ main: onePrompt }) })).jobs);
  const { activity } = await claimed(holder, enqueue);
  await holder.database.calm.query(
    "update activities set lease_until = clock_timestamp() - $2::integer * interval '1 millisecond' where id = $1",
    [activity.id, overMs],
  );
  return async () => (await other.claim(enqueue)).kind;
}

it("a prompt stays with a paused worker until the worker's connection is closed", async () => {
  const die = await pausedWorker();
  const claim = await overdue(5_000);
  expect(await claim()).toBe("held");
  await die();
  expect(await claim()).toBe("claimed");
});

it("a prompt stays with a paused worker no longer than the time limit of a call", async () => {
  const die = await pausedWorker();
  const claim = await overdue(5_000, 4_000);
  expect(await claim()).toBe("claimed");
  await die();
});

it("a prompt that a living worker has given up can be claimed after its lease", async () => {
  const onError = () => undefined;
  keeper = createLeaseKeeper({ database: holder.database, leaseMs, worker: "holder", onError });
  await until(async () => (await presences()) === 1);
  const claim = await overdue(0);
  // The next round renews the leases that the worker holds, and this prompt is not among them.
  await until(async () => (await claim()) === "claimed");
});

it("a worker without a connection or without a row keeps no prompt", async () => {
  const claim = await overdue(1);
  expect(await claim()).toBe("claimed");
  const die = await pausedWorker();
  const again = await overdue(1);
  await holder.database.calm.query("delete from workers");
  expect(await again()).toBe("claimed");
  await die();
});

it("a silent worker is removed at once if it was killed, and later if it is only paused", async () => {
  const die = await pausedWorker();
  await beat(holder.database, { id: "holder", host: "h", info: {}, keepsMs: 600_000 });
  await beat(holder.database, { id: "dead", host: "h", info: {}, keepsMs: 600_000 });
  await holder.database.calm.query("update workers set heartbeat_at = clock_timestamp() - interval '1 minute'");
  expect(await buryWorkers(holder.database, 10_000)).toEqual(["dead"]);
  expect((await listWorkers(holder.database)).map(({ id }) => id)).toEqual(["holder"]);
  await holder.database.calm.query("update workers set heartbeat_at = clock_timestamp() - interval '1 hour'");
  expect(await buryWorkers(holder.database, 10_000)).toEqual(["holder"]);
  await die();
});

it("the database server is configured to notice a lost host of a worker within seconds", async () => {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await applySettings(client, presenceSettings);
  const { rows } = await client.query<{ set: Record<string, number> }>(
    "select json_object_agg(name, setting::integer) as set from pg_settings where name like 'tcp%' or name = 'idle_session_timeout'",
  );
  const { rows: over } = await client.query<{ tcp: boolean }>("select inet_client_addr() is not null as tcp");
  await client.end();
  // A local socket has no lost host, and the server reports 0.
  const bounds = {
    tcp_keepalives_idle: 3,
    tcp_keepalives_interval: 2,
    tcp_keepalives_count: 3,
    tcp_user_timeout: 10_000,
  };
  const none = Object.fromEntries(Object.keys(bounds).map((name) => [name, 0]));
  expect(rows[0]?.set).toEqual({ idle_session_timeout: 0, ...(over[0]?.tcp === true ? bounds : none) });
});
