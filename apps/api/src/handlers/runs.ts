import { createHash } from "node:crypto";
import { type Definition as Checked, checkStart, inputName } from "@markmill/definition";
import type { JobSpec, Limits } from "@markmill/engine";
import { defaultLimits, readArchive } from "@markmill/grading/submission";
import { presentDifference, presentDoing, presentRun, presentRunSummary, warnNoExecutor } from "@markmill/stack";
import { type Committed, type Definition, type RunDetail, StoreError, type TenantStore } from "@markmill/store";
import { cutPage } from "../cut-page.ts";
import type { Some } from "../handler.ts";
import { inTurn } from "../in-turn.ts";
import type { KnownSubmissions } from "../known-submissions.ts";
import { pageOf, pairs } from "../page.ts";
import type { ApiParts } from "../parts.ts";
import { notFound, Refusal } from "../refusal.ts";
import { shareAnswer } from "../share-answer.ts";

type Names =
  | "startRun"
  | "listRuns"
  | "getRun"
  | "listActivities"
  | "listCalls"
  | "listToolCalls"
  | "listMessages"
  | "getVariables"
  | "getHits"
  | "listChildRuns"
  | "replayRun"
  | "cancelRun"
  | "stopRun"
  | "resumeRun"
  | "retryRun"
  | "deleteRun";

interface Caps {
  readonly dollars?: number | undefined;
  readonly tokens?: number | undefined;
  readonly timeMs?: number | undefined;
  readonly steps?: number | undefined;
  readonly depth?: number | undefined;
  readonly hits?: number | undefined;
}

