import { effectiveScopes, type Role, type Scope } from "@markmill/contract";
import type { Key, User } from "@markmill/store";
import { cutPage } from "../cut-page.ts";
import type { Some } from "../handler.ts";
import { inTurn } from "../in-turn.ts";
import { createLoginLimit, type LoginTry } from "../login-limit.ts";
import { networkOf } from "../network-of.ts";
import { placeOf } from "../page.ts";
import type { ApiParts } from "../parts.ts";
import { csrfTokenOf, knownRoles, knownScopes, ofKey, ofLogin, type Principal } from "../principal.ts";
import { notFound, Refusal } from "../refusal.ts";

type Names =
  | "logIn"
  | "getSession"
  | "logOut"
  | "changePassword"
  | "listUsers"
  | "createUser"
  | "updateUser"
  | "deleteUser"
  | "listKeys"
  | "createKey"
  | "revokeKey"
  | "listAudit"
  | "listTenants"
  | "createTenant";

/** Checking each password takes memory and processor time (passwords.ts in the store). */
const mostPasswords = 100;

export function accessHandlers({ access, settings, tell }: ApiParts): Some<Names> {
  const oneByOne = inTurn(mostPasswords);
  const loginLimit = createLoginLimit(settings.loginFailuresPerMinute);
  const changeLimit = createLoginLimit(settings.loginFailuresPerMinute);
  return {
    async logIn({ body, id, address }) {
      const begun = "key" in body ? null : loginLimit(`${body.tenant}\n${body.name}`, networkOf(address));
      const held = begun?.kind === "refused" ? begun : null;
      const bearer = held !== null ? null : await bearerOf(body);
      const tenant = bearer?.tenant ?? ("tenant" in body ? body.tenant : "");
      const entry = { action: "logIn", target: null, requestId: id, address, details: {} };
      if (bearer === null) {
        // A tenant that does not exist has no log to write to. The response time does not reveal which tenants exist.
        const known = tenant !== "" && (await access.listTenants()).some((one) => one.id === tenant);
        if (known) {
          const actorName = "name" in body ? body.name : "";
          access.log
            .asked({ ...entry, tenant, actor: `address:${address}`, actorName })
            .then((asked) => access.log.done(asked, held === null ? 401 : 429))
            .catch((error: unknown) => tell.warn({ err: error }, "the audit log"));
        }
        if (held !== null) throw tooMany(held);
        throw new Refusal("LOGIN_REFUSED", { detail: "The name, password or key is wrong." });
      }
      if (begun?.kind === "begun") begun.succeeded();
      const actor = bearer.userId === null ? `key:${bearer.keyId}` : `user:${bearer.userId}`;
      const asked = await access.log.asked({ ...entry, tenant, actor, actorName: bearer.name });
      const opened = await access.openLogin(
        bearer.tenant,
        bearer.userId === null ? { keyId: bearer.keyId ?? "" } : { userId: bearer.userId },
        settings.sessionMs,
      );
      await access.log.done(asked, 200);
      const principal = ofLogin({ ...bearer, id: opened.id, expiresAt: opened.expiresAt }, opened.secret);
      return {
        body: present({ ...principal, csrfToken: csrfTokenOf(opened.secret) }),
        cookie: { value: opened.secret, maxAgeMs: settings.sessionMs },
      };
    },

    getSession: async ({ caller }) => ({ body: present(caller.principal) }),

    async logOut({ caller: { principal } }) {
      if (principal.kind === "session") await access.closeLogin(principal.id);
      return { cookie: null };
    },

    async changePassword({ body, caller: { principal, access: own } }) {
      const { userId, id: session } = principal;
      if (userId === null) {
        throw new Refusal("NO_PASSWORD", {
          detail: "A key has no password.",
          hint: "First log in with name and password. An owner can set passwords of other users with PATCH /v1/users/{id}.",
        });
      }
      // No network is trusted, because the session may be stolen.
      const begun = changeLimit(userId, null);
      if (begun.kind === "refused") throw tooMany(begun);
      if (!(await oneByOne(() => own.changeOwnPassword(userId, { ...body, session })))) {
        throw new Refusal("FORBIDDEN", { detail: "The current password is wrong." });
      }
      begun.succeeded();
      return {};
    },

    async listUsers({ query, caller }) {
      const { items, next } = cutPage(await caller.access.listUsers(), (one) => one.id, query);
      return { body: { items: items.map(presentUser), next } };
    },

    async createUser({ body, caller }) {
      mayGrant(caller.principal, body.roles, null);
      const user = await caller.access.createUser(body);
      if (user === null) throw new Refusal("NAME_TAKEN", { detail: "A user with this name already exists." });
      return { target: user.id, body: presentUser(user) };
    },

    async updateUser({ params: { id }, body, caller: { access: own, principal } }) {
      if (body.roles !== undefined) mayGrant(principal, body.roles, null);
      const change = {
        ...(body.password === undefined ? {} : { password: body.password }),
        ...(body.roles === undefined ? {} : { roles: body.roles }),
        ...(body.disabled === undefined ? {} : { disabled: body.disabled }),
      };
      const changed = await own.changeUser(id, change, ({ roles }) => mayRule(principal, roles, null));
      if (changed === "refused") throw aboveThem();
      if (changed === null) throw notFound("such user");
      return { body: presentUser(changed) };
    },

    async deleteUser({ params: { id }, caller: { access: own, principal } }) {
      const deleted = await own.deleteUser(id, ({ roles }) => mayRule(principal, roles, null));
      if (deleted === "refused") throw aboveThem();
      if (!deleted) throw notFound("such user");
      return {};
    },

    async listKeys({ query, caller }) {
      const { items, next } = cutPage(await caller.access.listKeys(), (one) => one.id, query);
      return { body: { items: items.map(presentKey), next } };
    },

    async createKey({ body: { name, roles, scopes, expiresAt }, caller }) {
      mayGrant(caller.principal, roles, scopes ?? null);
      const made = await caller.access.createKey({
        name,
        roles,
        scopes: scopes ?? null,
        createdBy: caller.principal.actor,
        expiresAt: earlier(expiresAt === undefined ? null : new Date(expiresAt), caller.principal.keyExpiresAt),
      });
      return { target: made.key.id, body: { ...presentKey(made.key), secret: made.secret } };
    },

    async revokeKey({ params: { id }, caller: { access: own, principal } }) {
      const revoked = await own.revokeKey(id, ({ roles, scopes }) => mayRule(principal, roles, scopes));
      if (revoked === "refused") throw aboveThem();
      if (!revoked) throw notFound("such key");
      return {};
    },

    async listAudit({ query: { action, actor, target, from, before, limit, cursor }, caller }) {
      const page = await caller.access.audit(
        {
          ...(action === undefined ? {} : { action }),
          ...(actor === undefined ? {} : { actor }),
          ...(target === undefined ? {} : { target }),
          ...(from === undefined ? {} : { from: new Date(from) }),
          ...(before === undefined ? {} : { before: new Date(before) }),
        },
        { limit, ...(cursor === undefined ? {} : { beforeId: placeOf(cursor) }) },
      );
      const items = page.entries.map(({ tenant: _, at, details, ...entry }) => ({
        ...entry,
        at: at.toISOString(),
        details: { ...details },
      }));
      return { body: { items, next: page.next === null ? null : String(page.next) } };
    },

    async listTenants({ query }) {
      const page = cutPage(await access.listTenants(), (one) => one.id, query);
      const items = page.items.map(({ id, name, createdAt }) => ({ id, name, createdAt: createdAt.toISOString() }));
      return { body: { items, next: page.next } };
    },

    async createTenant({ body: { id, name }, caller: { principal }, id: requestId, address }) {
      const owner = {
        name: "first owner",
        roles: ["owner"],
        scopes: null,
        createdBy: principal.actor,
        expiresAt: null,
      };
      const opened = await access.openTenant({ id, name }, owner, { name: principal.name, requestId, address });
      if (opened === null) throw new Refusal("NAME_TAKEN", { detail: "A tenant with this id already exists." });
      const { tenant, made } = opened;
      return {
        target: id,
        body: {
          id,
          name,
          createdAt: tenant.createdAt.toISOString(),
          key: { ...presentKey(made.key), secret: made.secret },
        },
      };
    },
  };

  async function bearerOf(body: LoginBody) {
    return "key" in body ? await byKey(body.key) : await byPassword(body.tenant, body.name, body.password);
  }

  async function byKey(text: string) {
    const key = await access.findKey(text);
    if (key === null) return null;
    const { tenant, name, roles, scopes, id, expiresAt } = key;
    return { tenant, name, roles, scopes, keyId: id, keyExpiresAt: expiresAt, userId: null };
  }

  async function byPassword(tenant: string, name: string, password: string) {
    const user = await oneByOne(() => access.findUserByPassword(tenant, name, password));
    return user === null
      ? null
      : {
          tenant,
          name: user.name,
          roles: user.roles,
          scopes: null,
          keyId: null,
          keyExpiresAt: null,
          userId: user.id,
        };
  }
}

