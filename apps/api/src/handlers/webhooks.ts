/** Routes for the webhooks of a tenant and for the log of their deliveries. The supervisor sends the deliveries. */
import type { Got, Routes } from "@markmill/contract";
import type { Delivery, Webhook } from "@markmill/store";
import { cutPage } from "../cut-page.ts";
import type { Some } from "../handler.ts";
import { notFound } from "../refusal.ts";

type Names =
  | "createWebhook"
  | "listWebhooks"
  | "updateWebhook"
  | "deleteWebhook"
  | "testWebhook"
  | "listDeliveries"
  | "retryDelivery";

export function webhookHandlers(): Some<Names> {
  return {
    async createWebhook({ body, caller: { access, principal } }) {
      const { webhook, secret } = await access.webhooks.create({ ...body, createdBy: principal.actor });
      return { target: webhook.id, body: { ...presentWebhook(webhook), secret } };
    },

    async listWebhooks({ query, caller: { access } }) {
      const { items, next } = cutPage(await access.webhooks.list(), ({ id }) => id, query);
      return { body: { items: items.map(presentWebhook), next } };
    },

    async updateWebhook({ params: { id }, body: { url, events, enabled }, caller: { access } }) {
      const changed = await access.webhooks.change(id, {
        ...(url === undefined ? {} : { url }),
        ...(events === undefined ? {} : { events }),
        ...(enabled === undefined ? {} : { enabled }),
      });
      if (changed === null) throw notFound("such webhook");
      return { body: presentWebhook(changed) };
    },

    async deleteWebhook({ params: { id }, caller: { access } }) {
      if (!(await access.webhooks.delete(id))) throw notFound("such webhook");
      return {};
    },

    async testWebhook({ params: { id }, caller: { access } }) {
      const made = await access.webhooks.test(id);
      if (made === null) throw notFound("such webhook");
      return { body: presentDelivery(made) };
    },

    async listDeliveries({ params: { id }, query: { limit, cursor }, caller: { access } }) {
      const after = cursor === undefined ? {} : { after: Number(cursor) };
      const found = await access.webhooks.deliveries(id, { limit: limit + 1, ...after });
      if (found === null) throw notFound("such webhook");
      const items = found.slice(0, limit).map(presentDelivery);
      return { body: { items, next: found.length > limit ? String(items.at(-1)?.id) : null } };
    },

    async retryDelivery({ params: { id }, caller: { access } }) {
      const again = await access.webhooks.redeliver(id);
      if (again === null) throw notFound("such delivery");
      return { body: presentDelivery(again) };
    },
  };
}

function presentWebhook({ createdAt, events, ...same }: Webhook): Got<Routes["updateWebhook"]> {
  return { ...same, events: [...events], createdAt: createdAt.toISOString() };
}

function presentDelivery({ nextAt, createdAt, endedAt, ...same }: Delivery): Got<Routes["testWebhook"]> {
  return {
    ...same,
    nextAt: nextAt.toISOString(),
    createdAt: createdAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
  };
}
