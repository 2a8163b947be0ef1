// Attacks by callers with some access: a reader's key, a narrowed key, a key of another tenant, a page on another site.
import { createHook } from "node:async_hooks";
import { connect } from "node:net";
import { createBoard } from "@markmill/api";
import { type ApiProblem, createClient, type Route, routes } from "@markmill/contract";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { z } from "zod";
import { askingWorkflow, startApi, type TestApi } from "../support/api.ts";
import { classRubric } from "../support/class.ts";
import { type Mill, startMill, workflow } from "../support/mill.ts";
import { until } from "../support/until.ts";

let mill: Mill;
let api: TestApi;
let own: { definition: string; other: string; run: string; batch: string; blob: string };
const json = { "content-type": "application/json" };
const password = "correct horse battery";

const workOf = (key: string, hash: string) => ({
  key,
  by: [key],
  group: null,
  attempt: 1,
  counts: true,
  label: key,
  sources: [],
  submittedAt: null,
  lateness: { is: "on time" as const },
  content: { is: "taken" as const, hash, files: 1, bytes: 1, paths: ["a.txt"], notes: [] },
});
const batchOf = (definition: string, key: string, works: ReturnType<typeof workOf>[]) => ({
  key,
  name: "Class",
  definition,
  rubric: classRubric as never,
  late: null,
  aiConsent: "any" as const,
  language: null,
  members: works.map((work) => ({ key: work.key, name: `Name of ${work.key}` })),
  works,
});

beforeAll(async () => {
  mill = await startMill({ backend: "postgres", script: "default: { reply: ok }\n", supervisor: false });
  api = await startApi(mill, {}, createBoard({ queues: mill.queues, writes: false }));
  const owner = await api.client("owner");
  const save = async (text: string) =>
    (await owner.saveDefinition({ body: { root: "a.wf.md", files: { "a.wf.md": text } } })).hash;
  const definition = await save(askingWorkflow);
  const other = await save(askingWorkflow.replace("# Test", "# Other"));
  const { hash: blob } = await owner.uploadFile({ body: new TextEncoder().encode("handed in by Ada") });
  const { id: run } = await owner.startRun({ body: { definition } });
  const { id: batch } = await owner.saveBatch({
    body: {
      ...batchOf(definition, "class", [workOf("ada-lovelace", blob), workOf("zoe", blob)]),
      facts: { unmatched: ["Grace Hopper.zip"] },
    },
  });
  own = { definition, other, run, batch, blob };
});
afterAll(async () => {
  await api?.close();
  await mill?.close();
});

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => null,
    (error: ApiProblem) => error.code,
  );

async function post(path: string, body: string, headers: Record<string, string>): Promise<Response> {
  return await fetch(`${api.url}${path}`, { method: "POST", headers: { ...json, ...headers }, body });
}

