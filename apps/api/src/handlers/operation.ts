import { openapiDocument } from "@markmill/contract";
import { sandboxTrouble } from "@markmill/stack";
import type { Streams } from "../count-streams.ts";
import { cutPage } from "../cut-page.ts";
import { docsPage } from "../docs-page.ts";
import type { Some } from "../handler.ts";
import type { Meter } from "../metrics.ts";
import { pairs, placeOf } from "../page.ts";
import type { ApiParts } from "../parts.ts";
import { Refusal } from "../refusal.ts";
import { shareAnswer } from "../share-answer.ts";

type Names =
  | "listModels"
  | "getUsage"
  | "listWorkers"
  | "listQueues"
  | "getMetrics"
  | "getLive"
  | "getReady"
  | "getOpenapi"
  | "getDocs";

const silentMs = 10_000;
/** A database that says nothing for so long is away. */
const readyMs = 3_000;
const readyForMs = 1_000;
const unknownSandbox = {
  code: "STORE_UNREACHABLE",
  means: "The database does not say whether a worker can execute commands.",
  fix: "See to the database first.",
};

export function operationHandlers(
  parts: ApiParts,
  watched: { readonly streams: Streams; readonly meter: Meter },
): Some<Names> {
  const { store, bell, catalogue, settings, version } = parts;
  const document = openapiDocument(version);
  const text = JSON.stringify(document);
  const docs = docsPage(document);
  async function livingWorkers() {
    const now = store.clock.now();
    return (await store.workers()).filter(({ heartbeatAt }) => now - heartbeatAt.getTime() < silentMs);
  }

  /** Commands of workflows. Not needed: the API serves without (sandbox-health.ts says why). */
  async function sandboxNow() {
    let trouble: ReturnType<typeof sandboxTrouble> = unknownSandbox;
    const look = store.commandStandings().then((standings) => {
      trouble = sandboxTrouble(standings);
    });
    await within(look, readyMs);
    return { ok: trouble === null, needed: false, ...trouble };
  }

  // Anybody may ask, as often as they like.
  const readiness = shareAnswer(async () => {
    const [database, queue, workers, sandbox] = await Promise.all([
      within(store.about(), readyMs),
      within(
        bell.counts().then((counts) => counts ?? Promise.reject(new Error("away"))),
        readyMs,
      ),
      within(
        livingWorkers().then((living) => (living.length === 0 ? Promise.reject(new Error("none")) : living)),
        readyMs,
      ),
      sandboxNow(),
    ]);
    return { database, queue, workers, sandbox };
  }, readyForMs);
  return {
    async listModels({ query, caller }) {
      const aliases = Map.groupBy(catalogue.aliases, ([, name]) => name);
      const pauses = await caller.store.models.pauses();
      const { items, next } = cutPage([...catalogue.models.values()], ({ name }) => name, query);
      return {
        body: {
          ...{ default: settings.defaultModel, next },
          items: items.map((model) => ({
            ...{
              name: model.name,
              aliases: (aliases.get(model.name) ?? []).map(([alias]) => alias),
              priced: model.priced,
            },
            ...{ promptPrice: Math.round(model.promptPrice), completionPrice: Math.round(model.completionPrice) },
            ...{ contextTokens: model.contextTokens, maxOutputTokens: model.maxOutputTokens },
            requestsPerMinute: model.limits.requestsPerMinute ?? null,
            tokensPerMinute: model.limits.tokensPerMinute ?? null,
          })),
          pauses: pauses.map(({ model, reason, since, until }) => ({
            ...{ model, reason, since: since.toISOString(), until: until.toISOString() },
          })),
        },
      };
    },

    async getUsage({ query: { by, key, label, definition, model, run, from, before, limit, cursor }, caller }) {
      if (by === "label" && key === undefined) {
        throw new Refusal("INVALID", {
          errors: [{ path: "query.key", message: "by=label needs the label's name as key" }],
        });
      }
      const labels = pairs(label);
      if (labels === null) return { body: { by, items: [], next: null } };
      const begin = placeOf(cursor);
      const lines = await caller.store.usage.by(
        by === "label" ? { kind: by, name: key ?? "" } : { kind: by },
        {
          ...(from === undefined ? {} : { from: new Date(from) }),
          ...(before === undefined ? {} : { before: new Date(before) }),
          ...(definition === undefined ? {} : { definitionHash: definition }),
          ...(model === undefined ? {} : { model }),
          ...(labels === undefined ? {} : { labels }),
          ...(run === undefined ? {} : { rootId: run }),
        },
        begin + limit + 1,
      );
      const items = lines
        .slice(begin, begin + limit)
        .map(({ key: of, runs, calls, promptTokens, completionTokens, nanodollars, unsure }) => ({
          ...{ key: of, runs, calls, promptTokens, completionTokens, nanodollars },
          ...(unsure === undefined ? {} : { unsure: { ...unsure } }),
        }));
      return { body: { by, items, next: lines.length > begin + limit ? String(begin + limit) : null } };
    },

    async listWorkers({ query }) {
      const now = store.clock.now();
      const page = cutPage(await store.workers(), ({ id }) => id, query);
      const items = page.items.map(({ id, host, info, startedAt, heartbeatAt }) => ({
        ...{ id, host, info, startedAt: startedAt.toISOString(), heartbeatAt: heartbeatAt.toISOString() },
        alive: now - heartbeatAt.getTime() < silentMs,
      }));
      return { body: { items, next: page.next } };
    },

    async listQueues({ query }) {
      const counts = await bell.counts();
      const all = Object.entries(counts ?? {}).map(([name, of]) => ({ name, counts: { ...of } }));
      return { body: { reachable: counts !== null, ...cutPage(all, ({ name }) => name, query) } };
    },

    getMetrics: async () => ({ text: await watched.meter.write(parts, watched.streams) }),
    getLive: async () => ({ body: { ok: true, checks: {}, version } }),

    async getReady() {
      const { database, queue, workers, sandbox } = await readiness();
      const word = (ok: boolean) => (ok ? ("ok" as const) : ("away" as const));
      return {
        status: database ? 200 : 503,
        body: {
          ok: database,
          checks: { database: word(database), queue: word(queue), workers: word(workers) },
          components: { sandbox },
          version,
        },
      };
    },

    getOpenapi: async () => ({ text }),
    getDocs: async () => ({ text: docs.html, contentPolicy: docs.contentPolicy }),
  };
}

async function within(asked: Promise<unknown>, ms: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), ms);
  asked.then(
    () => resolve(true),
    () => resolve(false),
  );
  return promise.finally(() => clearTimeout(timer));
}
