/**
 * Creates the server: Fastify with the contract's routes. It keeps no state between requests except counters; any number of servers can run
 * side by side.
 *
 * On kill -9 at any line, a change is one commit in Postgres, which was made or not. The supervisor enqueues its jobs.
 */
import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import compress from "@fastify/compress";
import cookie from "@fastify/cookie";
import cors from "@fastify/cors";
import rateLimit from "@fastify/rate-limit";
import { makeProblem, type ProblemCode, type Route, type RouteName } from "@markmill/contract";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify, LogController } from "fastify";
import { allowedMethods } from "./allowed-methods.ts";
import type { Board } from "./board/board.ts";
import { closeServer, countUnderWay } from "./close-server.ts";
import { countStreams } from "./count-streams.ts";
import { createDefinitionLoader } from "./definition-loader.ts";
import { makeHandlers } from "./handlers.ts";
import { hungUp, hungUpStatus } from "./hung-up.ts";
import { countRequests, figureNames } from "./metrics.ts";
import { networkOf } from "./network-of.ts";
import { noteRefusedRoute } from "./note-refused.ts";
import type { ApiParts } from "./parts.ts";
import { permit } from "./permit.ts";
import { identify, type Principal } from "./principal.ts";
import { problemOf, statusOf } from "./problem-of.ts";
import { Refusal } from "./refusal.ts";
import { registerRoutes } from "./register-routes.ts";
import { securityHeaders } from "./security-headers.ts";
import { tellFailure } from "./tell-failure.ts";
import { packedAs } from "./upload-of.ts";
import { weighJson } from "./weigh-json.ts";

declare module "fastify" {
  interface FastifyRequest {
    principal: Principal | null;
    /** The client's address. It stays available after the client has disconnected, when `ip` is gone. */
    address: string;
    /** The audit log has the entry, or its handler will write it. */
    audited: boolean;
  }
  interface FastifyContextConfig {
    /** The contract's name of the route. Absent: the route is not in the contract. */
    contract?: RouteName;
    access?: Route["access"];
  }
}

/** The limit for a header, and for all headers together. Beyond it, Node answers 431. */
const headerBytes = 16 * 1024;
/** The time limit for the headers. A client that sends them too slowly is disconnected. */
const headersMs = 15_000;
/** The time limit for the whole request, including an upload over a slow line. */
const requestMs = 300_000;

const compressible =
  /^(?:application\/(?:problem\+)?json|text\/(?:html|plain|css|javascript)|application\/javascript|image\/svg)/;

/** Problems by Node's error code. */
const connectionProblems: Readonly<Record<string, ProblemCode>> = {
  HPE_HEADER_OVERFLOW: "HEADERS_TOO_LARGE",
  ERR_HTTP_REQUEST_TIMEOUT: "TIMED_OUT",
};

/** A route in the router's form, including the board's. */
interface RouteFacts {
  readonly method: string;
  readonly url: string;
  readonly contract: RouteName | null;
  readonly access: Route["access"] | null;
}

export interface Api {
  readonly app: FastifyInstance;
  readonly routes: readonly RouteFacts[];
  /** Refuses new requests, ends streams, and finishes the open requests. */
  close(): Promise<void>;
}