describe("ids of another tenant", () => {
  /** Fields of bodies and queries that name something, per route. The test finds them in the schemas. */
  function fieldsThatName(): string[] {
    const found: string[] = [];
    const patterns = ["^[0-9a-f]{64}$", "^[0-9a-f]{8}-"];
    const look = (name: string, place: string, shape: unknown, defs: Record<string, unknown>, depth: number): void => {
      if (typeof shape !== "object" || shape === null || depth > 16) return;
      const { $ref, pattern, properties, items, anyOf, oneOf } = shape as Record<string, unknown>;
      if (typeof $ref === "string") return look(name, place, defs[$ref.replace("#/$defs/", "")], defs, depth + 1);
      if (typeof pattern === "string" && patterns.some((known) => pattern.startsWith(known)))
        found.push(`${name} ${place}`);
      for (const [field, one] of Object.entries((properties as Record<string, unknown>) ?? {}))
        look(name, `${place}.${field}`, one, defs, depth + 1);
      if (items !== undefined) look(name, `${place}[]`, items, defs, depth + 1);
      for (const one of [...((anyOf as unknown[]) ?? []), ...((oneOf as unknown[]) ?? [])])
        look(name, place, one, defs, depth + 1);
    };
    for (const [name, route] of Object.entries(routes) as [string, Route][]) {
      for (const [part, schema] of [["body", route.body] as const, ["query", route.query] as const]) {
        if (schema === undefined) continue;
        const shape = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as { $defs?: object };
        look(name, part, shape, (shape.$defs ?? {}) as Record<string, unknown>, 0);
      }
    }
    return [...new Set(found)].sort();
  }

  it("name nothing in a body or a query", async () => {
    const stranger = await api.client("owner", "strangers");
    const theirs = await stranger.saveDefinition({
      body: { root: "a.wf.md", files: { "a.wf.md": workflow('  START --> SET_Z["SET: Z = 26"] --> SUCCESS') } },
    });
    const { id: theirRun } = await stranger.startRun({ body: { definition: theirs.hash } });
    await mill.ended(theirRun);
    const { id: theirBatch } = await stranger.saveBatch({ body: batchOf(theirs.hash, "theirs", []) });
    const { hash: theirBlob } = await stranger.uploadFile({ body: new TextEncoder().encode("of their own") });
    const tried: Record<string, () => Promise<unknown>> = {
      "startRun body.definition": () => stranger.startRun({ body: { definition: own.definition } }),
      "startRun body.submission": () => stranger.startRun({ body: { definition: theirs.hash, submission: own.blob } }),
      "retryRun body.definition": () =>
        stranger.retryRun({ params: { id: theirRun }, body: { from: ["SET_Z"], definition: own.definition } }),
      "saveBatch body.definition": () => stranger.saveBatch({ body: batchOf(own.definition, "x", []) }),
      "saveBatch body.works[].content.hash": () =>
        stranger.saveBatch({ body: batchOf(theirs.hash, "x", [workOf("eve", own.blob)]) }),
      "saveBatch body.works[].content.start.definition": () => {
        const eve = workOf("eve", theirBlob);
        const content = { ...eve.content, start: { definition: own.definition, variables: {} } };
        return stranger.saveBatch({ body: batchOf(theirs.hash, "x", [{ ...eve, content }]) });
      },
      "regradeWorks body.definition": () =>
        stranger.regradeWorks({ params: { id: theirBatch }, body: { keys: ["eve"], definition: own.definition } }),
    };
    const empty: Record<string, () => Promise<{ items: readonly unknown[] }>> = {
      "listRuns query.definition": () => stranger.listRuns({ query: { definition: own.definition } }),
      "listAsks query.run": () => stranger.listAsks({ query: { run: own.run } }),
      "getUsage query.definition": () => stranger.getUsage({ query: { by: "run", definition: own.definition } }),
      "getUsage query.run": () => stranger.getUsage({ query: { by: "run", run: own.run } }),
    };
    // A new field needs a case here.
    expect(fieldsThatName()).toEqual([...Object.keys(tried), ...Object.keys(empty)].sort());
    for (const [field, attempt] of Object.entries(tried))
      expect(await codeOf(attempt()), field).toMatch(/^(START_REFUSED|NOT_FOUND|BATCH_REFUSED)$/);
    for (const [field, ask] of Object.entries(empty)) {
      const found = await ask().catch((error: ApiProblem) => error.code);
      expect(typeof found === "string" ? found : found.items, field).toSatisfy(
        (one: unknown) => one === "NOT_FOUND" || (Array.isArray(one) && one.length === 0),
      );
    }
  });

  it("reveal nothing of that tenant in a cursor", async () => {
    const owner = await api.client("owner");
    for (let n = 0; n < 3; n += 1) await owner.startRun({ body: { definition: own.definition } });
    await owner.saveBatch({ body: batchOf(own.definition, "second", []) });
    const stranger = await api.key(["owner"], "strangers");
    let followed = 0;
    for (const path of ["/v1/runs", "/v1/batches", "/v1/audit", "/v1/definitions", `/v1/batches/${own.batch}/works`]) {
      const ask = async (token: string, query: string) =>
        await fetch(`${api.url}${path}?limit=1${query}`, { headers: { authorization: `Bearer ${token}` } });
      const { next } = (await (await ask(await api.key(["owner"]), "")).json()) as { next: string | null };
      if (next === null) continue;
      followed += 1;
      const text = await (await ask(stranger, `&cursor=${encodeURIComponent(next)}`)).text();
      for (const secret of [own.run, own.batch, "default owner", "ada-lovelace", "What now"])
        expect(text, path).not.toContain(secret);
    }
    expect(followed).toBe(5);
  });

  it("do not stop this tenant from starting its own runs with the same Idempotency-Key", async () => {
    const [owner, stranger] = [await api.client("owner"), await api.client("owner", "strangers")];
    const files = { "a.wf.md": askingWorkflow };
    await stranger.saveDefinition({ body: { root: "a.wf.md", files } });
    const asked = { headers: { "idempotency-key": "shared" }, body: { definition: own.definition } };
    const [one, other] = [await owner.startRun(asked), await stranger.startRun(asked)];
    expect([one.created, other.created]).toEqual([true, true]);
    expect(one.id).not.toBe(other.id);
    expect(await codeOf(stranger.getRun({ params: { id: one.id } }))).toBe("NOT_FOUND");
  });
});

