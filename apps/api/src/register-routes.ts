/**
 * Registers the routes of the contract's table, with the steps that all routes share: parse, write the audit log, answer.
 *
 * P1  A request is recorded in the audit log before its change, or in the same statement (store/access/audit.ts). A request that is refused
 *     before its handler begins is recorded with its status (note-refused.ts).
 * P2  If a client disconnects, its request is aborted, unless the request changes something.
 */
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Route, type RouteName, routes } from "@markmill/contract";
import type { AuditAsked } from "@markmill/store";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import { auditDetails } from "./audit-details.ts";
import type { Streams } from "./count-streams.ts";
import type { Frame, Handlers, Request } from "./handler.ts";
import { isAudited, targetOf } from "./note-refused.ts";
import type { ApiParts } from "./parts.ts";
import { cookieName, identify, isSecure } from "./principal.ts";
import { errorsOf, statusOf } from "./problem-of.ts";
import { notFound, Refusal } from "./refusal.ts";
import { type Upload, uploadOf } from "./upload-of.ts";
import { writeJson } from "./write-json.ts";

const mebi = 1024 * 1024;
/** Size limits for JSON bodies that may be larger than usual. */
const bodyLimits: Partial<Record<RouteName, number>> = {
  validateDefinition: 32 * mebi,
  saveDefinition: 32 * mebi,
  startRun: 16 * mebi,
  answerAsk: 8 * mebi,
  saveBatch: 32 * mebi,
};
const usualBody = mebi;
/** The handlers of these routes write the entry in the statement that makes the change. If there is no change, it is written afterwards. */
const auditedWithTheChange: ReadonlySet<RouteName> = new Set(["startRun"]);

export interface Ground {
  readonly parts: ApiParts;
  readonly handlers: Handlers;
  readonly streams: Streams;
  /** Aborts when the server shuts down. */
  readonly closing: AbortSignal;
}

export async function registerRoutes(app: FastifyInstance, ground: Ground): Promise<void> {
  const table = Object.entries(routes) as [RouteName, Route][];
  for (const [name, route] of table) if (route.upload !== true) register(app, ground, name, route);
  await app.register(async (uploads) => {
    // The content type is ignored. The bytes are read as they arrive, and counted.
    uploads.removeAllContentTypeParsers();
    uploads.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
    for (const [name, route] of table) if (route.upload === true) register(uploads, ground, name, route);
  });
}

function register(app: FastifyInstance, ground: Ground, name: RouteName, route: Route): void {
  const { parts } = ground;
  const handle = ground.handlers[name] as (request: Request<Route>) => Promise<Record<string, unknown>>;
  const audited = isAudited(name);
  app.route({
    // Every GET route also answers HEAD, without the body.
    method: route.method === "GET" ? ["GET", "HEAD"] : route.method,
    url: route.path.replace(/\{(\w+)\}/g, ":$1"),
    bodyLimit: bodyLimits[name] ?? usualBody,
    config: {
      contract: name,
      access: route.access,
      ...(name === "logIn" ? { rateLimit: { max: parts.settings.loginsPerMinute, timeWindow: 60_000 } } : {}),
      ...(name === "getLive" || name === "getReady" ? { rateLimit: false as const } : {}),
    },
    handler: async (asked, reply) => {
      const began = performance.now();
      const upload = route.upload === true ? await uploadOf(asked, parts.settings.uploadBytes) : null;
      const request = read(ground, route, asked, reply, audited ? name : null, upload);
      const { audit } = request;
      asked.audited = audit !== null;
      const late = auditedWithTheChange.has(name);
      const entry = audit === null || late ? null : await parts.access.log.asked(audit);
      let answer: Record<string, unknown>;
      try {
        answer = await counted(ground, name, request, asked, handle);
      } catch (error) {
        if (audit !== null) note(parts, entry ?? audit, statusOf(error, asked));
        throw error;
      }
      tellStart(parts, name, asked, request, answer, performance.now() - began);
      const status = typeof answer.status === "number" ? answer.status : route.answer.status;
      if (audit !== null && answer.audited !== true) note(parts, entry ?? audit, status, answer.target);
      return await send(ground, route, asked, reply, answer);
    },
  });
}

/** Reports a run that a request created to telemetry. */
function tellStart(
  { telemetry }: ApiParts,
  name: RouteName,
  { headers: { traceparent } }: FastifyRequest,
  { params }: Request<Route>,
  { target: id, body }: Record<string, unknown>,
  tookMs: number,
): void {
  if (telemetry == null || (name !== "startRun" && name !== "retryRun") || typeof id !== "string") return;
  telemetry.started({
    id,
    rootId: id,
    route: name,
    tookMs,
    traceparent: typeof traceparent === "string" ? traceparent : null,
    forkOf: name === "retryRun" ? targetOf(params) : null,
    created: (body as { readonly created?: unknown } | undefined)?.created !== false,
  });
}

