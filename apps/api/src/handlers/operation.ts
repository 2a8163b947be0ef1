import { openapiDocument } from "@markmill/contract";
import {
  databaseHealth,
  type HealthComponent,
  liveAnswer,
  lookAfter,
  queueHealth,
  sandboxTrouble,
  troubleOf,
} from "@markmill/stack";
import type { Streams } from "../count-streams.ts";
import { cutPage } from "../cut-page.ts";
import { docsPage } from "../docs-page.ts";
import type { Some } from "../handler.ts";
import type { Meter } from "../metrics.ts";
import { pairs, placeOf } from "../page.ts";
import type { ApiParts } from "../parts.ts";
import { Refusal } from "../refusal.ts";

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

export function operationHandlers(
  parts: ApiParts,
  watched: { readonly streams: Streams; readonly meter: Meter; readonly closing: AbortSignal },
): Some<Names> {
  const { store, enqueuer, catalogue, settings, version } = parts;
  const document = openapiDocument(version);
  const text = JSON.stringify(document);
  const docs = docsPage(document);
  const itself: HealthComponent = {
    name: "process",
    needed: true,
    silence: troubleOf("HEALTH_SILENT"),
    look: () => (watched.closing.aborted ? troubleOf("PROCESS_STOPPING") : null),
  };
  const workers: HealthComponent = {
    name: "workers",
    needed: false,
    silence: troubleOf("HEALTH_SILENT"),
    async look() {
      const living = (await store.workers()).filter(({ alive }) => alive);
      return living.length === 0 ? troubleOf("WORKERS_NONE") : null;
    },
  };
  const sandbox: HealthComponent = {
    name: "sandbox",
    needed: false,
    silence: troubleOf("HEALTH_SILENT"),
    look: async () => sandboxTrouble(await store.commandStandings()),
  };
  const ready = lookAfter(() => [itself, databaseHealth(store), queueHealth(enqueuer, false), workers, sandbox]);
  return {
    async listModels({ query, caller }) {
      const aliases = Map.groupBy(catalogue.aliases, ([, name]) => name);
      const pauses = await caller.store.models.pauses();
      const { items, next } = cutPage([...catalogue.models.values()], ({ name }) => name, query);
      return {
        body: {
          default: settings.defaultModel,
          next,
          items: items.map((model) => ({
            name: model.name,
            aliases: (aliases.get(model.name) ?? []).map(([alias]) => alias),
            priced: model.priced,
            promptPrice: Math.round(model.promptPrice),
            completionPrice: Math.round(model.completionPrice),
            contextTokens: model.contextTokens,
            maxOutputTokens: model.maxOutputTokens,
            requestsPerMinute: model.limits.requestsPerMinute ?? null,
            tokensPerMinute: model.limits.tokensPerMinute ?? null,
          })),
          pauses: pauses.map(({ model, reason, since, until }) => ({
            model,
            reason,
            since: since.toISOString(),
            until: until.toISOString(),
          })),
        },
      };
    },

    async getUsage({ query: { by, key, label, definition, model, run, from, before, limit, cursor }, caller }) {
      if (by === "label" && key === undefined) {
        throw new Refusal("INVALID", {
          errors: [{ path: "query.key", message: "by=label needs the parameter key with the name of the label" }],
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
        { limit: limit + 1, skip: begin },
      );
      const items = lines
        .slice(0, limit)
        .map(({ key: of, runs, calls, promptTokens, completionTokens, nanodollars, unsure }) => ({
          key: of,
          runs,
          calls,
          promptTokens,
          completionTokens,
          nanodollars,
          ...(unsure === undefined ? {} : { unsure: { ...unsure } }),
        }));
      return { body: { by, items, next: lines.length > limit ? String(begin + limit) : null } };
    },

    async listWorkers({ query }) {
      const page = cutPage(await store.workers(), ({ id }) => id, query);
      const items = page.items.map(({ id, host, info, startedAt, heartbeatAt, alive }) => ({
        id,
        host,
        info,
        startedAt: startedAt.toISOString(),
        heartbeatAt: heartbeatAt.toISOString(),
        alive,
      }));
      return { body: { items, next: page.next } };
    },

    async listQueues({ query }) {
      const counts = await enqueuer.counts();
      const all = Object.entries(counts ?? {}).map(([name, of]) => ({ name, counts: { ...of } }));
      return { body: { reachable: counts !== null, ...cutPage(all, ({ name }) => name, query) } };
    },

    getMetrics: async () => ({ text: await watched.meter.write(parts, watched.streams) }),
    getLive: async () => ({ body: { ...liveAnswer, version } }),

    async getReady() {
      const answer = await ready();
      return { status: answer.ok ? 200 : 503, body: { ...answer, version } };
    },

    getOpenapi: async () => ({ text }),
    getDocs: async () => ({ text: docs.html, contentPolicy: docs.contentPolicy }),
  };
}
