// Access control of every route of the router: without a key, with too few rights, with ids of another tenant, and with hostile input.
import { createBoard } from "@markmill/api";
import { effectiveScopes, type Role, type Route, type RouteName, roles, routes } from "@markmill/contract";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { z } from "zod";
import { askingWorkflow, startApi, type TestApi } from "../support/api.ts";
import { classRubric } from "../support/class.ts";
import {
  escaped,
  hostileHeaders,
  hostileJson,
  hostileText,
  near,
  type Shape,
  sendable,
  spoilt,
} from "../support/hostile-requests.ts";
import { type Mill, startMill, workflow } from "../support/mill.ts";
import { until } from "../support/until.ts";

let mill: Mill;
let api: TestApi;
/** Things of the default tenant, by the parameter or the field that names them. */
let own: Readonly<Record<"batch" | "run" | "definition" | "file" | "user" | "key" | "webhook", string>> & {
  readonly ask: number;
  readonly delivery: number;
};

beforeAll(async () => {
  mill = await startMill({ backend: "postgres", script: "default: { reply: ok }\n" });
  api = await startApi(mill);
  const owner = await api.client("owner");
  const { hash } = await owner.saveDefinition({ body: { root: "a.wf.md", files: { "a.wf.md": askingWorkflow } } });
  const { id } = await owner.startRun({ body: { definition: hash, labels: { student: "Ada" } } });
  const file = await owner.uploadFile({ body: new TextEncoder().encode("secret of the first tenant") });
  const user = await owner.createUser({
    body: { name: "grace", password: "correct horse battery", roles: ["reader"] },
  });
  const key = await owner.createKey({ body: { name: "spare", roles: ["reader"] } });
  const webhook = await owner.createWebhook({ body: { url: "https://example.org/hook", events: ["run.ended"] } });
  const delivery = await owner.testWebhook({ params: { id: webhook.id } });
  const ask = await until(async () => (await owner.listAsks({ query: { run: id } })).items[0]?.id);
  const batch = await owner.saveBatch({
    body: {
      key: "class",
      name: "Class of Ada",
      definition: hash,
      rubric: classRubric as never,
      late: null,
      aiConsent: "any",
      language: null,
      members: [{ key: "ada", name: "Ada" }],
      works: [adasWork],
    },
  });
  await mill.store.database.calm.query(
    `insert into passages (tenant, scope, root_id, embedder, activity_id, position, text, vector)
     values ('default', 'named:course', $1, 'e', $2, 0, 'Ada knows', '\\x00000000')`,
    [id, ask],
  );
  own = {
    batch: batch.id,
    run: id,
    definition: hash,
    ask,
    file: file.hash,
    user: user.id,
    key: key.id,
    webhook: webhook.id,
    delivery: delivery.id,
  };
});
afterAll(async () => {
  await api?.close();
  await mill?.close();
});

/** A submission without content, so that no run starts. */
const adasWork = {
  key: "ada",
  by: ["ada"],
  group: null,
  attempt: 1,
  counts: true,
  label: "Ada",
  sources: ["Ada.zip"],
  submittedAt: null,
  lateness: { is: "on time" as const },
  content: { is: "empty" as const },
};
/** The query of a route that needs one. */
const queries: Partial<Record<RouteName, string>> = { listTries: "?work=ada" };

/** Each case is tried with some of the routes, and in the soak with all. */
function inTurn<One>(all: readonly One[], turn: number, share: number): One[] {
  return inject("thorough") ? [...all] : all.filter((_, index) => (index + turn) % share === 0);
}

interface Walked {
  readonly name: RouteName;
  readonly route: Route;
  readonly method: string;
  readonly url: string;
}

/**
 * The routes of the router. A route outside the contract is an error. HEAD is registered with GET and has no body to check;
 * api-http.test.ts covers it.
 */
function walk(): Walked[] {
  return api.api.routes
    .filter(({ method }) => method !== "HEAD")
    .map(({ method, url, contract }) => {
      if (contract === null) throw new Error(`${method} ${url} is none of the contract's routes`);
      return { name: contract, route: routes[contract] as Route, method, url };
    });
}