export async function createApi(parts: ApiParts, board: Board | null = null): Promise<Api> {
  const { settings } = parts;
  const closing = new AbortController();
  const app = fastify({
    loggerInstance: parts.log,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: settings.trustProxy.length === 0 ? false : [...settings.trustProxy],
    genReqId: () => randomUUID(),
    requestTimeout: requestMs,
    keepAliveTimeout: 30_000,
    maxRequestsPerSocket: 10_000,
    // A request that arrives on an open connection during the shutdown is still answered. The connection is closed after it
    // (close-server.ts).
    return503OnClosing: false,
    forceCloseConnections: "idle",
    // This setting is for the board. The contract's routes list HEAD themselves.
    exposeHeadRoutes: true,
    onProtoPoisoning: "error",
    onConstructorPoisoning: "error",
    routerOptions: { maxParamLength: 200 },
    http: { maxHeaderSize: headerBytes, headersTimeout: headersMs, connectionsCheckingInterval: 2_000 },
    frameworkErrors: (error, request, reply) => answerProblem(parts, error, request, reply),
    clientErrorHandler: (error, socket) => {
      if (error.code === "ECONNRESET" || !socket.writable) return;
      // A browser opened this connection in advance and never used it, so no client waits for an answer.
      if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && "bytesRead" in socket && socket.bytesRead === 0) {
        socket.destroy();
        return;
      }
      const code = connectionProblems[error.code] ?? "BAD_REQUEST";
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

  app.setErrorHandler((error, request, reply) => {
    noteRefusedRoute(parts, request, statusOf(error, request));
    answerProblem(parts, error, request, reply);
  });
  /** Builds the answer for an unknown address or a wrong method. The answer lists the methods of the address. */
  const nothingThere = ({ method, url }: FastifyRequest, reply: FastifyReply): Refusal => {
    const path = url.split("?")[0] ?? "";
    const detail = `${method} ${path.slice(0, 200)} does not exist.`;
    const allowed = allowedMethods(routes, path);
    // A missing file of the board: its address accepts the method.
    if (allowed === null || allowed.includes(method)) {
      return new Refusal("NOT_FOUND", { detail, hint: "GET /openapi.json lists all operations." });
    }
    void reply.header("allow", allowed.join(", "));
    return new Refusal("METHOD_NOT_ALLOWED", { detail, hint: `This address supports ${allowed.join(", ")}.` });
  };
  app.setNotFoundHandler((request, reply) => answerProblem(parts, nothingThere(request, reply), request, reply));
  // An empty body counts as no body, whatever its content type is.
  const readJson = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    if (body === "") return done(null, undefined);
    const packed = packedAs(request.headers);
    if (packed !== null) {
      const detail = `The body is compressed (Content-Encoding: ${packed}).`;
      return done(new Refusal("UNSUPPORTED_TYPE", { detail, hint: "Send the JSON without compression." }));
    }
    try {
      weighJson(body as string);
    } catch (error) {
      return done(error as Error);
    }
    readJson(request, body as string, done);
  });

  const walls = await securityHeaders(settings.publicUrl?.startsWith("https:") === true);
  if (settings.corsOrigins.length > 0) {
    await app.register(cors, {
      // The origin is written as browsers write it: lower case, without the default port.
      origin: settings.corsOrigins.map((one) => URL.parse(one)?.origin ?? one),
      methods: ["GET", "HEAD", "POST", "PATCH", "DELETE"],
      exposedHeaders: ["allow", "content-disposition", "etag", "location", "retry-after", "x-request-id"],
      maxAge: 600,
      // OPTIONS requests from other programs than browsers get the API's answer, not a text of the plugin.
      strictPreflight: false,
    });
  }
  // Only complete texts are compressed: event streams are sent piece by piece, and files are sent as they are stored.
  await app.register(compress, { globalDecompression: false, threshold: 1_024, customTypes: compressible });
  await app.register(cookie);
  app.decorateRequest("principal", null);
  app.decorateRequest("audited", false);
  app.decorateRequest("address", "");
  app.addHook("onRequest", async (request, reply) => {
    reply.headers(walls);
    request.address = request.ip ?? "";
    reply.header("x-request-id", request.id);
    if (accessOf(request) !== "public") request.principal = await identify(request, parts);
  });
  await app.register(rateLimit, {
    max: settings.requestsPerMinute,
    timeWindow: 60_000,
    cache: 20_000,
    keyGenerator: (request) => request.principal?.actor ?? networkOf(request.ip),
    errorResponseBuilder: (_, { ttl }) =>
      new Refusal("RATE_LIMITED", { detail: `Try again in ${Math.ceil(ttl / 1000)} s.` }),
  });
  // After the rate limit has counted the request, and before its body is read.
  app.addHook("preParsing", async (request, reply) => {
    // This check does not depend on the body, so it works even if the body cannot be read.
    if (request.is404) throw nothingThere(request, reply);
    permit(request, accessOf(request), request.principal, settings.publicUrl);
  });
  const streams = countStreams(settings);
  const meter = countRequests(app);
  parts.telemetry?.observe(figureNames, () => meter.figures(parts, streams));
  app.addHook("preClose", async () => closing.abort());
  app.addHook("onSend", async (_request, reply) => {
    if (closing.signal.aborted) reply.header("connection", "close");
  });
  const loader = createDefinitionLoader(Object.keys(settings.environment));
  app.addHook("onClose", () => loader.close());
  const handlers = makeHandlers(parts, { streams, meter, loader, closing: closing.signal });
  await registerRoutes(app, { parts, handlers, streams, closing: closing.signal });
  if (board !== null) await board.mount(app, parts);
  const underWay = countUnderWay(app.server);
  return { app, routes, close: () => closeServer(app, underWay) };
}

/** A route without an access rule is the board's, so it is for the role ops alone. */
function accessOf(request: FastifyRequest): Route["access"] {
  const { access } = request.routeOptions.config;
  if (access !== undefined) return access;
  if (request.is404) return "public";
  return request.method === "GET" || request.method === "HEAD" ? "ops:read" : "ops:write";
}

function answerProblem(parts: ApiParts, error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (hungUp(error, request)) {
    void reply.code(hungUpStatus).send();
    return;
  }
  const problem = problemOf(error, request.id);
  tellFailure(parts, error, request, problem);
  if (problem.status === 401) void reply.header("www-authenticate", 'Bearer realm="markmill"');
  // The server does not wait for the unread rest of the body.
  if (problem.status === 413 || problem.status === 415 || request.body instanceof Readable)
    void reply.header("connection", "close");
  if (problem.status === 503) void reply.header("retry-after", "2");
  if (error instanceof Refusal && error.retryAfterS !== null)
    void reply.header("retry-after", String(error.retryAfterS));
  void reply
    .code(problem.status)
    .header("cache-control", "no-store")
    .type("application/problem+json; charset=utf-8")
    .send(JSON.stringify(problem));
}