type LoginBody =
  | { readonly key: string }
  | { readonly tenant: string; readonly name: string; readonly password: string };

function tooMany({ waitMs }: Extract<LoginTry, { readonly kind: "refused" }>): Refusal {
  const retryAfterS = Math.max(1, Math.ceil(waitMs / 1000));
  const detail = `Too many wrong passwords for this account. Try again in ${retryAfterS} s.`;
  return new Refusal("RATE_LIMITED", { detail, hint: "You can also log in with a key." }, { retryAfterS });
}

/** Callers can only grant rights that they have: not the role ops, which belongs to the installation, and not a scope that they lack. */
function mayGrant(principal: Principal, wanted: readonly Role[], narrowed: readonly Scope[] | null): void {
  if (wanted.includes("ops") && !principal.roles.includes("ops")) {
    throw new Refusal("FORBIDDEN", { detail: "Only a user with the role ops can give this role." });
  }
  const above = [...effectiveScopes(wanted, narrowed)].filter((scope) => !principal.scopes.has(scope));
  if (above.length > 0) {
    throw new Refusal("FORBIDDEN", {
      detail: `You cannot give roles or scopes that you do not have: ${above.join(", ")}.`,
      hint: "Name fewer roles or scopes, or ask a user who has them.",
    });
  }
}