function paramsOf({ name, route, url }: Walked): string {
  const id = url.startsWith("/v1/batches/")
    ? own.batch
    : url.startsWith("/v1/runs/")
      ? own.run
      : url.startsWith("/v1/asks/")
        ? own.ask
        : url.startsWith("/v1/users/")
          ? own.user
          : url.startsWith("/v1/webhooks/")
            ? own.webhook
            : url.startsWith("/v1/deliveries/")
              ? own.delivery
              : own.key;
  const hash = url.startsWith("/v1/files/") ? own.file : own.definition;
  return (
    route.path.replace("{id}", String(id)).replace("{hash}", hash).replace("{name}", "course") + (queries[name] ?? "")
  );
}

/** Another definition than the first tenant's: equal uploads would have equal hashes. */
const otherWorkflow = workflow('  START --> SET_Z["SET: Z = 26"] --> SUCCESS');

/** A valid body for each route that needs one. */
const bodies: Partial<Record<RouteName, unknown>> = {
  validateDefinition: { root: "a.wf.md", files: { "a.wf.md": otherWorkflow } },
  saveDefinition: { root: "a.wf.md", files: { "a.wf.md": otherWorkflow } },
  answerAsk: { text: "hello" },
  createUser: { name: "someone", password: "correct horse battery", roles: ["reader"] },
  updateUser: { disabled: true },
  createKey: { name: "a key", roles: ["reader"] },
  createTenant: { id: "another-one", name: "Another" },
  createWebhook: { url: "https://example.org/other", events: ["run.ended"] },
  updateWebhook: { events: ["batch.ended"] },
  logIn: { key: "mm_nothing" },
  changePassword: { current: "correct horse battery", password: "a new horse battery" },
  updateBatch: { concurrency: 2 },
  pauseBatch: { reason: "a break" },
  cancelBatch: { reason: "enough" },
  regradeWorks: { keys: ["ada"] },
  recordGrade: { work: "ada", kind: "released" },
};

async function send(
  walked: Walked,
  token: string | null,
  path = paramsOf(walked),
  body = bodyOf(walked),
): Promise<Response> {
  const { route, method } = walked;
  return await fetch(`${api.url}${path}`, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined
        ? {}
        : { "content-type": route.upload === true ? "application/octet-stream" : "application/json" }),
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    signal: AbortSignal.timeout(120_000),
  });
}

function bodyOf({ name, route }: Walked): unknown {
  if (name === "startRun") return { definition: own.definition };
  if (name === "saveBatch") {
    const settings = { late: null, aiConsent: "any", language: null };
    return {
      key: "class",
      name: "x",
      definition: own.definition,
      rubric: classRubric,
      ...settings,
      members: [],
      works: [],
    };
  }
  return bodies[name] ?? (route.upload === true ? "bytes" : undefined);
}

async function expectProblem(response: Response, status: number, what: string): Promise<void> {
  const text = await response.text();
  expect(response.status, `${what}: ${text}`).toBe(status);
  expect(response.headers.get("content-type"), what).toContain("application/problem+json");
  expect(JSON.parse(text), what).toMatchObject({ status, code: expect.any(String), title: expect.any(String) });
}

describe("every route of the board", () => {
  it("answers 401 without a key and 403 to every role but ops, and refuses changes while it is read-only", async () => {
    const board = await startApi(mill, {}, createBoard({ queues: mill.queues, writes: false }));
    try {
      const own = board.api.routes.filter(({ contract }) => contract === null);
      expect(own.length).toBeGreaterThan(10);
      const urlsOf = (wanted: string) => own.flatMap(({ method, url }) => (method === wanted ? url : [])).sort();
      expect(urlsOf("HEAD")).toEqual(expect.arrayContaining(urlsOf("GET")));
      const wrong = await fetch(`${board.url}/board`, { method: "DELETE" });
      expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
      await wrong.body?.cancel();
      const others = roles.filter((one) => one !== "ops");
      for (const [turn, { method, url }] of own.entries()) {
        expect(url, "a route of nobody's").toMatch(/^\/board(\/|$)/);
        const path = url
          .replace(/:queueName/g, "control")
          .replace(/:\w+/g, "1")
          .replace(/\*/g, "x.js");
        const ask = async (token: string | null) => {
          const headers = token === null ? {} : { authorization: `Bearer ${token}` };
          const response = await fetch(`${board.url}${path}`, { method, headers, redirect: "manual" });
          await response.text();
          return response.status;
        };
        const what = `${method} ${path}`;
        expect(await ask(null), what).toBe(401);
        expect(await ask("mm_00000000000000000000_x"), what).toBe(401);
        for (const role of inTurn(others, turn, others.length)) {
          expect(await ask(await board.key([role])), `${what} ${role}`).toBe(403);
        }
        const status = await ask(await board.key(["ops"]));
        // Details of the queue's server are hidden from every role.
        if (url === "/board/api/redis/stats") expect(status, what).toBe(403);
        else if (method === "GET" || method === "HEAD") expect([200, 204, 303, 304, 400, 404], what).toContain(status);
        else expect(status, what).toBe(403);
      }
    } finally {
      await board.close();
    }
  });
});

