/**
 * Mounts Bull Board below `boardPath` of the same server, behind the same login. A route outside the contract is for the role ops alone
 * (create-api.ts, accessOf): ops:read for GET requests, ops:write for all others, with the same protection of cookies.
 *
 * B1  The board shows ids, nodes and workflow files of all tenants: no names, labels, texts or messages of people. The role ops belongs to
 *     the installation. The run behind a job is a link into the API, which checks its own rights.
 * B2  It changes data only if allowed (BOARD_WRITES), and then only through the actions in `changes`, each of which is recorded in the
 *     audit log. No action can lose work: Postgres is the truth, and jobs that are removed from a queue are enqueued again.
 * B3  A link from a run to the board is `/board/runs/ID`.
 */
import { createBullBoard } from "@bull-board/api";
import { FastifyAdapter } from "@bull-board/fastify";
import { queueNames } from "@markmill/engine";
import type { Queues } from "@markmill/queue";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { hungUp, hungUpStatus } from "../hung-up.ts";
import { noteRefused } from "../note-refused.ts";
import type { ApiParts } from "../parts.ts";
import { problemOf, statusOf } from "../problem-of.ts";
import { notFound, Refusal } from "../refusal.ts";
import { tellFailure } from "../tell-failure.ts";
import { readHistory } from "./board-history.ts";
import { runJobId } from "./board-job.ts";
import { BoardQueue } from "./board-queue.ts";
import { ownLinksOnly } from "./own-links-only.ts";
import { signInPage, signInPolicy } from "./sign-in-page.ts";

const boardPath = "/board";

/** The board is a separate page with its own scripts and styles. */
const boardContentPolicy =
  "default-src 'self'; img-src 'self' data:; font-src 'self' data:; style-src 'self' 'unsafe-inline'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'";

/** B2: paths below /board/api/queues. */
const changes = [
  /^\/(pause|resume)$/,
  /^\/[^/]+\/(pause|resume|promote|empty)$/,
  /^\/[^/]+\/clean\/[^/]+$/,
  /^\/[^/]+\/[^/]+\/(promote|clean)$/,
];

export interface Board {
  mount(app: FastifyInstance, parts: ApiParts): Promise<void>;
}

export interface BoardOptions {
  readonly queues: Pick<Queues, "watch">;
  /** See B2 in the file header. */
  readonly writes: boolean;
}

export function createBoard({ queues, writes }: BoardOptions): Board {
  return {
    async mount(app, parts) {
      const history = readHistory(parts.store);
      const runUrl = (runId: string) => `/v1/runs/${runId}`;
      const server = new FastifyAdapter();
      server.setBasePath(boardPath);
      createBullBoard({
        queues: queueNames.map((name) => new BoardQueue({ name, queues, history, writes, runUrl })),
        serverAdapter: server,
        options: {
          uiConfig: {
            boardTitle: "Markmill",
            hideRedisDetails: true,
            hideDocsLink: true,
            miscLinks: [{ text: "API", url: "/docs" }],
            ...(writes ? {} : { environment: { label: "read-only", color: "#5b6675", textColor: "#ffffff" } }),
          },
        },
      });
      await app.register(
        async (scope) => {
          // A refusal has the same form as in the rest of the API, instead of Bull Board's error.
          scope.addHook("onRoute", (route) => {
            route.errorHandler = (error, request, reply) => {
              const path = pathOfChange(request);
              if (path !== null) noteRefused(parts, request, statusOf(error, request), "board", path);
              answerRefused(parts, error, request, reply);
            };
          });
          scope.addHook("preHandler", async (request, reply) => {
            void reply
              .header("content-security-policy", boardContentPolicy)
              .header("cache-control", "private, no-cache");
            if (request.method !== "GET" && request.method !== "HEAD") await changing(request, parts, writes);
          });
          scope.addHook("onSend", async (_request, reply, payload) => {
            const isPage = String(reply.getHeader("content-type")).startsWith("text/html");
            return isPage && typeof payload === "string" ? ownLinksOnly(payload) : payload;
          });
          scope.addHook("onResponse", async (request, reply) => {
            const { boardChange } = request as Changing;
            if (boardChange !== undefined) await parts.access.log.done(boardChange, reply.statusCode);
          });
          scope.get<{ Params: { id: string } }>("/runs/:id", async (request, reply) => {
            const run = /^[0-9a-f-]{36}$/.test(request.params.id) ? await history.tree(request.params.id) : null;
            const root = run?.runs[0];
            if (root === undefined) throw notFound("such run");
            return reply.redirect(`${boardPath}/queue/control/${runJobId(root.id)}`, 303);
          });
          await scope.register(server.registerPlugin());
        },
        { prefix: boardPath },
      );
      // B3: adds the link to the answer for a run.
      app.addHook("onSend", async (request, reply) => {
        const { contract } = request.routeOptions.config;
        if (contract !== "getRun" || reply.statusCode !== 200) return;
        const { id } = request.params as { readonly id: string };
        void reply.header("link", `<${boardPath}/runs/${id}>; rel="monitor"; title="board"`);
      });
    },
  };
}

interface Changing extends FastifyRequest {
  /** The number of its entry in the audit log. */
  boardChange?: number;
}

/** null: the request changes nothing. */
function pathOfChange({ method, url }: FastifyRequest): string | null {
  if (method === "GET" || method === "HEAD") return null;
  return (url.split("?")[0] ?? "").slice(`${boardPath}/api/queues`.length).slice(0, 200);
}

async function changing(request: Changing, parts: ApiParts, writes: boolean): Promise<void> {
  const path = pathOfChange(request) ?? "";
  if (!writes) {
    throw new Refusal("FORBIDDEN", {
      detail: "The board is read-only.",
      hint: "Set BOARD_WRITES=yes to let people with the role ops pause queues and remove jobs.",
    });
  }
  if (!changes.some((one) => one.test(path))) {
    throw new Refusal("FORBIDDEN", {
      detail: "The board does not support this action.",
      hint: "Start, stop and retry runs with the API.",
    });
  }
  const { principal } = request;
  if (principal === null) return;
  request.audited = true;
  request.boardChange = await parts.access.log.asked({
    tenant: principal.tenant,
    actor: principal.actor,
    actorName: principal.name,
    action: "board",
    target: path,
    requestId: request.id,
    address: request.address,
    details: {},
  });
}

function answerRefused(parts: ApiParts, error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  if (hungUp(error, request)) {
    void reply.code(hungUpStatus).send();
    return;
  }
  const problem = problemOf(error, request.id);
  tellFailure(parts, error, request, problem);
  void reply.code(problem.status).header("cache-control", "no-store");
  const asksForPage = request.method === "GET" && (request.headers.accept ?? "").includes("text/html");
  if (problem.status === 401 && asksForPage) {
    void reply.header("content-security-policy", signInPolicy).type("text/html; charset=utf-8").send(signInPage);
    return;
  }
  if (problem.status === 401) void reply.header("www-authenticate", 'Bearer realm="markmill"');
  void reply.type("application/problem+json; charset=utf-8").send(JSON.stringify(problem));
}
