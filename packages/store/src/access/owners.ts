/**
 * Keeps at least one owner per tenant, who can give all rights of it, and at least one holder of the role ops. It is checked at the end of
 * a transaction that takes rights away.
 *
 * O1  A key with fewer scopes than its roles have is not an owner.
 * O2  A lasting owner is a user, or a key that does not expire. Removing one requires another lasting owner: an owner's key that expires
 *     would leave the tenant without an owner later.
 * O3  Any other removal requires only some owner: a tenant with only expiring owners can still revoke keys.
 *
 * The check locks a row of `tenants`, so that two people who remove each other's rights cannot both succeed. kill -9 before the commit:
 * nothing was taken away.
 */
import type { PoolClient } from "pg";
import { StoreError } from "../database/store-error.ts";
import { defaultTenant } from "./tenant-ids.ts";

/** `lasting`: a lasting owner is taken away (O2). */
export async function keepAnOwner(client: PoolClient, tenant: string, lasting: boolean): Promise<void> {
  await client.query("select 1 from tenants where id = $1 for update", [tenant]);
  if (await isLeft(client, "owner", tenant, lasting)) return;
  throw new StoreError("STORE_LAST_OWNER", `The tenant would have no owner${lasting ? forGood : ""}.`);
}

/** The same for the role ops, in any tenant. One lock covers all tenants. */
export async function keepAnOperator(client: PoolClient, lasting: boolean): Promise<void> {
  await client.query("select 1 from tenants where id = $1 for update", [defaultTenant]);
  if (await isLeft(client, "ops", null, lasting)) return;
  throw new StoreError("STORE_LAST_OPS", `No one would have the role ops${lasting ? forGood : ""}.`);
}

const forGood = " for longer than until a key expires";

async function isLeft(
  client: PoolClient,
  role: "owner" | "ops",
  tenant: string | null,
  lasting: boolean,
): Promise<boolean> {
  const { rows } = await client.query<{ left: boolean }>(
    `select exists (select 1 from users where ($2::text is null or tenant = $2) and not disabled and $1 = any(roles))
       or exists (select 1 from api_keys where ($2::text is null or tenant = $2) and revoked_at is null and $1 = any(roles)
         and scopes is null and (expires_at is null or not $3::boolean and expires_at > clock_timestamp())) as left`,
    [role, tenant, lasting],
  );
  return rows[0]?.left === true;
}