export function runHandlers(parts: ApiParts, submissions: KnownSubmissions): Some<Names> {
  const { enqueuer, settings, telemetry } = parts;
  const fold = inTurn(mostFolds);
  const standings = shareAnswer(() => parts.store.commandStandings(), standingsForMs);

  function enqueueFor(rootId: string, jobs: readonly JobSpec[]): void {
    if (telemetry == null) enqueuer.enqueue(jobs);
    else telemetry.enqueuing({ id: rootId, rootId }, () => enqueuer.enqueue(jobs));
  }

  /** The submission's paths: remembered from its upload, or read from the tar. */
  async function pathsOf(store: TenantStore, hash: string): Promise<readonly string[]> {
    const known = submissions.get(store.tenant, hash);
    if (known !== null && (await store.blobs.find(hash)) !== null) return known.paths;
    const tar = await store.blobs.load(hash);
    if (tar === null)
      throw new Refusal("START_REFUSED", {
        errors: [{ path: "submission", message: "The submission does not exist." }],
      });
    const { entries } = await readArchive("submission.tar", tar, defaultLimits);
    const paths = entries.filter(({ kind }) => kind !== "folder").map(({ path }) => path);
    submissions.keep(store.tenant, hash, { paths, notes: [] });
    return paths;
  }

  /** Checks a run's original input against the requirements of another definition. */
  async function checkedAnew(store: TenantStore, id: string, definition: Definition) {
    const first = (await store.runs.events(id, { limit: 1 }))?.entries[0];
    const started = first?.kind === "event" ? first.event : null;
    if (started?.type !== "run.started") throw new StoreError("STORE_BUG", `Run ${id} has no record of its start.`);
    const blob = await store.runs.submission(id);
    const files = blob === null ? null : await pathsOf(store, blob);
    return checked(definition, started.variables, Object.keys(started.environment), files);
  }

  return {
    async startRun({ body, headers, audit, caller: { store } }) {
      const definition = await store.definitions.find(body.definition);
      if (definition === null) {
        throw new Refusal("START_REFUSED", {
          errors: [{ path: "definition", message: "The definition does not exist." }],
        });
      }
      const files = body.submission === undefined ? null : await pathsOf(store, body.submission);
      const variables = { ...body.variables, ...(body.input === undefined ? {} : { [inputName]: body.input }) };
      const notes = checked(definition, variables, Object.keys(settings.environment), files);
      const warning = await warnNoExecutor([definition], standings);
      const warnings = warning === null ? [] : [warning];
      const key = headers["idempotency-key"];
      const created = await store.runs.create({
        definition,
        variables,
        environment: settings.environment,
        caps: limitsOf(body.caps),
        ...(body.patienceMs === undefined ? {} : { patienceMs: body.patienceMs }),
        labels: body.labels ?? {},
        notes: [
          ...notes,
          ...warnings,
          ...(body.submission === undefined ? [] : (submissions.get(store.tenant, body.submission)?.notes ?? [])).map(
            (message) => (typeof message === "string" ? { code: "SUBMISSION_NOTE", message } : message),
          ),
        ],
        ...(body.submission === undefined ? {} : { submission: { blob: body.submission } }),
        ...(key === undefined ? {} : { idempotencyKey: key, requestHash: hashOf(body) }),
        ...(audit === null ? {} : { audit }),
        takesTurn: true,
      });
      enqueueFor(created.runId, created.jobs);
      const { runId, created: isNew } = created;
      return {
        audited: isNew,
        status: isNew ? 201 : 200,
        target: runId,
        location: `/v1/runs/${runId}`,
        body: { id: runId, created: isNew, warnings },
      };
    },

    async listRuns({ query, caller: { store } }) {
      const { status, definition, name, label, variable, from, before, id, search, roots, limit, cursor } = query;
      const labels = pairs(label);
      const variables = pairs(variable);
      if (labels === null || variables === null) return { body: { items: [], next: null } };
      const page = await store.runs.list(
        {
          ...(status === undefined ? {} : { status }),
          ...(definition === undefined ? {} : { definitionHash: definition }),
          ...(name === undefined ? {} : { name }),
          ...(labels === undefined ? {} : { labels }),
          ...(variables === undefined ? {} : { variables }),
          ...(from === undefined ? {} : { createdFrom: new Date(from) }),
          ...(before === undefined ? {} : { createdBefore: new Date(before) }),
          ...(id === undefined ? {} : { idPart: id }),
          ...(search === undefined ? {} : { search }),
          roots,
        },
        { limit, ...(cursor === undefined ? {} : { after: cursor }) },
      );
      return { body: { items: page.runs.map(presentRunSummary), next: page.next } };
    },

    async getRun({ params: { id }, caller: { store } }) {
      const run = await find(store, id);
      const over = run.endedAt !== null;
      const [doing, waits] = await Promise.all([
        over ? [] : store.runs.doing(id),
        over ? [] : store.runs.waits([run.rootId]),
      ]);
      return { body: presentRun(run, doing.map(presentDoing), waits) };
    },

    async listActivities({ params: { id }, query, caller: { store } }) {
      await find(store, id);
      const { items, next } = await store.runs.activityPage(id, pageOf(query), mostBytes);
      return {
        body: {
          items: items.map(
            ({
              id: activityId,
              node,
              generation,
              item,
              attempt,
              kind,
              state,
              work,
              seq,
              claimedBy,
              takeovers,
              createdAt,
              endedAt,
            }) => ({
              id: activityId,
              node,
              generation,
              item,
              attempt,
              kind,
              state,
              work,
              seq,
              claimedBy,
              takeovers,
              createdAt: createdAt.toISOString(),
              endedAt: endedAt?.toISOString() ?? null,
            }),
          ),
          next,
        },
      };
    },

    async listCalls({ params: { id }, query, caller: { store } }) {
      await find(store, id);
      const { items, next } = await store.runs.callPage(id, pageOf(query), mostBytes);
      return {
        body: {
          items: items.map(({ key, attempt, model, request, reply, usage }) => ({
            activityId: key.activityId,
            callIndex: key.callIndex,
            attempt: attempt ?? 1,
            model,
            request,
            reply,
            promptTokens: usage.promptTokens,
            completionTokens: usage.completionTokens,
            nanodollars: usage.nanodollars,
          })),
          next,
        },
      };
    },

    async listToolCalls({ params: { id }, query, caller: { store } }) {
      await find(store, id);
      const { items, next } = await store.runs.toolCallPage(id, pageOf(query));
      return { body: { items: items.map((call) => ({ ...call, createdAt: call.createdAt.toISOString() })), next } };
    },

    async listMessages({ params: { id }, query, caller: { store } }) {
      await find(store, id);
      const { items, next } = await store.runs.messagePage(id, pageOf(query), mostBytes);
      return {
        body: {
          items: items.map(({ id: messageId, thread, agent, role, text, activityId, runId }) => ({
            id: messageId,
            runId,
            thread,
            agent,
            role,
            text,
            activityId,
          })),
          next,
        },
      };
    },

    async getVariables({ params: { id }, caller: { store } }) {
      const variables = await store.runs.variables(id);
      if (variables === null) throw notFound("such run");
      return { body: { variables: { ...variables } } };
    },

    async getHits({ params: { id }, caller: { store } }) {
      const hits = await store.runs.hits(id);
      if (hits === null) throw notFound("such run");
      return { body: { hits: { ...hits } } };
    },

    async listChildRuns({ params: { id }, query, caller: { store } }) {
      await find(store, id);
      const { items, next } = cutPage(await store.runs.children(id), (one) => one.id, query);
      return { body: { items: items.map(presentRunSummary), next } };
    },

    async replayRun({ params: { id }, caller: { store } }) {
      const { events, differences } = await fold(() => store.runs.replay(id));
      return {
        body: {
          events,
          identical: differences.length === 0,
          differences: differences.slice(0, 100).map(presentDifference),
        },
      };
    },

    async cancelRun({ params: { id }, body, caller: { store, principal } }) {
      await open(store, id);
      return changed(store, id, await store.runs.cancel(id, body?.message ?? `cancelled by ${principal.name}`));
    },

    async stopRun({ params: { id }, caller: { store } }) {
      const run = await open(store, id);
      requireRoot(run);
      if (run.status === "stopped") throw new Refusal("RUN_UNCHANGED", { detail: "The run is already stopped." });
      return changed(store, id, await store.runs.stop(id));
    },

    async resumeRun({ params: { id }, caller: { store } }) {
      const run = await open(store, id);
      const { runs, jobs } = await store.runs.resume(run.rootId);
      enqueuer.enqueue(jobs);
      if (runs === 0)
        throw new Refusal("RUN_UNCHANGED", {
          detail: "The run is not stopped, and no part of it waits to be resumed.",
        });
      const now = await find(store, id);
      return { body: { id, status: now.status, rev: now.rev, resumed: runs } };
    },

    async retryRun({ params: { id }, body = {}, headers, caller: { store } }) {
      const old = await find(store, id);
      requireRoot(old);
      if (old.endedAt === null && body.from === undefined) {
        throw new Refusal("RUN_OPEN", { hint: "Resume the run, or name the node to start from with `from`." });
      }
      refuseOfClass(old);
      const definition = await chosen(store, old, body.definition);
      const key = headers["idempotency-key"];
      const requestHash = hashOf({ retry: id, ...body });
      const fromStart = body.from?.[0] === "START" || (body.from === undefined && old.status === "success");
      const other = definition.hash === old.definitionHash ? null : definition;
      const notes = other === null ? [] : await checkedAnew(store, id, other);
      if (fromStart) {
        const created = await store.runs.restart({
          of: id,
          caps: limitsOf(body.caps),
          takesTurn: true,
          ...(other === null ? {} : { definition: other, notes }),
          ...(key === undefined ? {} : { key: { text: key, requestHash } }),
        });
        enqueueFor(created.runId, created.jobs);
        return retried(created.runId, created.created, ["START"]);
      }
      const forked = await store.runs.fork({
        of: id,
        from: body.from ?? null,
        caps: limitsOf(body.caps),
        ...(other === null ? {} : { definition: other }),
        ...(key === undefined ? {} : { key: { text: key, requestHash } }),
      });
      enqueueFor(forked.runId, forked.jobs);
      return retried(forked.runId, forked.created, [...forked.from]);
    },

    async deleteRun({ params: { id }, caller: { store } }) {
      if (!(await store.runs.delete(id))) throw notFound("such run");
      return {};
    },
  };

  async function changed(store: TenantStore, id: string, committed: Committed) {
    enqueuer.enqueue(committed.jobs);
    const run = await find(store, id);
    if (committed.kind !== "committed") throw new Refusal(run.endedAt === null ? "RUN_UNCHANGED" : "RUN_ENDED");
    return { body: { id, status: run.status, rev: run.rev } };
  }
}

