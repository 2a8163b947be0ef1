/**
 * The server: Fastify with the contract's routes. It holds nothing between requests but counters; any number may run side by side.
 *
 * kill -9 at any line: a change is one commit in Postgres, made or not; its doorbells are rung by the supervisor.
 */
import { randomBytes } from "node:crypto";
import cookie from "@fastify/cookie";
import helmet from "@fastify/helmet";
import rateLimit from "@fastify/rate-limit";
import { makeProblem, type Route, type RouteName } from "@markmill/contract";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify, LogController } from "fastify";
import type { Board } from "./board/board.ts";
import { closeServer, countUnderWay } from "./close-server.ts";
import { countStreams } from "./count-streams.ts";
import { makeHandlers } from "./handlers.ts";
import { countRequests } from "./metrics.ts";
import type { ApiParts } from "./parts.ts";
import { identify, type Principal, permit } from "./principal.ts";
import { problemOf } from "./problem-of.ts";
import { Refusal } from "./refusal.ts";
import { registerRoutes } from "./register-routes.ts";

declare module "fastify" {
  interface FastifyRequest {
    principal: Principal | null;
  }
  interface FastifyContextConfig {
    /** The contract's name of the route; absent: it is none of the contract's. */
    contract?: RouteName;
    access?: Route["access"];
  }
}

/** A header, and all of them; Node answers 431. */
const headerBytes = 16 * 1024;
/** For the headers; a client that sends them one by one is let go. */
const headersMs = 15_000;
/** For the whole request, an upload over a slow line included. */
const requestMs = 300_000;

/** A route as the router has it, the board's included. */
export interface RouteFacts {
  readonly method: string;
  readonly url: string;
  readonly contract: RouteName | null;
  readonly access: Route["access"] | null;
}

export interface Api {
  readonly app: FastifyInstance;
  readonly routes: readonly RouteFacts[];
  /** No new requests, streams end, what is under way is finished. */
  close(): Promise<void>;
}

export async function createApi(parts: ApiParts, board: Board | null = null): Promise<Api> {
  const { settings } = parts;
  const closing = new AbortController();
  const app = fastify({
    loggerInstance: parts.log,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: settings.trustProxy.length === 0 ? false : [...settings.trustProxy],
    genReqId: () => randomBytes(9).toString("base64url"),
    requestTimeout: requestMs,
    keepAliveTimeout: 30_000,
    maxRequestsPerSocket: 10_000,
    // What comes while it ends, over a connection that stands, is still answered: the connection is closed after it (close-server.ts).
    return503OnClosing: false,
    forceCloseConnections: "idle",
    exposeHeadRoutes: false,
    onProtoPoisoning: "error",
    onConstructorPoisoning: "error",
    routerOptions: { maxParamLength: 200 },
    http: { maxHeaderSize: headerBytes, headersTimeout: headersMs, connectionsCheckingInterval: 2_000 },
    frameworkErrors: (error, request, reply) => answerProblem(error, request, reply),
    clientErrorHandler: (error, socket) => {
      if (error.code === "ECONNRESET" || !socket.writable) return;
      const code = error.code === "HPE_HEADER_OVERFLOW" ? "HEADERS_TOO_LARGE" : "BAD_REQUEST";
      const body = JSON.stringify(makeProblem(code));
      const { status, title } = makeProblem(code);
      socket.end(
        `HTTP/1.1 ${status} ${title}\r\ncontent-type: application/problem+json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
      );
    },
  });
  app.server.maxConnections = 5_000;
  const routes: RouteFacts[] = [];
  app.addHook("onRoute", ({ method, url, config }) => {
    for (const one of [method].flat()) {
      routes.push({ method: one, url, contract: config?.contract ?? null, access: config?.access ?? null });
    }
  });

  app.setErrorHandler((error, request, reply) => answerProblem(error, request, reply));
  app.setNotFoundHandler((request, reply) => {
    const detail = `There is no ${request.method} ${request.url.split("?")[0]?.slice(0, 200)}.`;
    answerProblem(new Refusal("NOT_FOUND", { detail, hint: "GET /openapi.json lists what there is." }), request, reply);
  });
  // An empty body is none, whatever type it says it has.
  const readJson = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    if (body === "") done(null, undefined);
    else readJson(request, body as string, done);
  });

  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        "default-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
        "frame-ancestors": ["'none'"],
      },
    },
    crossOriginResourcePolicy: { policy: "same-origin" },
    strictTransportSecurity: settings.publicUrl?.startsWith("https:") === true ? { maxAge: 15_552_000 } : false,
  });
  await app.register(cookie);
  app.decorateRequest("principal", null);
  app.addHook("onRequest", async (request, reply) => {
    reply.header("x-request-id", request.id);
    if (accessOf(request) !== "public") request.principal = await identify(request, parts);
  });
  await app.register(rateLimit, {
    max: settings.requestsPerMinute,
    timeWindow: 60_000,
    cache: 20_000,
    keyGenerator: (request) => request.principal?.actor ?? request.ip,
    errorResponseBuilder: (_, { ttl }) =>
      new Refusal("RATE_LIMITED", { detail: `Try again in ${Math.ceil(ttl / 1000)} s.` }),
  });
  // After the limit has counted, before anything of the body is read.
  app.addHook("preParsing", async (request) => {
    permit(request, accessOf(request), request.principal, settings.publicUrl);
  });
  const streams = countStreams(settings);
  const meter = countRequests(app);
  app.addHook("preClose", async () => closing.abort());
  app.addHook("onSend", async (_request, reply) => {
    if (closing.signal.aborted) reply.header("connection", "close");
  });
  const handlers = makeHandlers(parts, { streams, meter });
  await registerRoutes(app, { parts, handlers, streams, closing: closing.signal });
  if (board !== null) await board.mount(app, parts);
  const underWay = countUnderWay(app.server);
  return { app, routes, close: () => closeServer(app, underWay) };
}

/** A route that does not say who may use it is the board's: for ops alone. */
function accessOf(request: FastifyRequest): Route["access"] {
  const { access } = request.routeOptions.config;
  if (access !== undefined) return access;
  if (request.is404) return "public";
  return request.method === "GET" ? "ops:read" : "ops:write";
}

function answerProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const problem = problemOf(error, request.id);
  if (problem.status >= 500) request.log.error({ err: error, requestId: request.id, url: request.url }, problem.title);
  if (problem.status === 401) void reply.header("www-authenticate", 'Bearer realm="markmill"');
  // What was not read of the body is not waited for.
  if (problem.status === 413 || problem.status === 415) void reply.header("connection", "close");
  if (problem.status === 503) void reply.header("retry-after", "2");
  void reply
    .code(problem.status)
    .header("cache-control", "no-store")
    .type("application/problem+json; charset=utf-8")
    .send(JSON.stringify(problem));
}
