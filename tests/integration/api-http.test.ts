// What every HTTP client may expect of every route: HEAD, 405, unknown parameters, pages, other origins, compression.

import { request } from "node:http";
import { gunzipSync, gzipSync } from "node:zlib";
import { openapiDocument, type Route, type RouteName, routes } from "@markmill/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { askingWorkflow, startApi, type TestApi } from "../support/api.ts";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";
import { openStore, type Store } from "../support/store.ts";

const portal = "https://portal.example.edu";
let database: TestDatabase;
let store: Store;
let api: TestApi;
let headers: { readonly authorization: string };
let run: string;
let hash: string;
beforeAll(async () => {
  database = await freshDatabase();
  store = await openStore({ url: database.url });
  api = await startApi({ store, queues: null }, { corsOrigins: ["https://Portal.example.edu:443"] });
  headers = { authorization: `Bearer ${await api.key(["owner", "ops"])}` };
  const owner = await api.client("owner");
  ({ hash } = await owner.saveDefinition({ body: { root: "a.wf.md", files: { "a.wf.md": askingWorkflow } } }));
  ({ id: run } = await owner.startRun({ body: { definition: hash } }));
});
afterAll(async () => {
  await api?.close();
  await store?.close();
  await database?.drop();
});

const table = Object.entries(routes) as [RouteName, Route][];

/** Routes that read an existing thing. The others answer 404, which this test accepts too. */
function address({ path }: Route): string {
  const other = path.startsWith("/v1/webhooks/") ? "0".repeat(20) : "00000000-0000-4000-8000-000000000000";
  const id = path.startsWith("/v1/runs/") ? run : other;
  return `${api.url}${path.replace("{id}", id).replace("{hash}", hash).replace("{name}", "course")}`;
}

async function problemOf(response: Response): Promise<Record<string, unknown>> {
  return (await response.json()) as Record<string, unknown>;
}

describe("a HEAD request", () => {
  it("is answered as GET is, without a body, at every route with GET", async () => {
    for (const [name, route] of table) {
      if (route.method !== "GET" || route.answer.kind === "events" || name === "getMetrics") continue;
      const got = await fetch(address(route), { headers: { ...headers, "accept-encoding": "identity" } });
      const text = await got.text();
      const head = await fetch(address(route), {
        method: "HEAD",
        headers: { ...headers, "accept-encoding": "identity" },
      });
      expect(head.status, name).toBe(got.status);
      expect(head.headers.get("content-type"), name).toBe(got.headers.get("content-type"));
      expect(head.headers.get("etag"), name).toBe(got.headers.get("etag"));
      if (got.ok && name !== "listKeys") {
        expect(head.headers.get("content-length"), name).toBe(String(Buffer.byteLength(text)));
      }
      expect(await head.text()).toBe("");
    }
  });

  it("opens no stream", async () => {
    const head = await fetch(`${api.url}/v1/runs/${run}/stream`, { method: "HEAD", headers });
    expect(head.status).toBe(200);
    expect(head.headers.get("content-type")).toContain("text/event-stream");
  });

  it("needs the same key as GET", async () => {
    for (const [name, route] of table) {
      if (route.method !== "GET" || route.access === "public") continue;
      expect((await fetch(address(route), { method: "HEAD" })).status, name).toBe(401);
    }
  });
});