describe("a key without the scope to read students", () => {
  it("sees no name of a class: neither in stored records nor in what it may change", async () => {
    const owner = await api.client("owner");
    const reader = await api.client("reader");
    const seen = JSON.stringify([
      await reader.getBatch({ params: { id: own.batch } }),
      await reader.listBatches(),
      await reader.listWorks({ params: { id: own.batch } }),
    ]);
    expect(seen).not.toMatch(/lovelace|Hopper/);
    expect(JSON.stringify(await owner.getBatch({ params: { id: own.batch } }))).toContain("Hopper");
    const narrow = await owner.createKey({
      body: { name: "changer", roles: ["grader"], scopes: ["batches:read", "batches:write"] },
    });
    const changer = createClient({ url: api.url, token: narrow.secret });
    await mill.store.database.calm.query("update batch_runs set admitted_at = clock_timestamp() where batch_id = $1", [
      own.batch,
    ]);
    const answers = [
      await changer.regradeWorks({ params: { id: own.batch }, body: { keys: ["ada-lovelace"] } }).catch(String),
      await changer.retryWorks({ params: { id: own.batch } }).catch(String),
    ];
    expect(JSON.stringify(answers)).not.toContain("lovelace");
  });
});

describe("a hostile request body", () => {
  it("with brackets, very many values or deep nesting is refused at once by every route that accepts a body", async () => {
    const authorization = `Bearer ${await api.key(["owner", "ops"])}`;
    const bodies = {
      "a bracket too many": "[".repeat(900_000),
      "nested objects": `${'{"facts":'.repeat(50_000)}1${"}".repeat(50_000)}`,
      "nested facts": `{"key":"x","facts":${"[".repeat(5_000)}${"]".repeat(5_000)}}`,
      "many values": `{"works":[${"0,".repeat(500_000)}0]}`.slice(0, 1_000_000),
    };
    const takes = (Object.values(routes) as Route[]).filter(
      ({ body, upload, method }) => body !== undefined && upload !== true && method === "POST",
    );
    expect(takes.length).toBeGreaterThan(10);
    for (const [turn, { path }] of takes.entries()) {
      // The body is refused before any handler runs. Each body goes to some routes, and in the soak to all.
      for (const [what, body] of Object.entries(bodies).filter(
        (_, index) => inject("thorough") || (index + turn) % 4 === 0,
      )) {
        const parse = vi.spyOn(JSON, "parse");
        const filled = path.replace("{id}", path.includes("asks") ? "1" : own.run);
        const response = await post(filled, body, { authorization });
        expect([400, 401, 404, 413], `${path} ${what}`).toContain(response.status);
        await response.text();
        // The test counts parses instead of time: the body is parsed at most once.
        const parsed = parse.mock.calls.filter(([text]) => String(text).length >= body.length).length;
        parse.mockRestore();
        expect(parsed, `${path} ${what}`).toBeLessThanOrEqual(1);
      }
    }
  }, 120_000);

  it("with 32 MiB of brackets from a reader delays no other caller", async () => {
    const authorization = `Bearer ${await api.key(["reader"])}`;
    const parse = vi.spyOn(JSON, "parse");
    const response = await post("/v1/definitions/validate", "[".repeat(30 * 1024 * 1024), { authorization });
    expect(response.status).toBe(400);
    expect(((await response.json()) as { detail: string }).detail).toContain("nested");
    // Parsing such a text takes seconds; weigh-json.work.test.ts counts the work of refusing it.
    expect(parse.mock.calls.filter(([text]) => String(text).length > 1_000_000)).toHaveLength(0);
    parse.mockRestore();
  });

  it("with prototype keys changes no object, at any position", async () => {
    const authorization = `Bearer ${await api.key(["owner"])}`;
    for (const body of [
      '{"definition":"x","__proto__":{"polluted":1}}',
      `{"definition":"${own.definition}","variables":{"__proto__":"x"}}`,
      `{"definition":"${own.definition}","labels":{"constructor":{"prototype":{"polluted":1}}}}`,
    ]) {
      expect((await post("/v1/runs", body, { authorization })).status, body).toBe(400);
    }
    for (const name of ["constructor", "toString", "hasOwnProperty", "valueOf"]) {
      const body = JSON.stringify({ definition: own.definition, labels: { [name]: "x" } });
      const response = await post("/v1/runs", body, { authorization });
      expect(response.status, name).toBe(201);
      const { id } = (await response.json()) as { id: string };
      const run = await (await api.client("reader")).getRun({ params: { id } });
      expect(Object.entries(run.labels)).toEqual([[name, "x"]]);
      const listed = await (await api.client("reader")).listRuns({ query: { label: [`${name}=x`] } });
      expect(listed.items.map((one) => one.id)).toEqual([id]);
    }
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    const query = await fetch(`${api.url}/v1/runs?label=__proto__=x`, { headers: { authorization } });
    expect(query.status).toBe(200);
    const unknown = await fetch(`${api.url}/v1/runs?__proto__=1&constructor=1`, { headers: { authorization } });
    expect(unknown.status).toBe(400);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});

describe("a page of another site", () => {
  async function session(): Promise<{ cookie: string; csrfToken: string }> {
    const response = await post("/v1/session", JSON.stringify({ key: await api.key(["owner"]) }), {});
    const { csrfToken } = (await response.json()) as { csrfToken: string };
    return { cookie: (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "", csrfToken };
  }

  it("changes nothing with any request a browser sends for it: forms, foreign and null origins, a method in a header", async () => {
    const { cookie, csrfToken } = await session();
    const body = JSON.stringify({ name: "x", roles: ["owner"] });
    const tries: Record<string, Record<string, string>> = {
      "no origin": { cookie },
      "a null origin": { cookie, origin: "null" },
      "a host that ends alike": { cookie, origin: api.url.replace("127.0.0.1", "evil127.0.0.1") },
      "another port": { cookie, origin: api.url.replace(/:\d+$/, ":1") },
      "another scheme": { cookie, origin: api.url.replace("http:", "https:") },
      "a foreign origin with the token": { cookie, origin: "https://evil.example", "x-csrf-token": csrfToken },
      "a forwarded host": { cookie, origin: "https://evil.example", "x-forwarded-host": "evil.example" },
      "an empty token": { cookie, "x-csrf-token": "" },
    };
    for (const [what, headers] of Object.entries(tries))
      expect((await post("/v1/keys", body, headers)).status, what).toBe(403);
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]) {
      const response = await fetch(`${api.url}/v1/session`, {
        method: "POST",
        headers: { "content-type": type, origin: "https://evil.example" },
        body: JSON.stringify({ key: await api.key(["owner"]) }),
      });
      expect(response.status, `a login by a form, ${type}`).toBe(415);
      expect(response.headers.get("set-cookie")).toBeNull();
    }
    const read = await fetch(`${api.url}/v1/runs`, {
      headers: { cookie, origin: "https://evil.example", "x-http-method-override": "DELETE" },
    });
    expect(read.headers.get("access-control-allow-origin")).toBeNull();
    expect(read.headers.get("cross-origin-resource-policy")).toMatch(/same/);
  });

  it("cannot choose a session: each login creates a new one, and over https no other host can set the cookie", async () => {
    const chosen = "markmill_session=ms_00000000000000000000_chosen";
    const response = await post("/v1/session", JSON.stringify({ key: await api.key(["reader"]) }), { cookie: chosen });
    const cookie = response.headers.get("set-cookie") ?? "";
    expect(cookie).not.toContain("chosen");
    expect((await fetch(`${api.url}/v1/runs`, { headers: { cookie: chosen } })).status).toBe(401);
    const secure = await startApi(mill, { publicUrl: "https://mill.example" });
    try {
      const login = await fetch(`${secure.url}/v1/session`, {
        method: "POST",
        headers: json,
        body: JSON.stringify({ key: await secure.key(["reader"]) }),
      });
      const [pair = "", ...facts] = (login.headers.get("set-cookie") ?? "").split("; ");
      expect(pair).toMatch(/^__Host-markmill_session=/);
      expect(facts).toEqual(expect.arrayContaining(["Secure", "HttpOnly", "Path=/", "SameSite=Strict"]));
      const status = async (sent: string) =>
        (await fetch(`${secure.url}/v1/runs`, { headers: { cookie: sent } })).status;
      expect(await status(pair)).toBe(200);
      expect(await status(pair.replace("__Host-", ""))).toBe(401);
    } finally {
      await secure.close();
    }
  });
});

/** The number of keys that this process derived, counted by Node's async hooks. */
async function countScrypts(act: () => Promise<void>): Promise<number> {
  let count = 0;
  const hook = createHook({
    init: (_id, type) => {
      if (type === "SCRYPTREQUEST") count += 1;
    },
  }).enable();
  try {
    await act();
  } finally {
    hook.disable();
  }
  return count;
}

describe("a refused login", () => {
  it("costs the same work whether the tenant or the user exists, and is logged for an existing tenant", async () => {
    const owner = await api.client("owner");
    await owner.createUser({ body: { name: "turing", password, roles: ["reader"] } });
    const refused = async (body: object) =>
      await countScrypts(async () => {
        for (let n = 0; n < 5; n += 1) expect((await post("/v1/session", JSON.stringify(body), {})).status).toBe(401);
      });
    // The only slow step of a login is the derivation of one key, so the response time reveals nothing else.
    expect(await refused({ name: "turing", password: "wrong words here" })).toBe(5);
    expect(await refused({ name: "nobody", password: "wrong words here" })).toBe(5);
    expect(await refused({ tenant: "nowhere", name: "turing", password: "wrong words here" })).toBe(5);
    await until(async () => (await owner.listAudit({ query: { action: "logIn" } })).items.length >= 10);
  });
});

describe("the job board", () => {
  it("is open to the role ops only, for every spelling of its path", async () => {
    const reader = { authorization: `Bearer ${await api.key(["reader"])}` };
    for (const path of [
      ...["/board", "/board/", "/board/api/queues", "/board/api/queues/", "/board/./api/queues", "/board//api/queues"],
      ...[
        "/board%2fapi%2fqueues",
        "/board/api%2fqueues",
        "/%62oard/api/queues",
        "/board/api/queues%3f",
        "/BOARD/api/queues",
      ],
      ...[
        "/board/static/..%2f..%2f..%2fpackage.json",
        "/board/static/%2e%2e/%2e%2e/package.json",
        "/board;x/api/queues",
      ],
      ...[
        "/v1/../board/api/queues",
        "/board/api/queues/control/..%2f..",
        `/board/runs/${own.run}`,
        "/board/api/queues\\..\\x",
      ],
    ]) {
      for (const headers of [{}, reader] as Record<string, string>[]) {
        const text = await raw(`GET ${path} HTTP/1.1\r\nhost: x\r\n${headerLines(headers)}connection: close\r\n\r\n`);
        expect(text, path).toMatch(/^HTTP\/1\.1 (400|401|403|404) /);
        expect(text, path).not.toMatch(/"control"|dependencies|jobs/);
      }
    }
  });
});

const headerLines = (headers: Record<string, string>) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");

/** The server's response to exactly these bytes. */
function raw(text: string): Promise<string> {
  return new Promise((resolve) => {
    let heard = "";
    const socket = connect(Number(new URL(api.url).port), "127.0.0.1", () => socket.write(text));
    const timer = setTimeout(() => socket.destroy(), 5_000);
    socket.on("data", (bytes) => {
      heard += bytes.toString();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(heard);
    });
  });
}

describe("a request that two servers could read differently", () => {
  it("is refused, and the hidden request gets no answer", async () => {
    const hidden = "GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n";
    const post = "POST /v1/session HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    for (const [what, text] of Object.entries({
      "two lengths": `${post}content-length: 2\r\ncontent-length: 40\r\n\r\n{}${hidden}`,
      "a length and chunks": `${post}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
      "an encoding nobody knows": `${post}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n${hidden}`,
      "chunks that are not last": `${post}transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n${hidden}`,
      "a header folded": `GET /v1/runs HTTP/1.1\r\nhost: x\r\nx-a: 1\r\n authorization: Bearer x\r\n\r\n`,
      "a space before the colon": `${post}content-length : 2\r\n\r\n{}${hidden}`,
      "a length with a sign": `${post}content-length: +2\r\n\r\n{}${hidden}`,
      "a chunk of a wrong size": `${post}transfer-encoding: chunked\r\n\r\n-1\r\n${hidden}`,
    })) {
      const said = await raw(text);
      expect(said, what).toMatch(/^HTTP\/1\.1 400 /);
      expect(said.match(/HTTP\/1\.1 /g), what).toHaveLength(1);
      expect(said, what).not.toContain('"ok"');
    }
  });

  it("with two keys counts for the first key or for none", async () => {
    const [reader, owner] = [await api.key(["reader"]), await api.key(["owner"])];
    const both = (one: string, other: string) =>
      raw(
        `GET /v1/keys HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${one}\r\nauthorization: Bearer ${other}\r\nconnection: close\r\n\r\n`,
      );
    expect(await both(reader, owner)).toMatch(/^HTTP\/1\.1 40[013] /);
    // A cookie does not help a request with a refused key.
    const login = await post("/v1/session", JSON.stringify({ key: owner }), {});
    const cookie = (login.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    const mixed = await fetch(`${api.url}/v1/keys`, { headers: { cookie, authorization: "Bearer mm_none" } });
    expect(mixed.status).toBe(401);
  });
});

describe("event streams", () => {
  it("use slots per key and per tenant, so that all other callers have slots left", async () => {
    const tight = await startApi(mill, { mostStreams: 12, mostStreamsOfTenant: 8, mostStreamsEach: 5 });
    const open: AbortController[] = [];
    /** A stream without a reference is closed by the garbage collector, and frees its slot. */
    const held: Response[] = [];
    try {
      const stream = async (token: string, id = own.run) => {
        const gone = new AbortController();
        open.push(gone);
        const response = await fetch(`${tight.url}/v1/runs/${id}/stream`, {
          headers: { authorization: `Bearer ${token}` },
          signal: gone.signal,
        });
        if (!response.ok) await response.text();
        held.push(response);
        return response.status;
      };
      const many = async (token: string, count: number) => {
        const statuses: number[] = [];
        for (let n = 0; n < count; n += 1) statuses.push(await stream(token));
        return statuses;
      };
      expect(await many(await tight.key(["owner"]), 7)).toEqual([200, 200, 200, 200, 200, 429, 429]);
      expect(await many(await tight.key(["grader"]), 5)).toEqual([200, 200, 200, 429, 429]);
      const stranger = await api.client("owner", "strangers");
      const { items } = await stranger.listRuns({ query: { limit: 1 } });
      expect(await stream(await tight.key(["reader"], "strangers"), items[0]?.id)).toBe(200);
      for (const one of open.splice(0)) one.abort();
      await until(async () => (await stream(await tight.key(["owner"]))) === 200);
    } finally {
      for (const one of open) one.abort();
      await tight.close();
    }
  });
});

describe("a page of a list", () => {
  it("with long items is cut by bytes, and all pages together hold every item once", async () => {
    const owner = await api.client("owner");
    const long = "x".repeat(1_900_000);
    const steps = Array.from({ length: 12 }, (_, n) => `ASK_${n}["ASK: More?"]`).join(" --> ");
    const { hash } = await owner.saveDefinition({
      body: { root: "a.wf.md", files: { "a.wf.md": workflow(`  START --> ${steps} --> SUCCESS`) } },
    });
    const { id } = await owner.startRun({ body: { definition: hash } });
    for (let n = 0; n < 12; n += 1) {
      const ask = await until(async () => (await owner.listAsks({ query: { run: id } })).items[0] ?? false);
      await owner.answerAsk({ params: { id: ask.id }, body: { text: `${n} ${long}` } });
    }
    await mill.ended(id);
    const seen: number[] = [];
    let most = 0;
    for (let after = 0; ; ) {
      const page = await owner.listEvents({ params: { id }, query: { after, limit: 200 } });
      most = Math.max(most, JSON.stringify(page).length);
      seen.push(...page.items.map(({ seq }) => seq));
      after = page.last;
      if (page.ended) break;
      expect(page.last).toBeLessThan(page.rev);
    }
    const { rev } = await owner.getRun({ params: { id } });
    expect(seen).toEqual(Array.from({ length: rev }, (_, n) => n + 1));
    expect(most).toBeLessThan(17 * 1024 * 1024);
    const replayed = await owner.replayRun({ params: { id } });
    expect(replayed).toEqual({ events: rev, identical: true, differences: [] });
  }, 120_000);
});
