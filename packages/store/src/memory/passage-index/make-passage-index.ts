/**
 * Creates the passage index if the server has pgvector, and the extension itself if the role may. Runs under the lock of the migrations. If
 * the server refuses any of this, searches use the exact scan, and `markmill doctor` shows why: the index is optional.
 */
import type { PoolClient } from "pg";
import { availableText, isTooOld, type Standing, standingText } from "./passage-index.ts";

export async function makePassageIndex(client: PoolClient): Promise<void> {
  await client.query("begin");
  try {
    const { version, extensionSchema, made } = await standingOf(client);
    if (!made && !isTooOld(version ?? (await availableVersion(client)))) {
      if (version === null) await client.query("create extension if not exists vector with schema public");
      await client.query(tables(extensionSchema ?? "public"));
    }
    await client.query("commit");
  } catch {
    await client.query("rollback");
  }
}

async function standingOf(client: PoolClient): Promise<Standing> {
  const { rows } = await client.query<Standing>(standingText);
  return rows[0] ?? { version: null, extensionSchema: null, made: false };
}

async function availableVersion(client: PoolClient): Promise<string> {
  const { rows } = await client.query<{ version: string }>(availableText);
  return rows[0]?.version ?? "0";
}

/**
 * Removes an index that counts as missing (X3). HNSW indexes are created with the first scope of their dimensions (fill-passage-index.ts).
 */
const tables = (extensionSchema: string) => `
drop schema if exists markmill_index cascade;
create schema markmill_index;
create table markmill_index.indexed_scopes (
  id integer primary key generated always as identity,
  tenant text not null,
  scope text not null,
  embedder text not null,
  dimensions integer not null,
  up_to bigint not null default 0,
  unique (tenant, scope, embedder)
);
create table markmill_index.indexed_passages (
  passage_id bigint primary key references markmill.passages (id) on delete cascade,
  scope_id integer not null references markmill_index.indexed_scopes (id) on delete cascade,
  dimensions integer not null,
  vector ${extensionSchema}.vector not null
);
create index indexed_passages_by_scope on markmill_index.indexed_passages (scope_id)`;
