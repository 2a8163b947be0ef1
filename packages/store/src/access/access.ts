/**
 * Who may use this installation. `of(tenant)` covers what the people of a tenant see and change; the rest is for the code that lets them
 * in.
 *
 * O1 of tenant-store.ts applies here as well: an id of another tenant is treated as one that does not exist.
 */
import type { Database } from "../database/database.ts";
import { type TenantWebhooks, tenantWebhooks } from "../webhooks/webhooks.ts";
import { type AuditFilter, type AuditLog, type AuditPage, openAuditLog, readAudit } from "./audit.ts";
import {
  createFirstKey,
  createKey,
  createLocalKey,
  type Key,
  type KeyMaker,
  listKeys,
  type MadeKey,
  type NewKey,
  openKeyFinder,
  revokeKey,
} from "./keys.ts";
import { closeLogin, findLogin, type Login, openLogin } from "./logins.ts";
import { createTenant, listTenants, openTenant, type Tenant } from "./tenants.ts";
import {
  changeOwnPassword,
  changeUser,
  createUser,
  deleteUser,
  findUserByPassword,
  listUsers,
  type User,
  type UserChange,
} from "./users.ts";

export interface TenantAccess {
  listKeys(): Promise<readonly Key[]>;
  createKey(wanted: NewKey): Promise<MadeKey>;
  /** `may` checks the key that loses its rights, in the transaction. */
  revokeKey(id: string, may?: (key: Key) => boolean): Promise<boolean | "refused">;
  listUsers(): Promise<readonly User[]>;
  createUser(wanted: {
    readonly name: string;
    readonly password: string;
    readonly roles: readonly string[];
  }): Promise<User | null>;
  changeUser(id: string, change: UserChange, may?: (user: User) => boolean): Promise<User | null | "refused">;
  /** false: the current password is wrong. `session`: the one that stays open. */
  changeOwnPassword(
    id: string,
    wanted: { readonly current: string; readonly password: string; readonly session: string },
  ): Promise<boolean>;
  deleteUser(id: string, may?: (user: User) => boolean): Promise<boolean | "refused">;
  readonly webhooks: TenantWebhooks;
  audit(filter?: AuditFilter, page?: { readonly beforeId?: number; readonly limit?: number }): Promise<AuditPage>;
}

export interface Access {
  readonly log: AuditLog;
  of(tenant: string): TenantAccess;
  findKey(text: string): Promise<Key | null>;
  findLogin(text: string): Promise<Login | null>;
  findUserByPassword(tenant: string, name: string, password: string): Promise<User | null>;
  openLogin: (
    ...given: Parameters<typeof openLogin> extends [Database, ...infer Rest] ? Rest : never
  ) => ReturnType<typeof openLogin>;
  closeLogin(id: string): Promise<void>;
  listTenants(): Promise<readonly Tenant[]>;
  createTenant(id: string, name: string): Promise<Tenant | null>;
  /** Creates a tenant with a key of its first owner. null: the id is taken. */
  openTenant: (
    ...given: Parameters<typeof openTenant> extends [Database, ...infer Rest] ? Rest : never
  ) => ReturnType<typeof openTenant>;
  /** null: the installation already got its first key. */
  createFirstKey(wanted: NewKey, tenant: string, by: KeyMaker): Promise<MadeKey | null>;
  createLocalKey(wanted: NewKey, tenant: string, by: KeyMaker): Promise<MadeKey>;
}

export function openAccess(database: Database): Access {
  return {
    log: openAuditLog(database),
    of: (tenant) => ({
      listKeys: () => listKeys(database, tenant),
      createKey: (wanted) => createKey(database, tenant, wanted),
      revokeKey: (id, may) => revokeKey(database, tenant, id, may),
      listUsers: () => listUsers(database, tenant),
      createUser: (wanted) => createUser(database, tenant, wanted),
      changeUser: (id, change, may) => changeUser(database, tenant, id, change, may),
      changeOwnPassword: (id, wanted) => changeOwnPassword(database, tenant, id, wanted),
      deleteUser: (id, may) => deleteUser(database, tenant, id, may),
      webhooks: tenantWebhooks(database, tenant),
      audit: (filter, page) => readAudit(database, tenant, filter, page),
    }),
    findKey: openKeyFinder(database),
    findLogin: (text) => findLogin(database, text),
    findUserByPassword: (tenant, name, password) => findUserByPassword(database, tenant, name, password),
    openLogin: (tenant, bearer, lastsMs) => openLogin(database, tenant, bearer, lastsMs),
    closeLogin: (id) => closeLogin(database, id),
    listTenants: () => listTenants(database),
    createTenant: (id, name) => createTenant(database, id, name),
    openTenant: (tenant, owner, by) => openTenant(database, tenant, owner, by),
    createFirstKey: (wanted, tenant, by) => createFirstKey(database, wanted, tenant, by),
    createLocalKey: (wanted, tenant, by) => createLocalKey(database, wanted, tenant, by),
  };
}