/** A caller must not change an account with more rights: setting its password would give the caller all these rights. */
function mayRule(principal: Principal, roles: readonly string[], scopes: readonly string[] | null): boolean {
  const held = knownRoles(roles);
  if (held.includes("ops") && !principal.roles.includes("ops")) return false;
  return [...effectiveScopes(held, knownScopes(scopes))].every((scope) => principal.scopes.has(scope));
}

function aboveThem(): Refusal {
  return new Refusal("FORBIDDEN", {
    detail: "This user or key has rights that you do not have.",
    hint: "Ask a user who has at least the same rights.",
  });
}

/** A key that was created with another key expires no later than that key. */
function earlier(wanted: Date | null, own: Date | null): Date | null {
  if (wanted === null || own === null) return wanted ?? own;
  return wanted < own ? wanted : own;
}

function present({ tenant, kind, id, name, roles, scopes, expiresAt, csrfToken }: Principal) {
  return {
    tenant,
    kind,
    id,
    name,
    roles: [...roles],
    scopes: [...scopes].sort(),
    expiresAt: expiresAt?.toISOString() ?? null,
    ...(csrfToken === null ? {} : { csrfToken }),
  };
}

function presentUser({ id, name, roles, disabled, createdAt }: User) {
  return { id, name, roles: knownRoles(roles), disabled, createdAt: createdAt.toISOString() };
}

function presentKey(key: Key) {
  const { roles, scopes } = ofKey(key);
  return {
    id: key.id,
    name: key.name,
    start: `mm_${key.id}`,
    roles: [...roles],
    createdBy: key.createdBy,
    scopes: key.scopes === null ? null : [...scopes],
    createdAt: key.createdAt.toISOString(),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    revokedAt: key.revokedAt?.toISOString() ?? null,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
  };
}
