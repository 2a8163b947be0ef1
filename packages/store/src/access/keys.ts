/** API keys of a tenant. */

import type { Database } from "../database/database.ts";
import { toJson } from "../database/neutral.ts";
import { queryDatabase, queryNamed } from "../database/query-database.ts";
import { StoreError, translate } from "../database/store-error.ts";
import { inTransaction } from "../database/transaction.ts";
import { gathered } from "../throughput/gathered.ts";
import { keepAnOperator, keepAnOwner } from "./owners.ts";
import { type MadeSecret, makeSecret, readSecret, sameHash } from "./secrets.ts";

export interface Key {
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[] | null;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
}

export interface NewKey {
  readonly name: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[] | null;
  readonly createdBy: string;
  readonly expiresAt: Date | null;
}

export interface MadeKey {
  readonly key: Key;
  /** Never stored. */
  readonly secret: string;
}

const columns = `id, tenant, name, roles, scopes, created_by as "createdBy", created_at as "createdAt", expires_at as "expiresAt",
  revoked_at as "revokedAt", last_used_at as "lastUsedAt"`;

export async function createKey(database: Database, tenant: string, wanted: NewKey): Promise<MadeKey> {
  const { name, roles, scopes, createdBy, expiresAt } = wanted;
  const made = makeSecret("mm");
  const rows = await queryDatabase<Key>(
    database,
    "Making a key",
    `insert into api_keys (id, tenant, name, secret_hash, roles, scopes, created_by, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8) returning ${columns}`,
    [made.id, tenant, name, made.hash, roles, scopes, createdBy, expiresAt],
  );
  const [key] = rows;
  if (key === undefined) throw new StoreError("STORE_BUG", "A key was neither made nor refused.");
  return { key, secret: made.text };
}

/** The creator of a key that no person of the tenant requested, for the tenant's audit log. */
export interface KeyMaker {
  readonly name: string;
  readonly requestId: string;
  readonly address: string;
}

/** Creates a key and its entry in the tenant's audit log, as parts of one statement. `where`: the condition for the entry. */
export function keyWithEntry(where: string): string {
  return `made as (
      insert into api_keys (id, tenant, name, secret_hash, roles, scopes, created_by, expires_at, first)
      select $1::text, $2::text, $3::text, $4::bytea, $5::text[], $6::text[], $7::text, $8::timestamptz, $9::boolean ${where}
      returning ${columns}
    ), entry as (
      insert into audit (tenant, actor, actor_name, action, request_id, address, details)
      select tenant, $7::text, $10::text, 'createKey', $11::text, $12::text, $13::json from made returning id
    ), outcome as (
      insert into audit_outcomes (audit_id, status, target) select entry.id, 201, made.id from entry, made
    )`;
}

export function valuesOfKey(
  made: MadeSecret,
  tenant: string,
  wanted: NewKey,
  by: KeyMaker,
  first = false,
): readonly unknown[] {
  const { name, roles, scopes, createdBy, expiresAt } = wanted;
  return [
    ...[made.id, tenant, name, made.hash, roles, scopes, createdBy, expiresAt, first],
    ...[by.name, by.requestId, by.address, toJson({ name, roles: roles.join(",") })],
  ];
}

/** The first key of an installation. null: there is one, or was one. Of two requests at once, one gets it. */
export async function createFirstKey(
  database: Database,
  wanted: NewKey,
  tenant: string,
  by: KeyMaker,
): Promise<MadeKey | null> {
  const made = makeSecret("mm");
  const none = "where not exists (select 1 from api_keys) and not exists (select 1 from users) on conflict do nothing";
  const rows = await queryDatabase<Key>(
    database,
    "Making the first key",
    `with ${keyWithEntry(none)} select * from made`,
    valuesOfKey(made, tenant, wanted, by, true),
  );
  return rows[0] === undefined ? null : { key: rows[0], secret: made.text };
}

/** A key for the person who has access to the database itself, for example when the first one was lost. */
export async function createLocalKey(
  database: Database,
  wanted: NewKey,
  tenant: string,
  by: KeyMaker,
): Promise<MadeKey> {
  const made = makeSecret("mm");
  const [key] = await queryDatabase<Key>(
    database,
    "Making a key",
    `with ${keyWithEntry("")} select * from made`,
    valuesOfKey(made, tenant, wanted, by),
  );
  if (key === undefined) throw new StoreError("STORE_BUG", "A key was neither made nor refused.");
  return { key, secret: made.text };
}

/** Finds the valid key for a text. Lookups that arrive together are read together. */
export function openKeyFinder(database: Database): (text: string) => Promise<Key | null> {
  const read = gathered<string, FoundKey | null>(async (ids) => {
    const rows = await queryNamed<FoundKey>(
      database,
      "Looking for a key",
      "keys",
      `select ${columns}, secret_hash as hash, revoked_at is null and (expires_at is null or expires_at > clock_timestamp()) as counts,
         last_used_at is null or last_used_at < clock_timestamp() - interval '1 minute' as stale
       from api_keys where id = any($1)`,
      [[...new Set(ids)]],
    );
    const found = new Map(rows.map((row) => [row.id, row]));
    return ids.map((id) => found.get(id) ?? null);
  }, database);
  return async (text) => {
    const given = readSecret("mm", text);
    if (given === null) return null;
    const row = await read(given.id);
    if (row === null || !sameHash(row.hash, given.hash) || !row.counts) return null;
    const { hash: _, counts: __, stale, ...key } = row;
    // Record the last use, to the minute, for people who look for unused keys.
    if (stale) {
      await queryDatabase(
        database,
        "Noting that a key is used",
        `update api_keys set last_used_at = clock_timestamp()
         where id = $1 and (last_used_at is null or last_used_at < clock_timestamp() - interval '1 minute')`,
        [key.id],
      );
    }
    return key;
  };
}

interface FoundKey extends Key {
  readonly hash: Buffer;
  readonly counts: boolean;
  readonly stale: boolean;
}

export async function listKeys(database: Database, tenant: string): Promise<readonly Key[]> {
  return queryDatabase<Key>(
    database,
    "Listing keys",
    `select ${columns} from api_keys where tenant = $1 order by created_at desc, id`,
    [tenant],
  );
}

/**
 * Revokes the key at once, with the sessions that were opened with it. false: it does not exist. `may` checks the key in its current state.
 */
export async function revokeKey(
  database: Database,
  tenant: string,
  id: string,
  may: (key: Key) => boolean = () => true,
): Promise<boolean | "refused"> {
  try {
    return await inTransaction(database.calm, async (client) => {
      const { rows } = await client.query<Key>(
        `select ${columns} from api_keys where tenant = $1 and id = $2 for update`,
        [tenant, id],
      );
      if (rows[0] === undefined) return false;
      if (!may(rows[0])) return "refused";
      await client.query("update api_keys set revoked_at = coalesce(revoked_at, clock_timestamp()) where id = $1", [
        id,
      ]);
      await client.query("delete from logins where key_id = $1", [id]);
      const { roles, scopes, expiresAt, revokedAt } = rows[0];
      const lasting = revokedAt === null && expiresAt === null && scopes === null;
      await keepAnOwner(client, tenant, lasting && roles.includes("owner"));
      if (roles.includes("ops")) await keepAnOperator(client, lasting);
      return true;
    });
  } catch (error) {
    throw translate(error, "Revoking a key");
  }
}
