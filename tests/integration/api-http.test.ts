// What any HTTP client may expect of every route: HEAD, 405, unknown parameters, pages, other origins, compression.

import { request } from "node:http";
import { gunzipSync } from "node:zlib";
import { type Route, type RouteName, routes } from "@markmill/contract";
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
  api = await startApi({ store, queues: null }, { corsOrigins: [portal] });
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

/** Reads of things that are there; the others answer 404, which is an answer too. */
function address({ path }: Route): string {
  const other = path.startsWith("/v1/webhooks/") ? "0".repeat(20) : "00000000-0000-4000-8000-000000000000";
  const id = path.startsWith("/v1/runs/") ? run : other;
  return `${api.url}${path.replace("{id}", id).replace("{hash}", hash).replace("{name}", "course")}`;
}

async function problemOf(response: Response): Promise<Record<string, unknown>> {
  return (await response.json()) as Record<string, unknown>;
}

describe("HEAD", () => {
  it("answers as GET does, without a body, wherever there is GET", async () => {
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

describe("a wrong method", () => {
  it("is 405 with the methods that there are, at every address", async () => {
    for (const [name, route] of table) {
      const response = await fetch(address(route), { method: "PUT", headers });
      expect(response.status, name).toBe(405);
      expect(response.headers.get("allow")?.split(", "), name).toContain(route.method);
      expect(await problemOf(response)).toMatchObject({ code: "METHOD_NOT_ALLOWED" });
    }
  });

  it("is told from a wrong address", async () => {
    const response = await fetch(`${api.url}/v1/nothing`, { method: "PUT", headers });
    expect([response.status, response.headers.get("allow")]).toEqual([404, null]);
  });
});

describe("a query parameter that a route does not have", () => {
  it("is refused by name, at every route that reads", async () => {
    for (const [name, route] of table) {
      if (route.method !== "GET") continue;
      const response = await fetch(`${address(route)}?limits=5`, { headers });
      expect(response.status, name).toBe(400);
      expect(await problemOf(response), name).toMatchObject({
        code: "INVALID",
        errors: [{ path: "query.limits", message: "is not known here" }],
      });
    }
  });

  it("is refused before anything is changed", async () => {
    const response = await fetch(`${api.url}/v1/runs/${run}/cancel?force=1`, { method: "POST", headers });
    expect(response.status).toBe(400);
    expect((await (await api.client("owner")).getRun({ params: { id: run } })).status).not.toBe("cancelled");
  });
});

describe("a list", () => {
  it("always has `next`, and takes a limit and a cursor", () => {
    for (const [name, { answer, query }] of table) {
      if (answer.kind !== "json" || !(answer.schema instanceof z.ZodObject) || !("items" in answer.schema.shape))
        continue;
      expect(Object.keys(answer.schema.shape), name).toContain("next");
      expect(Object.keys(query?.shape ?? {}), name).toContain("limit");
      expect(Object.keys(query?.shape ?? {}), name).toContain(name === "listEvents" ? "after" : "cursor");
    }
  });

  it("gives every key once over pages of one", async () => {
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

  it("gives every open question once over pages of one", async () => {
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
    await got.body?.cancel();
  });

  it("is told nothing if its origin is not configured", async () => {
    for (const response of [
      await preflight("https://evil.example"),
      await fetch(`${api.url}/v1/runs`, { headers: { ...headers, origin: "https://evil.example" } }),
    ]) {
      expect(response.headers.get("access-control-allow-origin")).toBeNull();
      await response.body?.cancel();
    }
  });
});

describe("an answer", () => {
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

  it("is compressed for a client that takes it so", async () => {
    const plain = await raw("/openapi.json", "identity");
    const packed = await raw("/openapi.json", "gzip");
    expect([plain.encoding, packed.encoding]).toEqual([undefined, "gzip"]);
    expect(packed.body.length).toBeLessThan(plain.body.length / 4);
    expect(gunzipSync(packed.body).equals(plain.body)).toBe(true);
  });

  it("is sent as it is where it is short, a file or a stream", async () => {
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
