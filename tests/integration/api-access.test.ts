// Users, sessions, keys, the audit log, and the limits against a hostile network.
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type ApiProblem, createClient } from "@markmill/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { askingWorkflow, startApi, type TestApi } from "../support/api.ts";
import { type Mill, startMill } from "../support/mill.ts";
import { until } from "../support/until.ts";

let mill: Mill;
let api: TestApi;
beforeAll(async () => {
  mill = await startMill({ backend: "postgres", script: "default: { reply: ok }\n", worker: false, supervisor: false });
  api = await startApi(mill);
});
afterAll(async () => {
  await api?.close();
  await mill?.close();
});

const password = "correct horse battery";
const json = { "content-type": "application/json" };

async function logIn(body: object): Promise<Response> {
  return await fetch(`${api.url}/v1/session`, { method: "POST", headers: json, body: JSON.stringify(body) });
}

describe("the first key", () => {
  it("is created once, and the audit log records it and its replacement", async () => {
    const { access } = mill.store;
    const wanted = { roles: ["owner", "ops"], scopes: null, createdBy: "installation", expiresAt: null };
    const by = { name: "installation", requestId: "", address: "" };
    const asked = [1, 2, 3].map(() => access.createFirstKey({ ...wanted, name: "first" }, "default", by));
    const first = (await Promise.all(asked)).filter((one) => one !== null);
    expect(first).toHaveLength(1);
    const local = await access.createLocalKey({ ...wanted, name: "local", createdBy: "local" }, "default", by);
    const owner = createClient({ url: api.url, token: local.secret });
    const { items } = await owner.listAudit({ query: { action: "createKey" } });
    expect(items.map(({ actor, target, outcome }) => [actor, target, outcome])).toEqual([
      ["local", local.key.id, 201],
      ["installation", first[0]?.key.id, 201],
    ]);
  });
});

describe("a browser", () => {
  it("logs in with a password, gets a cookie that no script can read, and changes nothing without a page of our own", async () => {
    const owner = await api.client("owner");
    const user = await owner.createUser({ body: { name: "hopper", password, roles: ["owner"] } });
    expect((await logIn({ name: "hopper", password: "wrong" })).status).toBe(401);
    expect((await logIn({ name: "nobody", password })).status).toBe(401);
    const response = await logIn({ name: "hopper", password });
    const cookie = response.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/HttpOnly/);
    expect(cookie).toMatch(/SameSite=Strict/);
    const { csrfToken } = (await response.json()) as { csrfToken: string };
    const headers = { cookie: cookie.split(";")[0] ?? "" };
    expect((await fetch(`${api.url}/v1/runs`, { headers })).status).toBe(200);
    const make = (more: Record<string, string>) =>
      fetch(`${api.url}/v1/keys`, {
        method: "POST",
        headers: { ...headers, ...json, ...more },
        body: JSON.stringify({ name: "by browser", roles: ["reader"] }),
      });
    expect((await make({})).status).toBe(403);
    expect((await make({ "x-csrf-token": "guessed" })).status).toBe(403);
    expect((await make({ origin: "https://evil.example" })).status).toBe(403);
    expect((await make({ origin: "https://evil.example", "x-csrf-token": csrfToken })).status).toBe(403);
    expect((await make({ "x-csrf-token": csrfToken })).status).toBe(201);
    expect((await make({ origin: api.url })).status).toBe(201);
    // A disabled user loses access at once.
    await owner.updateUser({ params: { id: user.id }, body: { disabled: true } });
    expect((await fetch(`${api.url}/v1/runs`, { headers })).status).toBe(401);
    expect((await logIn({ name: "hopper", password })).status).toBe(401);
  });

  it("logs in with a key, and loses its session on logout or when the key is revoked", async () => {
    const owner = await api.client("owner");
    const key = await owner.createKey({ body: { name: "for a browser", roles: ["reader"] } });
    const cookieOf = async () =>
      ((await logIn({ key: key.secret })).headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    const [one, other] = [await cookieOf(), await cookieOf()];
    const status = async (cookie: string) => (await fetch(`${api.url}/v1/runs`, { headers: { cookie } })).status;
    expect(await status(one)).toBe(200);
    await fetch(`${api.url}/v1/session`, { method: "DELETE", headers: { cookie: one, origin: api.url } });
    expect([await status(one), await status(other)]).toEqual([401, 200]);
    await owner.revokeKey({ params: { id: key.id } });
    expect(await status(other)).toBe(401);
  });
});