/** A long poll costs as much as a stream, and counts as one. */
async function counted(
  { streams }: Ground,
  name: RouteName,
  request: Request<Route>,
  { principal }: FastifyRequest,
  handle: (request: Request<Route>) => Promise<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const { waitMs } = (request.query ?? {}) as { readonly waitMs?: unknown };
  if (name !== "listEvents" || typeof waitMs !== "number" || waitMs === 0) return await handle(request);
  const leave = streams.enter(principal);
  try {
    return await handle(request);
  } finally {
    leave();
  }
}

/**
 * Records the outcome without waiting: the change was already made and reported, or there was none. `entry`: the number of the entry, or
 * the entry itself if it has not been written yet.
 */
function note({ access, tell }: ApiParts, entry: number | AuditAsked, status: number, target?: unknown): void {
  const written = typeof entry === "number" ? Promise.resolve(entry) : access.log.asked(entry);
  written
    .then((id) => access.log.done(id, status, typeof target === "string" ? target : undefined))
    .catch((error: unknown) => tell.warn({ err: error }, "the audit log"));
}

/** `audited`: the name of the action in the audit log. */
function read(
  ground: Ground,
  route: Route,
  asked: FastifyRequest,
  reply: FastifyReply,
  audited: RouteName | null,
  upload: Upload | null,
): Request<Route> {
  const { parts } = ground;
  const params = route.params?.safeParse(asked.params);
  // An id in a wrong form is treated as one that does not exist.
  if (params?.success === false) throw notFound("such id");
  const { principal } = asked;
  if (route.upload !== true && route.body === undefined) refuseBody(asked.body);
  const body = route.upload === true ? undefined : parse(route.body, asked.body ?? undefined, "");
  return {
    id: asked.id,
    address: asked.address,
    secure: isSecure(asked, parts.settings.publicUrl),
    params: params?.data,
    query: parse(route.query, knownQuery(route, asked.query), "query"),
    headers: parse(route.headers, asked.headers, "headers"),
    body,
    upload,
    caller:
      principal === null || route.access === "public"
        ? null
        : {
            principal,
            store: parts.store.as(principal.tenant),
            access: parts.access.of(principal.tenant),
            stillMay: () => stillMay(ground, route, asked),
          },
    audit:
      audited === null || principal === null
        ? null
        : {
            tenant: principal.tenant,
            actor: principal.actor,
            actorName: principal.name,
            action: audited,
            target: targetOf(params?.data),
            requestId: asked.id,
            address: asked.address,
            details: auditDetails(audited, body),
          },
    // Created on demand: most handlers do not use it, and aborting one costs as much as reading a body.
    get signal() {
      const gone = new AbortController();
      whenGone(reply, () => gone.abort());
      return AbortSignal.any([gone.signal, ground.closing]);
    },
  } as unknown as Request<Route>;
}

/** Identifies the caller again in the same way: a key may have been revoked, a session closed, a user blocked. */
async function stillMay({ parts }: Ground, { access }: Route, asked: FastifyRequest): Promise<boolean> {
  const now = await identify(asked, parts);
  if (now === null || now.tenant !== asked.principal?.tenant) return false;
  return access === "public" || access === "anybody" || now.scopes.has(access);
}

function parse(schema: z.ZodType | undefined, given: unknown, place: string): unknown {
  if (schema === undefined) return undefined;
  const read = schema.safeParse(given);
  if (read.success) return read.data;
  throw new Refusal("INVALID", {
    errors: errorsOf(read.error, place),
    hint: "GET /openapi.json, or /docs in a browser, describes the request.",
  });
}

/** Refuses unknown parameters. If a misspelt parameter were ignored, the client would get the answer to another request. */
function knownQuery({ query }: Route, given: unknown): unknown {
  const known = Object.keys(query?.shape ?? {});
  const unknown = Object.keys((given ?? {}) as object).filter((name) => !known.includes(name));
  if (unknown.length === 0) return given;
  throw new Refusal("INVALID", {
    errors: unknown
      .slice(0, 50)
      .map((name) => ({ path: `query.${name.slice(0, 100)}`, message: "is not a parameter of this request" })),
    hint: known.length === 0 ? "This request has no query parameters." : `Valid parameters: ${known.join(", ")}.`,
  });
}

/** A route without a body refuses one instead of ignoring it. `{}` is accepted, because many clients send it as an empty body. */
function refuseBody(body: unknown): void {
  if (body === undefined || body === null || (typeof body === "object" && Object.keys(body).length === 0)) return;
  throw new Refusal("INVALID", {
    errors: [{ path: "", message: "must be empty" }],
    hint: "Send no body. GET /openapi.json, or /docs in a browser, describes the request.",
  });
}

