import type { PoolClient } from "pg";
import { StoreError } from "../store-error.ts";
import { defaultTenant } from "../tenants.ts";

/**
 * At the end of a transaction that takes rights away: somebody must be left who can give them all, which a key that has
 * fewer scopes cannot. The tenant's row is locked, so that two who take away each other's rights do not both succeed.
 */
export async function keepAnOwner(client: PoolClient, tenant: string): Promise<void> {
  await client.query("select 1 from tenants where id = $1 for update", [tenant]);
  const { rows } = await client.query<{ left: boolean }>(
    `select exists (select 1 from users where tenant = $1 and not disabled and 'owner' = any(roles))
       or exists (select 1 from api_keys where tenant = $1 and revoked_at is null and 'owner' = any(roles)
         and scopes is null and (expires_at is null or expires_at > clock_timestamp())) as left`,
    [tenant],
  );
  if (rows[0]?.left !== true) throw new StoreError("STORE_LAST_OWNER", "Nobody would be left who owns the tenant.");
}

/**
 * The same for whoever keeps the installation, in whichever tenant they are: asked when rights of one with the role ops are taken away.
 * The lock is one for all tenants.
 */
export async function keepAnOperator(client: PoolClient): Promise<void> {
  await client.query("select 1 from tenants where id = $1 for update", [defaultTenant]);
  const { rows } = await client.query<{ left: boolean }>(
    `select exists (select 1 from users where not disabled and 'ops' = any(roles))
       or exists (select 1 from api_keys where revoked_at is null and 'ops' = any(roles)
         and scopes is null and (expires_at is null or expires_at > clock_timestamp())) as left`,
  );
  if (rows[0]?.left !== true) throw new StoreError("STORE_LAST_OPS", "Nobody would be left who has the role ops.");
}