describe("roles and scopes", () => {
  it("a caller grants at most its own rights, and one user who can grant rights always remains", async () => {
    const owner = await api.client("owner");
    const refused = (promise: Promise<unknown>) =>
      promise.then(
        () => null,
        (error: ApiProblem) => error.code,
      );
    expect(await refused(owner.createKey({ body: { name: "x", roles: ["ops"] } }))).toBe("FORBIDDEN");
    expect(await refused(owner.createUser({ body: { name: "x", password, roles: ["ops"] } }))).toBe("FORBIDDEN");
    const ops = createClient({ url: api.url, token: await api.key(["ops"]) });
    const made = await ops.createTenant({ body: { id: "physics", name: "Physics" } });
    const physics = createClient({ url: api.url, token: made.key.secret });
    expect(await refused(physics.revokeKey({ params: { id: made.key.id } }))).toBe("LAST_OWNER");
    const second = await physics.createKey({ body: { name: "second", roles: ["owner"] } });
    await physics.revokeKey({ params: { id: made.key.id } });
    const later = createClient({ url: api.url, token: second.secret });
    expect((await later.listKeys()).items.map(({ id }) => id)).toContain(second.id);
    expect(await refused(ops.createTenant({ body: { id: "physics", name: "again" } }))).toBe("NAME_TAKEN");
    expect(JSON.stringify(await later.listKeys())).not.toContain(second.secret.split("_").slice(2).join("_"));
  });
});