describe("every route of the router", () => {
  it("is in the contract, and every route of the contract is in the router", () => {
    expect(
      walk()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(Object.keys(routes).sort());
  });

  it("answers 401 without a key, and with a malformed, revoked or expired key", async () => {
    const owner = await api.client("owner");
    const revoked = await owner.createKey({ body: { name: "gone", roles: ["owner"] } });
    await owner.revokeKey({ params: { id: revoked.id } });
    const over = await owner.createKey({ body: { name: "over", roles: ["owner"], expiresAt: "2020-01-01T00:00:00Z" } });
    const almost = `${revoked.secret.slice(0, -1)}${revoked.secret.endsWith("A") ? "B" : "A"}`;
    const locked = walk().filter(({ route }) => route.access !== "public");
    for (const [turn, walked] of locked.entries()) {
      for (const token of [null, ...inTurn(["nonsense", almost, revoked.secret, over.secret], turn, 4)]) {
        await expectProblem(await send(walked, token), 401, `${walked.name} with ${token}`);
      }
    }
  });

  it("answers 403 to every role without its scope, and to a key with fewer scopes than its role", async () => {
    const owner = await api.client("owner");
    const narrow = await owner.createKey({ body: { name: "narrow", roles: ["owner"], scopes: [] } });
    for (const walked of walk()) {
      const { access } = walked.route;
      if (access === "public" || access === "anybody") continue;
      await expectProblem(await send(walked, narrow.secret), 403, `${walked.name} with no scope`);
      for (const role of roles.filter((one: Role) => !effectiveScopes([one], null).has(access))) {
        await expectProblem(await send(walked, await api.key([role])), 403, `${walked.name} as ${role}`);
      }
    }
  });

  it("answers 404 to ids of another tenant, and lists nothing of it", async () => {
    const stranger = await api.key(["owner"], "strangers");
    const before = JSON.stringify(await (await api.client("reader")).getRun({ params: { id: own.run } }));
    for (const walked of walk().filter(({ route }) => route.access !== "public" && !route.access.startsWith("ops:"))) {
      const response = await send(walked, stranger);
      if (walked.url.includes(":")) {
        await expectProblem(response, 404, walked.name);
        continue;
      }
      const text = await response.text();
      // A definition of another tenant does not exist for this caller. Created things belong to the stranger's tenant.
      expect([200, 201, 204, 409, 422], `${walked.name}: ${text}`).toContain(response.status);
      if (walked.name === "startRun" || walked.name === "saveBatch") expect(response.status).toBe(422);
      // The stranger's own audit log contains the ids that they tried, and that nothing was found.
      const ids = walked.name === "listAudit" ? [] : [own.run, own.file, own.user, own.key, own.webhook];
      for (const secret of [...ids, "Ada", "grace", "What now?"]) expect(text, walked.name).not.toContain(secret);
    }
    for (const query of [
      `?run=${own.run}`,
      `?label=student=Ada`,
      `?search=Ada`,
      `?cursor=99999999999999999-${own.run}`,
    ]) {
      for (const path of ["/v1/runs", "/v1/asks", "/v1/usage"]) {
        const response = await fetch(`${api.url}${path}${query}`, { headers: { authorization: `Bearer ${stranger}` } });
        expect(await response.text(), path + query).not.toContain("Ada");
      }
    }
    expect(JSON.stringify(await (await api.client("reader")).getRun({ params: { id: own.run } }))).toBe(before);
    const { items } = await (await api.client("owner")).listAudit({ query: { limit: 200 } });
    expect(items.every(({ actorName }) => !actorName.startsWith("strangers"))).toBe(true);
  });

  it("returns no name, label or text of users or students to ops", async () => {
    const ops = await api.key(["ops"]);
    for (const walked of walk().filter(({ route }) => route.access !== "public")) {
      const response = await send(
        walked,
        ops,
        paramsOf(walked),
        walked.name === "createTenant" ? { id: "ops-made", name: "x" } : bodyOf(walked),
      );
      const text = await response.text();
      if (response.status === 403) continue;
      for (const secret of ["Ada", "grace", own.run, "What now?"]) expect(text, walked.name).not.toContain(secret);
    }
  });
});

describe("input of a hostile client", () => {
  it("is refused if the database could not store it: years out of range, and names that are too long in bytes", async () => {
    const authorization = `Bearer ${await api.key(["owner"])}`;
    const times = ["0000-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"];
    for (const path of ["/v1/audit", "/v1/usage", "/v1/runs"]) {
      for (const time of times) {
        for (const field of ["from", "before"]) {
          const query = new URLSearchParams({ [field]: time, by: "day" });
          const response = await fetch(`${api.url}${path}?${query}`, { headers: { authorization } });
          expect(response.status, `${path}?${query}`).toBeLessThan(path === "/v1/runs" ? 500 : 401);
        }
      }
    }
    const query = new URLSearchParams({ name: "ä".repeat(200) });
    const response = await fetch(`${api.url}/v1/submissions?${query}`, {
      method: "POST",
      headers: { authorization, "content-type": "application/octet-stream" },
      body: "x",
    });
    await expectProblem(response, 400, "a long name");
  });

  /** Routes that accept a cursor, according to their schemas. */
  const paged = () =>
    walk().flatMap((walked) => {
      const query = walked.route.query;
      const shape =
        query === undefined ? {} : (z.toJSONSchema(query, { io: "input", unrepresentable: "any" }) as Shape);
      const cursor = shape.properties?.cursor;
      return cursor === undefined ? [] : [{ walked, cursor }];
    });

  it("as a cursor, broken or of another route, is refused or ends a list, on every route with a cursor", async () => {
    const owner = await api.client("owner");
    const second = { ...adasWork, key: "bea", by: ["bea"], label: "Bea", sources: ["Bea.zip"] };
    const settings = { definition: own.definition, rubric: classRubric as never, late: null, language: null };
    const [members, works] = [[{ key: "bea", name: "Bea" }], [second]];
    await owner.saveBatch({ body: { ...settings, key: "class", name: "Class", aiConsent: "any", members, works } });
    await owner.saveBatch({ body: { ...settings, key: "other", name: "Other", aiConsent: "any", members, works } });
    for (const work of ["ada", "bea"])
      await owner.recordGrade({ params: { id: own.batch }, body: { work, kind: "released" } as never });
    await owner.startRun({ body: { definition: own.definition } });
    const [whole, narrow] = [await api.key(["owner", "ops"]), await api.key(["reader"])];
    const ask = async (walked: Walked, token: string, cursor: string | null) => {
      const path = paramsOf(walked);
      const query = `${path.includes("?") ? "&" : "?"}limit=1${cursor === null ? "" : `&cursor=${escaped(cursor)}`}`;
      return await send(walked, token, path + query);
    };
    // Cursors of lists that have only one page here.
    const real = new Map<RouteName, string>([
      ["listCalls", "1-1-1-a"],
      ["listToolCalls", "1-1-a-1-1"],
      ["listMessages", "1"],
      ["listDefinitions", "a-1"],
      ["listMemoryScopes", "notes"],
      ["listPassages", "1"],
      ["getUsage", "0"],
    ]);
    for (const { walked } of paged()) {
      const { items, next } = (await (await ask(walked, whole, null)).json()) as {
        readonly items: readonly Readonly<Record<string, unknown>>[];
        readonly next: string | null;
      };
      // The cursor of a list with one page is the id of its last item.
      const [last] = items;
      const cursor = next ?? real.get(walked.name) ?? (last?.id ?? last?.hash ?? last?.name ?? last?.try)?.toString();
      if (cursor === undefined) {
        // The list is empty here, so no cursor is valid.
        expect(items, walked.name).toEqual([]);
        expect((await ask(walked, whole, own.run)).status, walked.name).toBe(400);
        continue;
      }
      expect((await ask(walked, whole, cursor)).status, walked.name).toBe(200);
      real.set(walked.name, cursor);
    }
    const ids = [own.batch, own.run, own.definition, String(own.ask), own.file, own.user, own.key];
    const plain = [
      "",
      " ",
      "\0",
      "\ud800",
      "%",
      "null",
      "[]",
      "{}",
      "=",
      "AAAA",
      "\u202e",
      "a".repeat(199),
      "a".repeat(6_000),
    ];
    const foreign = [...real.values(), ...ids, ...plain];
    for (const [turn, { walked, cursor }] of paged().entries()) {
      const shaped =
        cursor.pattern === undefined
          ? []
          : fc.sample(fc.stringMatching(new RegExp(cursor.pattern)), { numRuns: 10, seed: 7 });
      const tried = new Set([...foreign, ...shaped, ...spoilt(real.get(walked.name) ?? "")]);
      for (const one of inTurn([...tried], turn, 4)) {
        // A caller without access to names gets other cursors in a class.
        for (const token of walked.url.startsWith("/v1/batches") ? [whole, narrow] : [whole]) {
          const response = await ask(walked, token, one);
          const text = await response.text();
          const what = `${walked.name} with ${JSON.stringify(one.slice(0, 100))}: ${text.slice(0, 300)}`;
          expect([200, 400, 403, 422], what).toContain(response.status);
          if (response.status !== 200) expect(JSON.parse(text), what).toMatchObject({ code: expect.any(String) });
        }
      }
    }
  });

  it("causes no 5xx and no hanging request on any route, and no growing memory", async () => {
    // The key has the roles ops and owner, so every request reaches its handler. Routes that end the key are left out.
    const secrets = [await api.key(["owner", "ops"]), await api.key(["owner", "ops"], "strangers")];
    const left: RouteName[] = ["logOut", "revokeKey", "deleteUser", "updateUser"];
    const walked = walk().filter(({ name }) => !left.includes(name));
    const rounds = inject("thorough") ? 8 : 2;
    const real = [own.run, own.definition, own.file, askingWorkflow];
    let settled = 0;
    for (let round = 0; round < 3; round += 1) {
      for (const one of walked) {
        const { route, method, name } = one;
        const query =
          route.query === undefined ? fc.dictionary(hostileText, hostileText, { maxKeys: 2 }) : near(route.query, real);
        const param = fc.oneof(
          hostileText,
          fc.constantFrom(own.run, own.definition, String(own.ask), own.file, "0", "99999999999999999999"),
        );
        const body =
          route.body === undefined
            ? hostileJson
            : fc.oneof(
                { weight: 3, arbitrary: near(route.body, real).map((value) => JSON.stringify(value)) },
                { weight: 1, arbitrary: hostileJson },
              );
        await fc.assert(
          fc.asyncProperty(
            param,
            query,
            hostileHeaders,
            body,
            fc.constantFrom(...secrets),
            async (id, asked, headers, text, token) => {
              const path = route.path.replace(/\{\w+\}/g, encodeURIComponent(id.isWellFormed() ? id : "x"));
              const url = new URL(api.url + (path.includes("//") ? "/v1/runs/x" : path));
              for (const [key, value] of Object.entries((asked ?? {}) as Record<string, unknown>)) {
                // Long polls would wait.
                if (key === "waitMs") url.searchParams.append(key, "5");
                else
                  for (const each of [value].flat())
                    url.searchParams.append(
                      key.toWellFormed(),
                      String(typeof each === "object" ? JSON.stringify(each) : each).toWellFormed(),
                    );
              }
              const sent = Object.fromEntries(Object.entries(headers).map(([key, value]) => [key, sendable(value)]));
              const response = await fetch(url, {
                method,
                headers: {
                  ...sent,
                  authorization: `Bearer ${token}`,
                  ...(method === "GET" ? {} : { "content-type": "application/json" }),
                },
                ...(method === "GET" || text === undefined ? {} : { body: text }),
                signal: AbortSignal.timeout(120_000),
              });
              // The stream of an open run does not end.
              if (name === "streamEvents" && response.ok) await response.body?.cancel();
              else await response.text();
              if (response.status >= 500 && name !== "getReady")
                throw new Error(
                  `${method} ${url} answered ${response.status}: ${text?.slice(0, 300)}\n${api.log.at(-1)}`,
                );
            },
          ),
          { numRuns: rounds, seed: 7 + round, endOnFailure: true },
        );
      }
      globalThis.gc?.();
      const now = process.memoryUsage().rss;
      if (round === 0) settled = now;
      else expect(now - settled, "growth of memory").toBeLessThan(150 * 1024 * 1024);
    }
    const alive = await fetch(`${api.url}/health/ready`);
    expect(alive.status).toBe(200);
  }, 300_000);
});
