/**
 * Gives a tenant's store behind a server the interface of `store.as(tenant)`, over HTTP. Commands do not know which of the two they use.
 * The server enqueues all jobs.
 */
import { ApiProblem, type Client, type Got, type Routes } from "@markmill/contract";
import type { Event, Failure, Parked, Program, Work, WorkKind } from "@markmill/engine";
import type {
  Definition,
  HistoryActivity,
  HistoryEntry,
  NewRun,
  RunDetail,
  RunFilter,
  RunSummary,
  Spent,
  TenantStore,
  Wait,
} from "@markmill/store";
import { remoteBatches } from "./remote-batches.ts";
import { everyPage, toCaps, unless404 } from "./remote-values.ts";
import { readRunOptions } from "./run-options.ts";
import type { StackLog } from "./stack-log.ts";

type RemoteSummary = Got<Routes["listRuns"]>["items"][number];
type RemoteActivity = Got<Routes["listActivities"]>["items"][number];
type RemoteEvent = Got<Routes["listEvents"]>["items"][number];

const page = 200;
const nothing: readonly never[] = [];

export function remoteStore(client: Client, log: StackLog): TenantStore {
  const definitions = new Map<string, Definition>();

  async function findDefinition(hash: string): Promise<Definition | null> {
    const known = definitions.get(hash);
    if (known !== undefined) return known;
    return await unless404(async () => {
      const params = { hash };
      const [facts, { files }] = await Promise.all([
        client.getDefinition({ params }),
        client.getDefinitionSource({ params }),
      ]);
      const programs = await Promise.all(
        facts.programs.map(async (path) => {
          const { program } = await client.getDefinitionProgram({ params, query: { path } });
          return [path, program as unknown as Program] as const;
        }),
      );
      const { dialect, name, root } = facts;
      const found: Definition = { hash, dialect, name, root, programs: Object.fromEntries(programs), files };
      definitions.set(hash, found);
      return found;
    });
  }

  /** A client without the right to upload definitions can still run existing ones. */
  async function upload({ hash, root, files }: Definition): Promise<string> {
    const known = await unless404(() => client.getDefinition({ params: { hash } }));
    return (known ?? (await client.saveDefinition({ body: { root, files: { ...files } } }))).hash;
  }

  /** Reports local settings that only have an effect on the machine that does the work. */
  function tellUnsent({ options, environment }: Pick<NewRun, "options" | "environment">): void {
    const asked = readRunOptions(options ?? null);
    const model = asked?.defaultModel ?? null;
    if (model !== null) log.warn({}, `DEFAULT_MODEL=${model} has no effect on the server; pass --model`);
    if (asked !== null && asked.sandbox !== "auto") {
      log.warn({}, `SANDBOX=${asked.sandbox} has no effect on the server, which uses its own sandbox`);
    }
    const names = Object.keys(environment ?? {});
    if (names.length > 0) {
      log.warn({}, `${names.join(", ")} of this environment has no effect: the server uses its own variables`);
    }
  }

  async function history(id: string, after = 0) {
    const params = { id };
    const entries: HistoryEntry[] = [];
    for (let last = after; ; ) {
      const found = await client.listEvents({ params, query: { after: last, limit: page } });
      for (const event of found.items) entries.push(...toEntries(event));
      last = found.last;
      if (found.items.length === 0 || last >= found.rev) break;
    }
    return { entries, activities: (await activities(id)).filter(({ seq }) => seq === null || seq > after) };
  }

  async function activities(id: string): Promise<HistoryActivity[]> {
    const items = await everyPage((query) => client.listActivities({ params: { id }, query }));
    return items.map(toActivity);
  }

  async function details(id: string): Promise<RunDetail | null> {
    return await unless404(async () => {
      const params = { id };
      const [run, { variables }, { hits }] = await Promise.all([
        client.getRun({ params }),
        client.getVariables({ params }),
        client.getHits({ params }),
      ]);
      return { ...toSummary(run), result: run.result, variables, hits };
    });
  }

  async function waits(rootIds: readonly string[]): Promise<readonly Wait[]> {
    const found = await Promise.all(rootIds.map((id) => client.getRun({ params: { id } })));
    return found.flatMap((run) =>
      run.waits.map(({ runId, node, failure, since, tries, trouble, held, nextTry }) => ({
        rootId: run.rootId,
        runId,
        node,
        nextTry: nextTry === null ? null : new Date(nextTry),
        parked: { failure: failure as unknown as Failure, since: Date.parse(since), tries, trouble, held } as Parked,
      })),
    );
  }

  const remote: Partial<TenantStore> & Pick<TenantStore, "tenant"> = {
    tenant: "remote",
    definitions: {
      save: async (definition) => void (await upload(definition)),
      find: findDefinition,
      list: () => refuse("listing definitions"),
      versions: () => refuse("listing versions"),
      source: async (hash) => (await findDefinition(hash))?.files ?? null,
    },
    runs: {
      async create(request) {
        const { definition, variables, caps, labels, patienceMs, submission, idempotencyKey } = request;
        tellUnsent(request);
        const hash = await upload(definition);
        const blob = (submission as { readonly blob?: string } | undefined)?.blob;
        const { id, created } = await client.startRun({
          ...(idempotencyKey === undefined ? {} : { headers: { "idempotency-key": idempotencyKey } }),
          body: {
            definition: hash,
            variables: { ...variables },
            caps: toCaps(caps),
            labels: { ...labels },
            ...(patienceMs === undefined ? {} : { patienceMs }),
            ...(blob === undefined ? {} : { submission: blob }),
          },
        });
        return { runId: id, created, jobs: nothing };
      },
      get: details,
      async list(filter = {}, { after, limit = 50 } = {}) {
        const query = toRunQuery(filter);
        const runs: RunSummary[] = [];
        for (let cursor = after ?? null; ; ) {
          const { items, next } = await client.listRuns({
            query: {
              ...query,
              limit: Math.min(limit - runs.length, page),
              ...(cursor === null ? {} : { cursor }),
            },
          });
          runs.push(...items.map(toSummary));
          if (next === null || runs.length >= limit) return { runs, next };
          cursor = next;
        }
      },
      children: async (id) =>
        (await everyPage((query) => client.listChildRuns({ params: { id }, query }))).map(toSummary),
      history,
      events: () => refuse("events"),
      activities,
      doing: async (id) => (await activities(id)).filter(({ seq }) => seq === null),
      calls: async (id) =>
        (await everyPage((query) => client.listCalls({ params: { id }, query }))).map((call) => ({
          key: { activityId: call.activityId, callIndex: call.callIndex, requestHash: "" },
          attempt: call.attempt,
          model: call.model,
          request: call.request as never,
          reply: call.reply as never,
          usage: {
            promptTokens: call.promptTokens,
            completionTokens: call.completionTokens,
            nanodollars: call.nanodollars,
            characters: 0,
          },
        })),
      toolCalls: async (id) =>
        (await everyPage((query) => client.listToolCalls({ params: { id }, query }))).map((call) => ({
          ...call,
          createdAt: new Date(call.createdAt),
        })),
      threads: () => refuse("threads"),
      messages: () => refuse("messages"),
      activityPage: () => refuse("a page of activities"),
      callPage: () => refuse("a page of calls"),
      toolCallPage: () => refuse("a page of tool calls"),
      messagePage: () => refuse("a page of messages"),
      variables: async (id) => (await details(id))?.variables ?? null,
      hits: async (id) => (await details(id))?.hits ?? null,
      waits,
      // The server folds the events, because it sends the environment of the run to no client.
      async replay(id) {
        const { events, differences } = await client.replayRun({ params: { id } });
        return { events, differences };
      },
      submission: () => refuse("the hash of a submission"),
      spent: async (id) => (await client.getRun({ params: { id } })).spent as unknown as Spent,
      charges: () => refuse("the account"),
      cancel: (id, message) => changing(() => client.cancelRun({ params: { id }, body: { message } })),
      stop: (id) => changing(() => client.stopRun({ params: { id } })),
      async resume(id) {
        const runs = await client.resumeRun({ params: { id } }).then(
          ({ resumed }) => resumed,
          (error: unknown) => (isUnchanged(error) ? 0 : Promise.reject(error)),
        );
        return { runs, jobs: nothing };
      },
      async fork({ of, from, caps, definition }) {
        const made = await client.retryRun({
          params: { id: of },
          body: {
            caps: toCaps(caps),
            ...(from === null ? {} : { from: [...from] }),
            ...(definition === undefined ? {} : { definition: await upload(definition) }),
          },
        });
        return { runId: made.id, created: made.created, from: made.from, jobs: nothing };
      },
      async restart({ of, caps, definition }) {
        const { id, created } = await client.retryRun({
          params: { id: of },
          body: {
            from: ["START"],
            caps: toCaps(caps),
            ...(definition === undefined ? {} : { definition: await upload(definition) }),
          },
        });
        return { runId: id, created, jobs: nothing };
      },
      async delete(id) {
        const gone = await unless404(async () => {
          await client.deleteRun({ params: { id } });
          return true;
        });
        return gone ?? false;
      },
    },
    asks: {
      async list(rootId = null, limit = page) {
        const { items } = await client.listAsks({
          query: { limit: Math.min(limit, page), ...(rootId === null ? {} : { run: rootId }) },
        });
        return items.map(({ id, createdAt, expiresAt, ...ask }) => ({
          ...ask,
          activityId: id,
          createdAt: new Date(createdAt),
          expiresAt: expiresAt === null ? null : new Date(expiresAt),
        }));
      },
      below: () => refuse("listing the questions below a run"),
      find: () => refuse("looking for a question"),
      answer: (id, text) => changing(() => client.answerAsk({ params: { id }, body: { text } })),
    },
    memory: {
      async scopes(request) {
        const { items, next } = await client.listMemoryScopes({ query: queryOf(request) });
        return {
          items: items.map((one) => ({ ...one, firstAt: new Date(one.firstAt), lastAt: new Date(one.lastAt) })),
          next,
        };
      },
      async passages(name, request) {
        const found = await unless404(() => client.listPassages({ params: { name }, query: queryOf(request) }));
        const { items, next } = found ?? { items: [], next: null };
        return { items: items.map((one) => ({ ...one, createdAt: new Date(one.createdAt) })), next };
      },
      async delete(name) {
        const gone = await unless404(async () => {
          await client.deleteMemoryScope({ params: { name } });
          return true;
        });
        return gone ?? false;
      },
    },
    models: {
      pauses: async () =>
        (await client.listModels()).pauses.map(({ model, reason, since, until }) => ({
          endpoint: "",
          model,
          reason,
          refusals: 1,
          since: new Date(since),
          until: new Date(until),
          forMs: Math.max(0, Date.parse(until) - Date.now()),
        })),
    },
  };
  const batches = remoteBatches(client, { upload, tellUnsent });
  const blobs: Pick<TenantStore["blobs"], "save"> = {
    async save(content) {
      if (!(content instanceof Uint8Array)) return await refuse("a stream of bytes");
      const { hash, size } = await client.uploadFile({ body: content });
      return { hash, size, createdAt: new Date() };
    },
  };
  // No command uses the parts that are missing here (budgets, usage, reading blobs).
  return { ...remote, blobs, batches } as unknown as TenantStore;
}

