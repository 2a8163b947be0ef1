import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import { StoreError } from "../database/store-error.ts";
import { type Key, type KeyMaker, keyWithEntry, type MadeKey, type NewKey, valuesOfKey } from "./keys.ts";
import { makeSecret } from "./secrets.ts";
import { isTenantId } from "./tenant-ids.ts";

export interface Tenant {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
}

const columns = `id, name, created_at as "createdAt"`;

export async function listTenants(database: Database): Promise<readonly Tenant[]> {
  return queryDatabase<Tenant>(database, "Listing tenants", `select ${columns} from tenants order by id`);
}

/** null: the id is taken. */
export async function createTenant(database: Database, id: string, name: string): Promise<Tenant | null> {
  if (!isTenantId(id)) throw new StoreError("STORE_TENANT_ID", `${JSON.stringify(id)} is not an id of a tenant.`);
  const rows = await queryDatabase<Tenant>(
    database,
    "Making a tenant",
    `insert into tenants (id, name) values ($1, $2) on conflict do nothing returning ${columns}`,
    [id, name],
  );
  return rows[0] ?? null;
}

/**
 * Creates the tenant with the key of its first owner and the log entry, in one statement: no tenant exists without access. null: the id is
 * taken.
 */
export async function openTenant(
  database: Database,
  { id, name }: Pick<Tenant, "id" | "name">,
  owner: NewKey,
  by: KeyMaker,
): Promise<{ readonly tenant: Tenant; readonly made: MadeKey } | null> {
  if (!isTenantId(id)) throw new StoreError("STORE_TENANT_ID", `${JSON.stringify(id)} is not an id of a tenant.`);
  const secret = makeSecret("mm");
  const [row] = await queryDatabase<Key & { readonly openedAt: Date }>(
    database,
    "Making a tenant",
    `with tenant as (
       insert into tenants (id, name) values ($2::text, $14::text) on conflict do nothing returning created_at
     ), ${keyWithEntry("from tenant")} select made.*, tenant.created_at as "openedAt" from made, tenant`,
    [...valuesOfKey(secret, id, owner, by), name],
  );
  if (row === undefined) return null;
  const { openedAt, ...key } = row;
  return { tenant: { id, name, createdAt: openedAt }, made: { key, secret: secret.text } };
}