/** The number of replays that may wait for the current one. */
const mostFolds = 20;
const standingsForMs = 1_000;
/** The size limit of a page. */
const mostBytes = 32 * 1024 * 1024;

function retried(id: string, created: boolean, from: (string | null)[]) {
  return { status: created ? 201 : 200, target: id, location: `/v1/runs/${id}`, body: { id, created, from } };
}

async function find(store: TenantStore, id: string): Promise<RunDetail> {
  const run = await store.runs.get(id);
  if (run === null) throw notFound("such run");
  return run;
}

async function open(store: TenantStore, id: string): Promise<RunDetail> {
  const run = await find(store, id);
  if (run.endedAt !== null) throw new Refusal("RUN_ENDED", { detail: `The run ended as ${run.status}.` });
  return run;
}

function requireRoot(run: RunDetail): void {
  if (run.rootId !== run.id) throw new Refusal("RUN_NOT_ROOT", { hint: `Name the run that called it: ${run.rootId}.` });
}

/**
 * The grade of a new run from it would not count. The scheduling of submissions writes into the options whose submission a run grades
 * (admit.ts in the store).
 */
function refuseOfClass({ options }: RunDetail): void {
  const { grading } = (options ?? {}) as { readonly grading?: { readonly batch?: unknown } };
  if (typeof grading?.batch !== "string") return;
  throw new Refusal("RUN_OF_CLASS", {
    detail: "A new run from it could not change the grade in the class.",
    hint: `POST /v1/batches/${grading.batch}/retry retries failed submissions, …/regrade grades submissions again.`,
  });
}