function queryOf({ after, limit = page }: { readonly after?: string; readonly limit?: number } = {}) {
  return { limit, ...(after === undefined ? {} : { cursor: after }) };
}

/** Returns false, as the store does, if the run had already been changed or had ended. */
async function changing(act: () => Promise<unknown>) {
  try {
    await act();
    return { kind: "committed", jobs: nothing } as never;
  } catch (error) {
    if (isUnchanged(error)) return { kind: "dropped", jobs: nothing } as never;
    throw error;
  }
}

function isUnchanged(error: unknown): boolean {
  return error instanceof ApiProblem && ["RUN_ENDED", "RUN_UNCHANGED", "ASK_CLOSED"].includes(error.code);
}

function refuse(what: string, why = `The server does not support ${what} yet.`): Promise<never> {
  return Promise.reject(
    new ApiProblem({
      type: "about:blank",
      title: "Not over HTTP",
      status: 0,
      code: "NOT_OVER_HTTP",
      detail: why,
      hint: "Run the command on the machine with the database, without MARKMILL_URL.",
    }),
  );
}

function toRunQuery(filter: RunFilter) {
  const {
    status,
    definitionHash,
    name,
    labels,
    variables,
    createdFrom,
    createdBefore,
    idPart,
    search,
    roots = false,
  } = filter;
  const pairs = (record: Readonly<Record<string, string>>) =>
    Object.entries(record).map(([key, value]) => `${key}=${value}`);
  return {
    ...(status === undefined ? {} : { status: [...status] }),
    ...(definitionHash === undefined ? {} : { definition: definitionHash }),
    ...(name === undefined ? {} : { name }),
    ...(labels === undefined ? {} : { label: pairs(labels) }),
    ...(variables === undefined ? {} : { variable: pairs(variables) }),
    ...(createdFrom === undefined ? {} : { from: createdFrom.toISOString() }),
    ...(createdBefore === undefined ? {} : { before: createdBefore.toISOString() }),
    ...(idPart === undefined ? {} : { id: idPart }),
    ...(search === undefined ? {} : { search }),
    roots,
  };
}

function toSummary(run: RemoteSummary): RunSummary {
  const { definition, createdAt, endedAt, deadline, spent, reason, ...same } = run;
  return {
    ...same,
    epoch: 0,
    definitionHash: definition,
    spent: { ...spent, steps: spent.steps ?? 0 } as RunSummary["spent"],
    reason: reason as unknown as Failure | null,
    result: null,
    options: {},
    createdAt: new Date(createdAt),
    endedAt: endedAt === null ? null : new Date(endedAt),
    deadline: deadline === null ? null : new Date(deadline),
  };
}

function toEntries({ seq, at, body, warnings }: RemoteEvent): HistoryEntry[] {
  const time = new Date(at);
  return [
    { kind: "event", seq, at: time, event: body as unknown as Event },
    ...warnings.map((warning): HistoryEntry => ({ kind: "warning", seq, at: time, warning })),
  ];
}

function toActivity({ work, kind, createdAt, endedAt, ...same }: RemoteActivity): HistoryActivity {
  return {
    ...same,
    kind: kind as WorkKind,
    work: work as Work,
    createdAt: new Date(createdAt),
    endedAt: endedAt === null ? null : new Date(endedAt),
  };
}