describe("a wrong HTTP method", () => {
  it("gets 405 with the allowed methods, at every address", async () => {
    for (const [name, route] of table) {
      const response = await fetch(address(route), { method: "PUT", headers });
      expect(response.status, name).toBe(405);
      expect(response.headers.get("allow")?.split(", "), name).toContain(route.method);
      expect(await problemOf(response)).toMatchObject({ code: "METHOD_NOT_ALLOWED" });
    }
  });

  it("gets another answer than a wrong address", async () => {
    const response = await fetch(`${api.url}/v1/nothing`, { method: "PUT", headers });
    expect([response.status, response.headers.get("allow")]).toEqual([404, null]);
  });

  it.each([
    ["a form", "a=1", { "content-type": "application/x-www-form-urlencoded" }],
    ["a text", "hello", { "content-type": "text/plain" }],
    ["broken JSON", "{", { "content-type": "application/json" }],
    ["no type that there is", "hello", { "content-type": "nonsense" }],
    ["more than is taken", "x".repeat(2_000_000), { "content-type": "application/json" }],
  ])("gets another answer than a wrong address, also with %s as its body", async (_, body, more) => {
    const sent = { headers: { ...headers, ...more }, body };
    expect((await fetch(`${api.url}/v1/runs`, { method: "PUT", ...sent })).status).toBe(405);
    expect((await fetch(`${api.url}/v1/runs/${run}`, { method: "POST", ...sent })).status).toBe(405);
    expect((await fetch(`${api.url}/v1/nothing`, { method: "POST", ...sent })).status).toBe(404);
  });

  it.each(["PROPFIND", "TRACE", "LOCK", "PURGE"])("gets 405 also for %s", async (method) => {
    const status = (path: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        request(`${api.url}${path}`, { method }, (response) => resolve(response.resume().statusCode))
          .on("error", reject)
          .end();
      });
    expect([await status("/v1/runs"), await status("/v1/nothing")]).toEqual([405, 404]);
  });
});

describe("an unknown query parameter", () => {
  it("is refused by its name at every route that reads", async () => {
    for (const [name, route] of table) {
      if (route.method !== "GET") continue;
      const response = await fetch(`${address(route)}?limits=5`, { headers });
      expect(response.status, name).toBe(400);
      expect(await problemOf(response), name).toMatchObject({
        code: "INVALID",
        errors: [{ path: "query.limits", message: "is not a parameter of this request" }],
      });
    }
  });

  it("is refused before the request changes anything", async () => {
    const response = await fetch(`${api.url}/v1/runs/${run}/cancel?force=1`, { method: "POST", headers });
    expect(response.status).toBe(400);
    expect((await (await api.client("owner")).getRun({ params: { id: run } })).status).not.toBe("cancelled");
  });
});

