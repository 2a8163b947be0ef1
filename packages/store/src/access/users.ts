/** Users who log in with a password. */
import type { PoolClient } from "pg";
import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import { StoreError, translate } from "../database/store-error.ts";
import { inTransaction } from "../database/transaction.ts";
import { keepAnOperator, keepAnOwner } from "./owners.ts";
import { checkPassword, hashPassword } from "./passwords.ts";
import { makeSecret } from "./secrets.ts";

export interface User {
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  readonly roles: readonly string[];
  readonly disabled: boolean;
  readonly createdAt: Date;
}

export interface UserChange {
  readonly password?: string;
  readonly roles?: readonly string[];
  readonly disabled?: boolean;
}

const columns = `id, tenant, name, roles, disabled, created_at as "createdAt"`;

/** null: the name is taken. */
export async function createUser(
  database: Database,
  tenant: string,
  wanted: { readonly name: string; readonly password: string; readonly roles: readonly string[] },
): Promise<User | null> {
  const rows = await queryDatabase<User>(
    database,
    "Making a user",
    `insert into users (id, tenant, name, password, roles) values ($1, $2, $3, $4, $5)
     on conflict (tenant, name) do nothing returning ${columns}`,
    [makeSecret("mm").id, tenant, wanted.name, await hashPassword(wanted.password), wanted.roles],
  );
  return rows[0] ?? null;
}

export async function listUsers(database: Database, tenant: string): Promise<readonly User[]> {
  return queryDatabase<User>(
    database,
    "Listing users",
    `select ${columns} from users where tenant = $1 order by name, id`,
    [tenant],
  );
}

/** null: name or password is wrong, or the user is locked out. All cases take the same time. */
export async function findUserByPassword(
  database: Database,
  tenant: string,
  name: string,
  password: string,
): Promise<User | null> {
  const rows = await queryDatabase<User & { readonly password: string }>(
    database,
    "Looking for a user",
    `select ${columns}, password from users where tenant = $1 and name = $2 and not disabled`,
    [tenant, name],
  );
  const fits = await checkPassword(password, rows[0]?.password ?? null);
  if (!fits || rows[0] === undefined) return null;
  const { password: _, ...user } = rows[0];
  return user;
}

/**
 * Changes a user and ends the user's sessions: a new login reads the new rights. null: the user does not exist. `may` checks the user under
 * the lock, when no other transaction can change the row.
 */
export async function changeUser(
  database: Database,
  tenant: string,
  id: string,
  change: UserChange,
  may: (user: User) => boolean = () => true,
): Promise<User | null | "refused"> {
  const password = change.password === undefined ? null : await hashPassword(change.password);
  return changing(database, "Changing a user", tenant, id, may, async (client) => {
    const { rows } = await client.query<User>(
      `update users set password = coalesce($3, password), roles = coalesce($4, roles), disabled = coalesce($5, disabled)
       where tenant = $1 and id = $2 returning ${columns}`,
      [tenant, id, password, change.roles ?? null, change.disabled ?? null],
    );
    return rows[0] ?? null;
  });
}

/**
 * Changes a password at the user's own request, with the current password. Ends the user's other sessions. false: the current password is
 * wrong, or was changed meanwhile. One statement: kill -9 leaves both passwords and sessions as they were, or both changed.
 */
export async function changeOwnPassword(
  database: Database,
  tenant: string,
  id: string,
  { current, password, session }: { readonly current: string; readonly password: string; readonly session: string },
): Promise<boolean> {
  const [kept] = await queryDatabase<{ password: string }>(
    database,
    "Looking for a user",
    "select password from users where tenant = $1 and id = $2 and not disabled",
    [tenant, id],
  );
  if (!(await checkPassword(current, kept?.password ?? null))) return false;
  const rows = await queryDatabase(
    database,
    "Changing a password",
    `with changed as (
       update users set password = $4 where tenant = $1 and id = $2 and password = $3 and not disabled returning id
     ), ended as (delete from logins l using changed c where l.user_id = c.id and l.id <> $5)
     select id from changed`,
    [tenant, id, kept?.password ?? "", await hashPassword(password), session],
  );
  return rows.length > 0;
}

/** false: the user does not exist. */
export async function deleteUser(
  database: Database,
  tenant: string,
  id: string,
  may: (user: User) => boolean = () => true,
): Promise<boolean | "refused"> {
  const deleted = await changing(database, "Deleting a user", tenant, id, may, async (client) => {
    const { rowCount } = await client.query("delete from users where tenant = $1 and id = $2", [tenant, id]);
    return rowCount === 0 ? null : true;
  });
  return deleted ?? false;
}

async function changing<Result>(
  database: Database,
  doing: string,
  tenant: string,
  id: string,
  may: (user: User) => boolean,
  change: (client: PoolClient) => Promise<Result | null>,
): Promise<Result | null | "refused"> {
  try {
    return await inTransaction(database.calm, async (client) => {
      const { rows } = await client.query<User>(
        `select ${columns} from users where tenant = $1 and id = $2 for update`,
        [tenant, id],
      );
      if (rows[0] === undefined) return null;
      if (!may(rows[0])) return "refused";
      const changed = await change(client);
      if (changed === null) return null;
      await client.query("delete from logins where user_id = $1", [id]);
      const [user] = rows;
      await keepAnOwner(client, tenant, !user.disabled && user.roles.includes("owner"));
      if (user.roles.includes("ops")) await keepAnOperator(client, !user.disabled);
      return changed;
    });
  } catch (error) {
    throw error instanceof StoreError ? error : translate(error, doing);
  }
}
