/**
 * Named migrations, each in its own transaction, under one advisory lock, recorded with a checksum. Any number of processes may start at
 * once: one of them applies the migrations, and the others wait and find nothing to do.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { Pool, PoolClient } from "pg";
import { makePassageIndex } from "../memory/passage-index/make-passage-index.ts";
import { StoreError, translate } from "./store-error.ts";

/** "mark" in ASCII. Any constant works as long as it never changes. */
const lockKey = 0x6d61726b;
const unhurried = { query_timeout: 30 * 60_000 };
const directory = new URL("../../migrations/", import.meta.url);

export interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

export function readMigrations(): readonly Migration[] {
  return readdirSync(directory)
    .filter((file) => file.endsWith(".sql"))
    .sort()
    .map((file) => {
      const sql = readFileSync(new URL(file, directory), "utf8");
      return { name: file.slice(0, -".sql".length), sql, checksum: createHash("sha256").update(sql).digest("hex") };
    });
}

/** Returns the names of the migrations this call applied. */
export async function migrate(pool: Pool, migrations = readMigrations()): Promise<readonly string[]> {
  let client: PoolClient;
  try {
    client = await pool.connect();
  } catch (error) {
    throw translate(error, "Connecting to Postgres");
  }
  try {
    // A migration, or the wait for another process's migration, may take longer than a pool allows for a query.
    await client.query("set statement_timeout = 0");
    await client.query({ text: "select pg_advisory_lock($1)", values: [lockKey], ...unhurried });
    const applied = await apply(client, migrations);
    await makePassageIndex(client);
    return applied;
  } catch (error) {
    throw translate(error, "Migrating the database");
  } finally {
    // Closed, not returned: that releases the lock and the settings in every case.
    client.release(true);
  }
}

async function apply(client: PoolClient, migrations: readonly Migration[]): Promise<readonly string[]> {
  await client.query("create schema if not exists markmill");
  await client.query(
    "create table if not exists markmill.migrations (name text primary key, checksum text not null, applied_at timestamptz not null default clock_timestamp())",
  );
  const { rows } = await client.query<{ name: string; checksum: string }>(
    "select name, checksum from markmill.migrations order by name",
  );
  const known = new Map(migrations.map((migration) => [migration.name, migration]));
  for (const row of rows) {
    const migration = known.get(row.name);
    if (migration === undefined) {
      throw new StoreError(
        "STORE_SCHEMA_NEWER",
        `The database contains migration ${row.name}, which this program does not know.`,
      );
    }
    if (migration.checksum !== row.checksum) {
      throw new StoreError(
        "STORE_SCHEMA_CHANGED",
        `Migration ${row.name} differs from the migration of this database.`,
      );
    }
  }
  const applied = new Set(rows.map((row) => row.name));
  const pending = migrations.filter((migration) => !applied.has(migration.name));
  for (const migration of pending) {
    await client.query("begin");
    try {
      await client.query("set local search_path = markmill");
      await client.query({ text: migration.sql, ...unhurried });
      await client.query("insert into markmill.migrations (name, checksum) values ($1, $2)", [
        migration.name,
        migration.checksum,
      ]);
      await client.query("commit");
    } catch (error) {
      await client.query("rollback");
      throw error;
    }
  }
  return pending.map((migration) => migration.name);
}