describe("a list of the API", () => {
  it("always has `next`, and accepts a limit and a cursor", () => {
    for (const [name, { answer, query }] of table) {
      if (answer.kind !== "json" || !(answer.schema instanceof z.ZodObject) || !("items" in answer.schema.shape))
        continue;
      expect(Object.keys(answer.schema.shape), name).toContain("next");
      expect(Object.keys(query?.shape ?? {}), name).toContain("limit");
      expect(Object.keys(query?.shape ?? {}), name).toContain(name === "listEvents" ? "after" : "cursor");
    }
  });

  it("returns every key once over pages of one", async () => {
    const owner = await api.client("owner");
    for (const name of ["one", "two", "three"]) await owner.createKey({ body: { name, roles: ["reader"] } });
    const whole = await owner.listKeys();
    expect(whole).toMatchObject({ next: null });
    const seen: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await owner.listKeys({ query: { limit: 1, ...(cursor === undefined ? {} : { cursor }) } });
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.next;
    }
    expect(seen).toEqual(whole.items.map(({ id }) => id));
  });

  it("is complete at any length", async () => {
    const rows = 1_200;
    await store.access.createTenant("large", "Large");
    const owner = await api.client("owner", "large");
    const ops = await api.client("ops");
    for (const text of [
      `insert into api_keys (id, tenant, name, secret_hash, roles, created_by) select 'keyoflarge' || n, 'large', 'k', '', '{reader}', 'test' from generate_series(1, $1::integer) n`,
      `insert into users (id, tenant, name, password, roles) select 'useroflarge' || n, 'large', 'u' || n, '', '{reader}' from generate_series(1, $1::integer) n`,
      `insert into tenants (id, name) select 'large' || n, 'x' from generate_series(1, $1::integer) n`,
      `insert into definitions (tenant, hash, dialect, name, root, programs, files, created_at)
         select 'large', lpad(to_hex(n), 64, '0'), 'codementor', 'same', 'a.wf.md', '{"a.wf.md":{}}', '{}', now() - n * interval '1 day'
         from generate_series(1, $1::integer) n`,
    ]) {
      await store.database.calm.query(`${text} on conflict do nothing`, [rows]);
    }
    const first = "1".padStart(64, "0");
    const oldest = rows.toString(16).padStart(64, "0");
    type Page = { readonly items: readonly object[]; readonly next: string | null };
    const lists: Record<string, (query: { limit: number; cursor?: string }) => Promise<Page>> = {
      keys: (query) => owner.listKeys({ query }),
      users: (query) => owner.listUsers({ query }),
      tenants: (query) => ops.listTenants({ query }),
      versions: (query) => owner.listDefinitionVersions({ params: { hash: first }, query }),
    };
    for (const [name, list] of Object.entries(lists)) {
      let seen = 0;
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page = await list({ limit: 200, ...(cursor === undefined ? {} : { cursor }) });
        seen += page.items.length;
        cursor = page.next;
      }
      expect(seen, name).toBeGreaterThanOrEqual(rows);
    }
    const { createdAt } = await owner.getDefinition({ params: { hash: oldest } });
    expect(new Date(createdAt).getUTCFullYear()).toBeGreaterThan(2000);
  });

  it("continues after any number of rows of spendings", async () => {
    await store.database.calm.query(
      `insert into deleted_usage select 'large', date_trunc('hour', now()), 'd', 'model ' || n, 1, 1, 1, 1, 1, 0, 0, 0 from generate_series(1, 10250) n on conflict do nothing`,
    );
    const owner = await api.client("owner", "large");
    const page = (cursor: string) => owner.getUsage({ query: { by: "model", limit: 100, cursor } });
    const [before, last] = [await page("10000"), await page("10200")];
    expect([before.items.length, before.next]).toEqual([100, "10100"]);
    expect([last.items.length, last.next]).toEqual([50, null]);
  });

  it("returns every open question once over pages of one", async () => {
    const owner = await api.client("owner");
    await store.database.calm.query(
      `insert into activities (run_id, root_id, node, generation, item, attempt, kind, queue, epoch, state, work)
       select id, id, 'ASK_' || n, 90 + n, -1, 0, 'ask', 'heavy', 0, 'waiting', '{}' from runs, generate_series(1, 3) n where id = $1`,
      [run],
    );
    await store.database.calm.query(
      `insert into asks (activity_id, run_id, question, text, state) select id, run_id, node, 'What now?', 'open' from activities where run_id = $1 and node like 'ASK\\__'  and not exists (select 1 from asks where activity_id = activities.id)`,
      [run],
    );
    const whole = (await owner.listAsks()).items.map(({ id }) => id);
    expect(whole.length).toBeGreaterThanOrEqual(3);
    const seen: number[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await owner.listAsks({ query: { limit: 1, ...(cursor === undefined ? {} : { cursor }) } });
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.next;
    }
    expect(seen).toEqual(whole);
  });
});

describe("a page of another site", () => {
  const preflight = (origin: string) =>
    fetch(`${api.url}/v1/runs`, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
      },
    });

  it("may call the API with a key if its origin is configured", async () => {
    const asked = await preflight(portal);
    expect(asked.status).toBe(204);
    expect(asked.headers.get("access-control-allow-origin")).toBe(portal);
    expect(asked.headers.get("access-control-allow-headers")).toContain("authorization");
    const got = await fetch(`${api.url}/v1/runs`, { headers: { ...headers, origin: portal } });
    expect([got.status, got.headers.get("access-control-allow-origin")]).toEqual([200, portal]);
    expect(got.headers.get("access-control-allow-credentials")).toBeNull();
    for (const header of ["etag", "location", "retry-after", "content-disposition", "allow"])
      expect(got.headers.get("access-control-expose-headers")).toContain(header);
    await got.body?.cancel();
  });

  it("gets the same problem details as any client", async () => {
    const refused = {
      401: await fetch(`${api.url}/v1/runs`, { headers: { origin: portal } }),
      404: await fetch(`${api.url}/v1/nothing`, { headers: { ...headers, origin: portal } }),
      405: await fetch(`${api.url}/v1/runs`, { method: "DELETE", headers: { ...headers, origin: portal } }),
    };
    for (const [status, response] of Object.entries(refused)) {
      expect([String(response.status), response.headers.get("access-control-allow-origin")]).toEqual([status, portal]);
      await response.body?.cancel();
    }
  });

  it("reads no answer if its origin is not configured", async () => {
    for (const response of [
      await preflight("https://evil.example"),
      await fetch(`${api.url}/v1/runs`, { headers: { ...headers, origin: "https://evil.example" } }),
    ]) {
      expect(response.headers.get("access-control-allow-origin")).toBeNull();
      await response.body?.cancel();
    }
  });
});

