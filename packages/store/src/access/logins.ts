/** Sessions of browsers: a cookie with a secret of ours. The rights of its bearer are read again for every request. */

import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import { StoreError } from "../database/store-error.ts";
import { makeSecret, readSecret, sameHash } from "./secrets.ts";

export interface Login {
  readonly id: string;
  readonly tenant: string;
  /** The name of the user or the key that logged in. */
  readonly name: string;
  readonly userId: string | null;
  readonly keyId: string | null;
  readonly keyExpiresAt: Date | null;
  readonly roles: readonly string[];
  readonly scopes: readonly string[] | null;
  readonly expiresAt: Date;
}

export async function openLogin(
  database: Database,
  tenant: string,
  bearer: { readonly userId: string } | { readonly keyId: string },
  lastsMs: number,
): Promise<{ readonly id: string; readonly secret: string; readonly expiresAt: Date }> {
  const made = makeSecret("ms");
  const rows = await queryDatabase<{ expiresAt: Date }>(
    database,
    "Opening a session",
    `with over as (delete from logins where expires_at < clock_timestamp())
     insert into logins (id, tenant, secret_hash, user_id, key_id, expires_at)
     values ($1, $2, $3, $4, $5, clock_timestamp() + $6::float8 * interval '1 millisecond') returning expires_at as "expiresAt"`,
    [
      made.id,
      tenant,
      made.hash,
      "userId" in bearer ? bearer.userId : null,
      "keyId" in bearer ? bearer.keyId : null,
      lastsMs,
    ],
  );
  const [row] = rows;
  if (row === undefined) throw new StoreError("STORE_BUG", "A session was neither opened nor refused.");
  return { id: made.id, secret: made.text, expiresAt: row.expiresAt };
}

/** null: the session is over, or its user or key has no rights any more. */
export async function findLogin(database: Database, text: string): Promise<Login | null> {
  const given = readSecret("ms", text);
  if (given === null) return null;
  const rows = await queryDatabase<Login & { readonly hash: Buffer }>(
    database,
    "Looking for a session",
    `select l.id, l.tenant, coalesce(u.name, k.name) as name, l.user_id as "userId", l.key_id as "keyId", k.expires_at as "keyExpiresAt",
       coalesce(u.roles, k.roles) as roles, k.scopes, l.expires_at as "expiresAt", l.secret_hash as hash
     from logins l left join users u on u.id = l.user_id and not u.disabled
       left join api_keys k on k.id = l.key_id and k.revoked_at is null and (k.expires_at is null or k.expires_at > clock_timestamp())
     where l.id = $1 and l.expires_at > clock_timestamp() and coalesce(u.id, k.id) is not null`,
    [given.id],
  );
  const [row] = rows;
  if (row === undefined || !sameHash(row.hash, given.hash)) return null;
  const { hash: _, ...login } = row;
  return login;
}

export async function closeLogin(database: Database, id: string): Promise<void> {
  await queryDatabase(database, "Closing a session", "delete from logins where id = $1", [id]);
}
