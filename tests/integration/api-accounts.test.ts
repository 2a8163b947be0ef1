// Accounts: limits for password guesses, password changes, the last owner, and refusals in the audit log.
import { type ApiProblem, createClient } from "@markmill/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { askingWorkflow, startApi, type TestApi } from "../support/api.ts";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import { openStore, type Store } from "../support/store.ts";
import { until } from "../support/until.ts";

let database: TestDatabase;
let store: Store;
let api: TestApi;
beforeAll(async () => {
  database = await freshDatabase();
  store = await openStore({ url: database.url });
  // A proxy on this machine reports the address of the client.
  api = await startApi({ store, queues: null }, { trustProxy: ["127.0.0.1"], loginFailuresPerMinute: 4 });
});
afterAll(async () => {
  await api?.close();
  await store?.close();
  await database?.drop();
});

const password = "correct horse battery";
const json = { "content-type": "application/json" };

async function logIn(body: object, from: string): Promise<Response> {
  const headers = { ...json, "x-forwarded-for": from };
  return await fetch(`${api.url}/v1/session`, { method: "POST", headers, body: JSON.stringify(body) });
}

async function sessionOf(name: string, from: string, word = password): Promise<Record<string, string>> {
  const response = await logIn({ name, password: word }, from);
  expect(response.status).toBe(200);
  return { ...json, cookie: (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "", origin: api.url };
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => null,
    (error: ApiProblem) => error.code,
  );

describe("guessing a password", () => {
  it("guesses are limited per account, from any number of addresses, also in parallel", async () => {
    const owner = await api.client("owner");
    await owner.createUser({ body: { name: "guessed", password, roles: ["reader"] } });
    const tries = await Promise.all(
      Array.from({ length: 9 }, (_, i) => logIn({ name: "guessed", password: `guess ${i}` }, `10.1.0.${i}`)),
    );
    expect(tries.map(({ status }) => status).sort()).toEqual([...Array(4).fill(401), ...Array(5).fill(429)]);
    const late = await logIn({ name: "guessed", password }, "10.1.1.1");
    expect(late.status).toBe(429);
    expect(Number(late.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(Number(late.headers.get("retry-after"))).toBeLessThanOrEqual(60);
    expect(await late.json()).toMatchObject({ code: "RATE_LIMITED" });
  });

  it("guesses lock out no other account, no key, and not the address of the last login", async () => {
    const owner = await api.client("owner");
    for (const name of ["at-home", "other"]) await owner.createUser({ body: { name, password, roles: ["reader"] } });
    const key = await owner.createKey({ body: { name: "a way in", roles: ["reader"] } });
    expect((await logIn({ name: "at-home", password }, "10.2.0.1")).status).toBe(200);
    for (let i = 0; i < 6; i += 1) await logIn({ name: "at-home", password: "wrong" }, `10.3.0.${i}`);
    expect((await logIn({ name: "at-home", password }, "10.3.0.9")).status).toBe(429);
    expect((await logIn({ name: "at-home", password }, "10.2.0.1")).status).toBe(200);
    expect((await logIn({ name: "other", password }, "10.3.0.9")).status).toBe(200);
    expect((await logIn({ key: key.secret }, "10.3.0.9")).status).toBe(200);
  });

  it("the answer is the same whether the account exists or not", async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 6; i += 1) statuses.push((await logIn({ name: "nobody", password }, `10.4.0.${i}`)).status);
    expect(statuses).toEqual([401, 401, 401, 401, 429, 429]);
  });
});

describe("a user's own password", () => {
  const change = (headers: Record<string, string>, body: object) =>
    fetch(`${api.url}/v1/session/password`, { method: "POST", headers, body: JSON.stringify(body) });

  it("is changed with the current password, which ends all other sessions of the user and of no one else", async () => {
    const owner = await api.client("owner");
    for (const name of ["changing", "staying"]) {
      await owner.createUser({ body: { name, password, roles: ["reader"] } });
    }
    const [here, there] = [await sessionOf("changing", "10.5.0.1"), await sessionOf("changing", "10.5.0.2")];
    const other = await sessionOf("staying", "10.5.0.3");
    const next = "a new horse battery";
    expect((await change(here, { current: "wrong", password: next })).status).toBe(403);
    expect((await change(here, { current: password, password: "short" })).status).toBe(400);
    expect(
      (await change({ ...here, origin: "https://evil.example" }, { current: password, password: next })).status,
    ).toBe(403);
    const status = async (headers: Record<string, string>) =>
      (await fetch(`${api.url}/v1/runs`, { headers: { cookie: headers.cookie ?? "" } })).status;
    expect([await status(here), await status(there)]).toEqual([200, 200]);
    expect((await change(here, { current: password, password: next })).status).toBe(204);
    expect([await status(here), await status(there), await status(other)]).toEqual([200, 401, 200]);
    expect((await logIn({ name: "changing", password }, "10.5.0.1")).status).toBe(401);
    expect((await logIn({ name: "changing", password: next }, "10.5.0.1")).status).toBe(200);
    const entries = await until(async () => {
      const { items } = await owner.listAudit({ query: { action: "changePassword" } });
      return items.length === 4 && items.every(({ outcome }) => outcome !== null) ? items : undefined;
    });
    expect(entries.map(({ outcome }) => outcome).sort()).toEqual([204, 400, 403, 403]);
    expect(JSON.stringify(entries)).not.toMatch(/horse/);
  });

  it("cannot be guessed through a stolen session", async () => {
    const owner = await api.client("owner");
    await owner.createUser({ body: { name: "stolen", password, roles: ["reader"] } });
    const headers = await sessionOf("stolen", "10.6.0.1");
    const statuses: number[] = [];
    for (let i = 0; i < 6; i += 1)
      statuses.push((await change(headers, { current: `guess ${i}`, password: "another horse" })).status);
    expect(statuses).toEqual([403, 403, 403, 403, 429, 429]);
  });

  it("does not exist for a key", async () => {
    const token = await api.key(["owner"]);
    const body = { current: password, password: "another horse" };
    const response = await change({ ...json, authorization: `Bearer ${token}` }, body);
    expect([response.status, await response.json()]).toMatchObject([409, { code: "NO_PASSWORD" }]);
  });
});

describe("a refused change", () => {
  it("is in the audit log with its status: missing scope, broken body, wrong body, impossible id, foreign page", async () => {
    const owner = await api.client("owner", "refusals");
    const reader = await api.key(["reader"], "refusals");
    const whole = await api.key(["owner"], "refusals");
    const ask = async (token: string, path: string, init: RequestInit, type = "application/json") => {
      const headers = { authorization: `Bearer ${token}`, "content-type": type };
      return (await fetch(`${api.url}${path}`, { method: "POST", headers, ...init })).status;
    };
    const secret = "a secret of somebody";
    const asked = [
      await ask(reader, "/v1/keys", { body: JSON.stringify({ name: secret, roles: ["owner"] }) }),
      await ask(whole, "/v1/keys", { body: `{"name": "${secret}` }),
      await ask(whole, "/v1/keys", { body: JSON.stringify({ name: secret, roles: ["emperor"] }) }),
      await ask(whole, "/v1/keys", { body: secret }, "text/plain"),
      await ask(whole, "/v1/keys", { body: JSON.stringify({ name: "x".repeat(2_000_000), roles: ["reader"] }) }),
      await ask(whole, "/v1/keys?what=1", { body: JSON.stringify({ name: "x", roles: ["reader"] }) }),
      await ask(whole, "/v1/runs/not%00an-id/cancel", { body: "{}" }),
      await ask(reader, "/v1/runs", { body: JSON.stringify({ definition: "0".repeat(64) }) }),
    ];
    expect(asked).toEqual([403, 400, 400, 415, 413, 400, 404, 403]);
    const entries = await until(async () => {
      const { items } = await owner.listAudit({ query: {} });
      return items.length >= 8 && items.every(({ outcome }) => outcome !== null) ? items : undefined;
    });
    const expected = [
      ...[403, 400, 400, 415, 413, 400].map((outcome) => `createKey ${outcome}`),
      ...["cancelRun 404", "startRun 403"],
    ];
    expect(entries.map(({ action, outcome }) => `${action} ${outcome}`).sort()).toEqual(expected.sort());
    expect(JSON.stringify(entries)).not.toContain(secret);
    expect(new Set(entries.map(({ actorName }) => actorName))).toEqual(new Set(["refusals reader", "refusals owner"]));
  });

  it("has one audit entry, also if its handler refuses it; reads and unknown callers have none", async () => {
    const owner = await api.client("owner", "handled");
    const headers = { authorization: `Bearer ${await api.key(["owner"], "handled")}` };
    await codeOf(owner.cancelRun({ params: { id: "00000000-0000-4000-8000-000000000000" } }));
    await fetch(`${api.url}/v1/runs?limit=x`, { headers });
    await fetch(`${api.url}/v1/keys`, {
      method: "POST",
      headers: { ...json, authorization: "Bearer mm_x" },
      body: "{}",
    });
    await owner.saveDefinition({ body: { root: "a.wf.md", files: { "a.wf.md": askingWorkflow } } });
    const entries = await until(async () => {
      const { items } = await owner.listAudit({ query: {} });
      return items.length >= 2 && items.every(({ outcome }) => outcome !== null) ? items : undefined;
    });
    expect(entries.map(({ action, outcome }) => [action, outcome])).toEqual([
      ["saveDefinition", 201],
      ["cancelRun", 404],
    ]);
  });
});

describe("the last owner", () => {
  const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

  it("cannot be removed if the only other owner is a key that expires", async () => {
    const ops = createClient({ url: api.url, token: await api.key(["ops"]) });
    const made = await ops.createTenant({ body: { id: "biology", name: "Biology" } });
    const first = createClient({ url: api.url, token: made.key.secret });
    const short = await first.createKey({ body: { name: "short", roles: ["owner"], expiresAt: inAnHour() } });
    expect(await codeOf(first.revokeKey({ params: { id: made.key.id } }))).toBe("LAST_OWNER");
    // Other rights can still be removed.
    const spare = await first.createKey({ body: { name: "spare", roles: ["reader"] } });
    expect(await codeOf(first.revokeKey({ params: { id: spare.id } }))).toBe(null);
    expect(await codeOf(first.revokeKey({ params: { id: short.id } }))).toBe(null);
    const user = await first.createUser({ body: { name: "ada", password, roles: ["owner"] } });
    await first.createKey({ body: { name: "short", roles: ["owner"], expiresAt: inAnHour() } });
    expect(await codeOf(first.revokeKey({ params: { id: made.key.id } }))).toBe(null);
    const own = { ...(await sessionOfTenant("biology", "ada")) };
    const as = (method: string, body?: object) =>
      fetch(`${api.url}/v1/users/${user.id}`, {
        method,
        headers: own,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const { "content-type": _, ...bare } = own;
    expect((await as("PATCH", { roles: ["reader"] })).status).toBe(409);
    expect((await as("PATCH", { disabled: true })).status).toBe(409);
    expect((await fetch(`${api.url}/v1/users/${user.id}`, { method: "DELETE", headers: bare })).status).toBe(409);
  });

  it("other keys can be revoked although the key of every owner expires", async () => {
    const { access } = store;
    await access.createTenant("summer", "Summer");
    const wanted = { scopes: null, createdBy: "test", expiresAt: new Date(Date.now() + 3_600_000) };
    const [one, two] = [
      await access.of("summer").createKey({ ...wanted, name: "one", roles: ["owner"] }),
      await access.of("summer").createKey({ ...wanted, name: "two", roles: ["owner"] }),
    ];
    expect(await access.of("summer").revokeKey(two.key.id)).toBe(true);
    await expect(access.of("summer").revokeKey(one.key.id)).rejects.toMatchObject({ code: "STORE_LAST_OWNER" });
  });

  it("the last caller with the role ops cannot be removed either", async () => {
    const both = createClient({ url: api.url, token: await api.key(["owner", "ops"], "operators") });
    await both.createKey({ body: { name: "short", roles: ["ops"], expiresAt: inAnHour() } });
    await store.database.calm.query(
      `update markmill.api_keys set revoked_at = now() where 'ops' = any(roles) and expires_at is null and tenant <> 'operators'`,
    );
    const { items } = await both.listKeys();
    const own = items.find(({ roles, expiresAt }) => roles.includes("ops") && expiresAt === null);
    await both.createKey({ body: { name: "owner for good", roles: ["owner"] } });
    expect(await codeOf(both.revokeKey({ params: { id: own?.id ?? "" } }))).toBe("LAST_OPS");
  });

  async function sessionOfTenant(tenant: string, name: string): Promise<Record<string, string>> {
    const response = await logIn({ tenant, name, password }, "10.7.0.1");
    return { ...json, cookie: (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "", origin: api.url };
  }
});