/** Headers of HTTP, of the protection of pages, and of the request limit (docs/api.md). */
const usualHeaders =
  /^(date|connection|keep-alive|transfer-encoding|content-(length|type|encoding|security-policy)|cache-control|vary|link|strict-transport-security|referrer-policy|origin-agent-cluster|cross-origin-.*|x-(content-type-options|dns-prefetch-control|download-options|frame-options|permitted-cross-domain-policies|xss-protection)|access-control-.*|permissions-policy)$/;

it("the OpenAPI document names every response header", async () => {
  type Operation = { readonly responses: Readonly<Record<string, { readonly headers?: object }>> };
  const { paths } = openapiDocument("1") as { paths: Record<string, Record<string, Operation>> };
  for (const [name, route] of table) {
    if (route.method !== "GET" || route.answer.kind === "events") continue;
    const response = await fetch(address(route), { headers });
    await response.body?.cancel();
    if (!response.ok) continue;
    const { headers: told = {} } = paths[route.path]?.get?.responses[response.status] ?? {};
    const untold = [...response.headers.keys()].filter((one) => !usualHeaders.test(one) && !(one in told));
    expect(untold, `${name} ${response.status}`).toEqual([]);
  }
});

it("a body at a route without a body is refused before anything changes; an empty body is accepted", async () => {
  const resume = async (body: string) =>
    (
      await fetch(`${api.url}/v1/runs/${run}/resume`, {
        method: "POST",
        body,
        headers: { ...headers, "content-type": "application/json" },
      })
    ).status;
  // The status is 409, because the run is not stopped.
  expect([await resume('{"model":"x"}'), await resume("[1]"), await resume("7")]).toEqual([400, 400, 400]);
  expect([await resume("{}"), await resume("null"), await resume("")]).toEqual([409, 409, 409]);
});

it("a compressed JSON body is refused by its encoding", async () => {
  const response = await fetch(`${api.url}/v1/keys`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json", "content-encoding": "gzip" },
    body: gzipSync(JSON.stringify({ name: "x", roles: ["reader"] })),
  });
  expect([response.status, await problemOf(response)]).toMatchObject([415, { code: "UNSUPPORTED_TYPE" }]);
});

describe("a response", () => {
  function raw(path: string, encoding: string): Promise<{ encoding: string | undefined; body: Buffer }> {
    return new Promise((resolve, reject) => {
      request(`${api.url}${path}`, { headers: { ...headers, "accept-encoding": encoding } }, (response) => {
        const pieces: Buffer[] = [];
        response.on("data", (piece: Buffer) => pieces.push(piece));
        response.on("end", () =>
          resolve({ encoding: response.headers["content-encoding"], body: Buffer.concat(pieces) }),
        );
      })
        .on("error", reject)
        .end();
    });
  }

  it("is compressed for a client that accepts compression", async () => {
    const plain = await raw("/openapi.json", "identity");
    const packed = await raw("/openapi.json", "gzip");
    expect([plain.encoding, packed.encoding]).toEqual([undefined, "gzip"]);
    expect(packed.body.length).toBeLessThan(plain.body.length / 4);
    expect(gunzipSync(packed.body).equals(plain.body)).toBe(true);
  });

  it("is not compressed if it is short, a file or a stream", async () => {
    expect((await raw("/health/live", "gzip")).encoding).toBeUndefined();
    const owner = await api.client("owner");
    const { hash: file } = await owner.uploadFile({ body: new TextEncoder().encode("x".repeat(5_000)) });
    expect((await raw(`/v1/files/${file}`, "gzip")).encoding).toBeUndefined();
    const stream = await fetch(`${api.url}/v1/runs/${run}/stream`, {
      headers: { ...headers, "accept-encoding": "gzip" },
    });
    expect(stream.headers.get("content-encoding")).toBeNull();
    await stream.body?.cancel();
  });
});
