import { askDatabase } from "../ask-database.ts";
import type { Database } from "../database.ts";
import { StoreError } from "../store-error.ts";
import { isTenantId } from "../tenants.ts";

export interface Tenant {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
}

const columns = `id, name, created_at as "createdAt"`;

export async function listTenants(database: Database): Promise<readonly Tenant[]> {
  return askDatabase<Tenant>(database, "Listing tenants", `select ${columns} from tenants order by id limit 1000`);
}

/** null: the id is taken. */
export async function createTenant(database: Database, id: string, name: string): Promise<Tenant | null> {
  if (!isTenantId(id)) throw new StoreError("STORE_TENANT_ID", `${JSON.stringify(id)} is no id of a tenant.`);
  const rows = await askDatabase<Tenant>(
    database,
    "Making a tenant",
    `insert into tenants (id, name) values ($1, $2) on conflict do nothing returning ${columns}`,
    [id, name],
  );
  return rows[0] ?? null;
}
