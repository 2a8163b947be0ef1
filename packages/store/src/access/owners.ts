import type { PoolClient } from "pg";
import { StoreError } from "../store-error.ts";

/**
 * At the end of a transaction that takes rights away: somebody must be left who can give them. The tenant's row is locked, so that two
 * who take away each other's rights do not both succeed.
 */
export async function keepAnOwner(client: PoolClient, tenant: string): Promise<void> {
  await client.query("select 1 from tenants where id = $1 for update", [tenant]);
  const { rows } = await client.query<{ left: boolean }>(
    `select exists (select 1 from users where tenant = $1 and not disabled and 'owner' = any(roles))
       or exists (select 1 from api_keys where tenant = $1 and revoked_at is null and 'owner' = any(roles)
         and (scopes is null or 'access:manage' = any(scopes)) and (expires_at is null or expires_at > clock_timestamp())) as left`,
    [tenant],
  );
  if (rows[0]?.left !== true) throw new StoreError("STORE_LAST_OWNER", "Nobody would be left who owns the tenant.");
}