/** Returns warnings for the run's record. Throws if something is missing. */
export function checked(
  definition: Definition,
  variables: Readonly<Record<string, string>>,
  environment: readonly string[],
  submission: readonly string[] | null,
) {
  // The check reads only the programs and the root, which both forms of a definition have.
  const found = checkStart(definition as unknown as Checked, { variables, environment, submission });
  const errors = found.filter(({ severity }) => severity === "error");
  if (errors.length > 0) {
    throw new Refusal("START_REFUSED", {
      detail: errors[0]?.message ?? "",
      errors: errors.map(({ code, message, fix }) => ({
        path: code.startsWith("PARAM") ? "variables" : "submission",
        code,
        message,
        hint: fix,
      })),
    });
  }
  return found.map(({ code, message }) => ({ code, message }));
}

async function chosen(store: TenantStore, old: RunDetail, wanted: string | undefined): Promise<Definition> {
  const own = await store.definitions.find(old.definitionHash);
  if (own === null) throw notFound("definition of this run any more");
  if (wanted === undefined || wanted === "same") return own;
  const hash =
    wanted === "current"
      ? (await store.definitions.versions(own.name)).find(({ root }) => root === own.root)?.hash
      : wanted;
  const found = hash === undefined ? null : await store.definitions.find(hash);
  if (found === null)
    throw new Refusal("START_REFUSED", { errors: [{ path: "definition", message: "The definition does not exist." }] });
  return found;
}

export function limitsOf(caps: Caps = {}): Partial<Limits> {
  const { dollars, tokens, timeMs, steps, depth, hits } = caps;
  return {
    ...(dollars === undefined ? {} : { nanodollars: Math.round(dollars * 1e9) }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(timeMs === undefined ? {} : { timeMs }),
    ...(steps === undefined ? {} : { steps }),
    ...(depth === undefined ? {} : { depth }),
    ...(hits === undefined ? {} : { hits }),
  };
}

/** Equal requests have the same hash, whatever the order of their fields. */
function hashOf(body: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(ordered(body)))
    .digest("hex");
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, inner]) => [name, ordered(inner)]);
}