describe("a key with fewer scopes than its role", () => {
  const refused = (promise: Promise<unknown>) =>
    promise.then(
      () => null,
      (error: ApiProblem) => error.code,
    );

  it("grants at most its own scopes and changes no user with more rights", async () => {
    const owner = await api.client("owner");
    const narrow = await owner.createKey({ body: { name: "desk", roles: ["owner"], scopes: ["access:manage"] } });
    const desk = createClient({ url: api.url, token: narrow.secret });
    const whole = await owner.createUser({ body: { name: "lovelace", password, roles: ["owner"] } });
    const reader = await owner.createUser({ body: { name: "reading", password, roles: ["reader"] } });
    const other = await owner.createKey({ body: { name: "other", roles: ["grader"] } });
    const id = whole.id;
    for (const [what, asked] of Object.entries({
      "a whole key": () => desk.createKey({ body: { name: "x", roles: ["owner"] } }),
      "another scope": () =>
        desk.createKey({ body: { name: "x", roles: ["owner"], scopes: ["access:manage", "runs:read"] } }),
      "a lesser role": () => desk.createKey({ body: { name: "x", roles: ["reader"] } }),
      "a user": () => desk.createUser({ body: { name: "x", password, roles: ["owner"] } }),
      "a password": () => desk.updateUser({ params: { id }, body: { password: `${password}!` } }),
      "fewer roles": () => desk.updateUser({ params: { id }, body: { roles: ["reader"] } }),
      "a better role": () => desk.updateUser({ params: { id: reader.id }, body: { roles: ["owner"] } }),
      "an end": () => desk.deleteUser({ params: { id } }),
      "a revocation": () => desk.revokeKey({ params: { id: other.id } }),
    })) {
      expect(await refused(asked()), what).toBe("FORBIDDEN");
    }
    expect((await logIn({ name: "lovelace", password })).status).toBe(200);
    // The same limits apply in a session that is opened with the key.
    const session = await logIn({ key: narrow.secret });
    const cookie = (session.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    const headers = { cookie, origin: api.url, ...json };
    const body = JSON.stringify({ name: "x", roles: ["owner"] });
    expect((await fetch(`${api.url}/v1/keys`, { method: "POST", headers, body })).status).toBe(403);
    const same = await desk.createKey({ body: { name: "same", roles: ["owner"], scopes: ["access:manage"] } });
    expect(await refused(desk.revokeKey({ params: { id: same.id } }))).toBe(null);
    expect(await refused(owner.deleteUser({ params: { id } }))).toBe(null);
  });

  it("creates no key and no session that expire later than the key", async () => {
    const owner = await api.client("owner");
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const short = await owner.createKey({ body: { name: "short", roles: ["owner"], expiresAt } });
    const client = createClient({ url: api.url, token: short.secret });
    const later = new Date(Date.now() + 7_200_000).toISOString();
    const sooner = new Date(Date.now() + 60_000).toISOString();
    const make = async (wanted?: string) =>
      (
        await client.createKey({
          body: { name: "x", roles: ["owner"], ...(wanted === undefined ? {} : { expiresAt: wanted }) },
        })
      ).expiresAt;
    expect([await make(), await make(later), await make(sooner)]).toEqual([expiresAt, expiresAt, sooner]);
    const cookie = ((await logIn({ key: short.secret })).headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    const headers = { cookie, origin: api.url, ...json };
    const body = JSON.stringify({ name: "x", roles: ["owner"] });
    const made = await fetch(`${api.url}/v1/keys`, { method: "POST", headers, body });
    expect(((await made.json()) as { expiresAt: string }).expiresAt).toBe(expiresAt);
  });
});

describe("the audit log", () => {
  it("records every change with its actor and its result, and cannot be changed", async () => {
    const owner = await api.client("owner");
    const { hash } = await owner.saveDefinition({ body: { root: "a.wf.md", files: { "a.wf.md": askingWorkflow } } });
    const { id } = await owner.startRun({ body: { definition: hash, variables: {}, labels: { student: "Ada" } } });
    await owner.cancelRun({ params: { id } });
    await owner.cancelRun({ params: { id } }).catch(() => null);
    await sleep(200);
    const { items } = await owner.listAudit({ query: { target: id } });
    expect(items.map(({ action, outcome }) => [action, outcome])).toEqual([
      ["cancelRun", 409],
      ["cancelRun", 200],
      ["startRun", 201],
    ]);
    expect(JSON.stringify(items)).not.toContain("Ada");
    const { calm } = mill.store.machine.database;
    for (const statement of [
      "update audit set action = 'x'",
      "delete from audit",
      "truncate audit",
      "delete from audit_outcomes",
    ]) {
      await expect(calm.query(statement), statement).rejects.toThrow();
    }
    expect((await owner.listAudit({ query: { target: id } })).items).toHaveLength(3);
  });

  it("records a start with its run, a start that found an existing run, and a refused start", async () => {
    const owner = await api.client("owner", "history");
    const { hash } = await owner.saveDefinition({ body: { root: "a.wf.md", files: { "a.wf.md": askingWorkflow } } });
    const asked = { body: { definition: hash }, headers: { "idempotency-key": "once" } };
    const made = await Promise.all([1, 2, 3, 4].map(() => owner.startRun(asked)));
    const [{ id } = { id: "" }] = made;
    await owner.startRun({ body: { definition: "0".repeat(64) } }).catch(() => null);
    const read = async () => (await owner.listAudit({ query: { action: "startRun" } })).items;
    await until(async () => (await read()).filter(({ outcome }) => outcome !== null).length === 5);
    const entries = (await read()).map(({ outcome, target }) => [outcome, target]).sort();
    expect(entries).toEqual([...[200, 200, 200, 201].map((outcome) => [outcome, id]), [422, null]]);
    // One statement writes the run, the audit entry and its outcome.
    const { rows } = await mill.store.machine.database.calm.query(
      `select (a.xmin = r.xmin and o.xmin = r.xmin) as together from audit_outcomes o join audit a on a.id = o.audit_id
       join events r on r.run_id = o.target and r.seq = 1 where o.status = 201 and o.target = $1`,
      [id],
    );
    expect(rows).toEqual([{ together: true }]);
  });
});

describe("texts of the audit log", () => {
  it("equal the API response, and a search finds the created object and the object that the request names", async () => {
    const ops = createClient({ url: api.url, token: await api.key(["ops"]) });
    const made = await ops.createTenant({ body: { id: "chemistry", name: "Chemistry" } });
    const chemistry = createClient({ url: api.url, token: made.key.secret });
    await chemistry.revokeKey({ params: { id: made.key.id } }).catch(() => null);
    await logIn({ key: made.key.secret });
    await sleep(200);
    const { items } = await chemistry.listAudit({ query: { target: made.key.id } });
    expect(items.map(({ action, outcome }) => [action, outcome])).toEqual([
      ["revokeKey", 409],
      ["createKey", 201],
    ]);
    const logins = await chemistry.listAudit({ query: { action: "logIn" } });
    expect(logins.items.map(({ actor, outcome }) => [actor, outcome])).toEqual([[`key:${made.key.id}`, 200]]);
  });

  it("the last operator of an installation cannot be removed", async () => {
    const both = createClient({ url: api.url, token: await api.key(["owner", "ops"]) });
    const owner = await api.client("owner");
    const others = (await both.listKeys()).items.filter(
      ({ roles, revokedAt }) => roles.includes("ops") && revokedAt === null,
    );
    const codes: (string | null)[] = [];
    const { id: own } = await both.getSession();
    const code = (promise: Promise<unknown>) =>
      promise.then(
        () => null,
        (error: ApiProblem) => error.code,
      );
    expect(await code(owner.revokeKey({ params: { id: own } }))).toBe("FORBIDDEN");
    for (const { id } of others.filter(({ id }) => id !== own))
      codes.push(await code(both.revokeKey({ params: { id } })));
    expect(codes.every((one) => one === null)).toBe(true);
    expect(await code(both.revokeKey({ params: { id: own } }))).toBe("LAST_OPS");
  });
});

describe("a hostile network", () => {
  it("the API limits requests per key, and per address for requests without a key", async () => {
    const tight = await startApi(mill, { requestsPerMinute: 20, loginsPerMinute: 3 });
    try {
      const headers = { authorization: `Bearer ${await tight.key(["reader"])}` };
      const statuses: number[] = [];
      for (let i = 0; i < 25; i += 1) statuses.push((await fetch(`${tight.url}/v1/runs`, { headers })).status);
      expect(statuses.slice(0, 20)).toEqual(Array(20).fill(200));
      expect(statuses.slice(20)).toEqual(Array(5).fill(429));
      const other = { authorization: `Bearer ${await tight.key(["grader"])}` };
      expect((await fetch(`${tight.url}/v1/runs`, { headers: other })).status).toBe(200);
      const logins: number[] = [];
      for (let i = 0; i < 5; i += 1) {
        const forwarded = { ...json, "x-forwarded-for": `10.0.0.${i}` };
        const body = JSON.stringify({ key: "mm_x" });
        logins.push((await fetch(`${tight.url}/v1/session`, { method: "POST", headers: forwarded, body })).status);
      }
      // The address in a header counts only if the operator names the proxy.
      expect(logins).toEqual([401, 401, 401, 429, 429]);
    } finally {
      await tight.close();
    }
  });

  it("the API refuses long headers, closes slow connections, and reveals no internals", async () => {
    const port = Number(new URL(api.url).port);
    const said = (text: string, trickle = false) =>
      new Promise<{ text: string }>((resolve) => {
        let heard = "";
        const socket = connect(port, "127.0.0.1", () => socket.write(text));
        const timer = trickle ? setInterval(() => socket.write("x-slow: 1\r\n"), 500) : null;
        socket.on("data", (bytes) => {
          heard += bytes.toString();
        });
        socket.on("error", () => undefined);
        socket.on("close", () => {
          if (timer !== null) clearInterval(timer);
          resolve({ text: heard });
        });
      });
    const long = await said(`GET /v1/runs HTTP/1.1\r\nhost: x\r\nx-long: ${"a".repeat(40_000)}\r\n\r\n`);
    expect(long.text).toMatch(/^HTTP\/1\.1 431 /);
    expect((await said("NONSENSE\r\n\r\n")).text).toMatch(/^HTTP\/1\.1 400 /);
    const slow = await said("GET /v1/runs HTTP/1.1\r\nhost: x\r\n", true);
    expect(slow.text).toMatch(/^HTTP\/1\.1 408 /);
    for (const path of ["/v1/nothing", "/..%2f..%2fetc/passwd", "/docs/../../etc/passwd", "/v1/runs/%00", "/%"]) {
      const response = await fetch(`${api.url}${path}`);
      const text = await response.text();
      expect([400, 401, 404], path).toContain(response.status);
      expect(text).not.toMatch(/node_modules|at .+\(.+:\d+:\d+\)|root:/);
    }
    const docs = await fetch(`${api.url}/docs`);
    const page = await docs.text();
    expect(docs.headers.get("content-security-policy")).toContain("default-src 'none'");
    // The page loads nothing from other sites. Its only script is allowed by its hash.
    expect(page).not.toMatch(/<script[^>]|(?:src|href|action)="https?:|url\(|@import/);
    expect(docs.headers.get("content-security-policy")).toMatch(/script-src 'sha256-[^ ;]+';/);
    for (const line of api.log) expect(line).not.toMatch(/mm_[0-9a-f]{20}_|ms_[0-9a-f]{20}_/);
  });
});