/** A client may have disconnected before the listener is added. */
function whenGone({ raw }: FastifyReply, act: () => void): void {
  if (raw.destroyed) act();
  else raw.once("close", act);
}

async function send(
  { parts, streams, closing }: Ground,
  { answer }: Route,
  asked: FastifyRequest,
  reply: FastifyReply,
  given: Record<string, unknown>,
): Promise<FastifyReply> {
  setCookie(given.cookie, asked, reply, parts);
  if (typeof given.location === "string") reply.header("location", given.location);
  if (typeof given.etag === "string") reply.header("etag", `"${given.etag}"`);
  const head = asked.method === "HEAD";
  switch (answer.kind) {
    case "json": {
      const body = parts.checkAnswers === true ? answer.schema.parse(given.body) : given.body;
      return await sendJson(asked, reply, typeof given.status === "number" ? given.status : answer.status, body);
    }
    case "none":
      return reply.code(204).send();
    case "text":
      if (typeof given.contentPolicy === "string") reply.header("content-security-policy", given.contentPolicy);
      return sendText(asked, reply.type(answer.type), String(given.text));
    case "bytes":
      if (head) await (given.content as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]().return?.();
      return reply
        .header("content-length", String(given.size))
        .header("content-disposition", `attachment; filename="${String(given.name).replace(/[^\w.-]/g, "_")}"`)
        .header("cache-control", "private, no-store")
        .type(answer.type)
        .send(head ? null : Readable.from(given.content as AsyncIterable<Uint8Array>, { objectMode: false }));
    case "events": {
      if (given.frames === null) return reply.code(204).send();
      reply
        .header("cache-control", "no-store")
        .header("x-accel-buffering", "no")
        .type("text/event-stream; charset=utf-8");
      if (head) return reply.send(null);
      whenGone(reply, streams.enter(asked.principal));
      return reply.send(Readable.from(written(given.frames as AsyncIterable<Frame>, closing), { objectMode: true }));
    }
  }
}

async function sendJson(
  asked: FastifyRequest,
  reply: FastifyReply,
  status: number,
  body: unknown,
): Promise<FastifyReply> {
  const pieces = await writeJson(body);
  reply.header("cache-control", "private, no-cache");
  if (status === 200 && (asked.method === "GET" || asked.method === "HEAD")) {
    const hash = createHash("sha256");
    for (const piece of pieces) {
      hash.update(piece);
      if (pieces.length > 1) await nextTurn();
    }
    const tag = `"${hash.digest("base64url").slice(0, 27)}"`;
    reply.header("etag", tag);
    const known = asked.headers["if-none-match"];
    if (known?.split(",").some((one) => one.trim().replace(/^W\//, "") === tag)) {
      return reply.code(304).send();
    }
  }
  return sendText(asked, reply.code(status).type("application/json; charset=utf-8"), ...pieces);
}

function sendText({ method }: FastifyRequest, reply: FastifyReply, ...pieces: readonly string[]): FastifyReply {
  if (method === "HEAD") {
    const length = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
    return reply.header("content-length", String(length)).send(null);
  }
  return pieces.length === 1
    ? reply.send(pieces[0])
    : reply.send(Readable.from(inTurns(pieces), { objectMode: false }));
}

async function* inTurns(pieces: readonly string[]): AsyncGenerator<string> {
  for (const piece of pieces) {
    yield piece;
    await nextTurn();
  }
}

async function* written(frames: AsyncIterable<Frame>, closing: AbortSignal): AsyncGenerator<string> {
  // Sent at once, so that the client knows that the stream is open.
  yield "retry: 1000\n\n";
  for await (const { id, event, data } of frames) {
    if (data === null) yield ": alive\n\n";
    else {
      const head = `${id === undefined ? "" : `id: ${id}\n`}${event === undefined ? "" : `event: ${event}\n`}`;
      yield `${head}data: ${JSON.stringify(data)}\n\n`;
    }
    if (closing.aborted) return;
  }
}

function setCookie(cookie: unknown, asked: FastifyRequest, reply: FastifyReply, { settings }: ApiParts): void {
  if (cookie === undefined) return;
  const secure = isSecure(asked, settings.publicUrl);
  const facts = { path: "/", httpOnly: true, sameSite: "strict", secure } as const;
  if (cookie === null) void reply.clearCookie(cookieName(secure), facts);
  else {
    const { value, maxAgeMs } = cookie as { value: string; maxAgeMs: number };
    void reply.setCookie(cookieName(secure), value, { ...facts, maxAge: Math.floor(maxAgeMs / 1000) });
  }
}
