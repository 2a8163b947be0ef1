import { z } from "zod";
import { batchSummary } from "./batch-schemas.ts";
import { named } from "./named.ts";
import { ask, run } from "./run-schemas.ts";
import { count, limit, page, runId, time, whole } from "./values.ts";

const webhookId = z.string().regex(/^[0-9a-f]{20}$/);
export const webhookParams = z.object({ id: webhookId.describe("the id of a webhook") });
export const deliveryParams = z.object({
  id: whole(1, Number.MAX_SAFE_INTEGER).describe("the id of a delivery"),
});

const webhookEvent = named(
  "WebhookEvent",
  z
    .enum(["run.ended", "batch.ended", "ask.opened", "grade.released"])
    .describe(
      "run.ended: only for runs that no other run called; batch.ended: each time the last submission of the batch ends",
    ),
);
const events = z.array(webhookEvent).min(1).max(4).describe("the events that the webhook receives");
const url = z
  .url({ protocol: /^https?$/, error: "must be a URL that starts with https:// or http://" })
  .max(2_000)
  .refine((given) => {
    const { username, password } = URL.parse(given) ?? { username: "", password: "" };
    return username === "" && password === "";
  }, "must not contain a user name or password")
  .describe("the address that receives events by POST; a private address needs TOOL_ALLOW");

const webhook = named(
  "Webhook",
  z.object({
    id: webhookId,
    url: z.string(),
    events,
    enabled: z.boolean().describe("false: events are neither recorded nor sent"),
    createdBy: z.string(),
    createdAt: time,
  }),
);
export const changedWebhook = webhook;
export const webhookList = named("WebhookList", page(webhook));
export const newWebhook = named("NewWebhook", z.strictObject({ url, events }));
export const webhookChange = named(
  "WebhookChange",
  z.strictObject({ url: url.optional(), events: events.optional(), enabled: z.boolean().optional() }),
);
export const madeWebhook = named(
  "MadeWebhook",
  webhook.extend({
    secret: z
      .string()
      .describe(
        "shown only in this answer; signs every delivery according to the Standard Webhooks specification (`whsec_…`)",
      ),
  }),
);

export const delivery = named(
  "Delivery",
  z.object({
    id: count,
    event: z.string().describe("one of the webhook's events, or `webhook.test`"),
    body: z.unknown().describe("`data` of the event"),
    state: z.enum(["waiting", "delivered", "failed"]).describe("failed: ended after ten attempts, or immediately"),
    attempts: count,
    nextAt: time.describe("for a waiting delivery: time of the next attempt"),
    createdAt: time,
    endedAt: time.nullable(),
    status: z.int().nullable().describe("HTTP status of the last answer; null: no answer"),
    answer: z.string().nullable().describe("start of the last answer, or the reason for no answer"),
  }),
);
export const deliveryQuery = z.object({
  limit,
  cursor: z
    .string()
    .regex(/^\d{1,15}$/)
    .optional()
    .describe("`next` of the previous page"),
});
export const deliveryPage = named("DeliveryPage", page(delivery));

/** The body of the request, by its `type`. */
function told<Type extends string, Data extends z.ZodType>(type: Type, means: string, data: Data) {
  const name = type.replace(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase());
  return named(
    `${name}Told`,
    z.object({ type: z.literal(type), timestamp: time.describe("time of the event"), data }).describe(means),
  );
}

/** Bodies may gain fields: a receiver reads the fields it knows. */
export const webhookBodies = {
  "run.ended": told(
    "run.ended",
    "A run that no other run called has ended.",
    run
      .pick({ id: true, status: true, definition: true, name: true, labels: true, reason: true, createdAt: true })
      .extend({ endedAt: time }),
  ),
  "batch.ended": told(
    "batch.ended",
    "Every submission of a batch has ended. Sent again after submissions were retried.",
    batchSummary.pick({ id: true, key: true, name: true, counts: true }).extend({ endedAt: time }),
  ),
  "ask.opened": told("ask.opened", "A question waits for an answer.", ask.omit({ expiresAt: true })),
  "grade.released": told(
    "grade.released",
    "A grade was released.",
    z.object({
      id: count,
      batchId: runId,
      work: z.string().describe("the key of a submission"),
      by: z.string(),
      total: z.number().nullable().describe("null: the submission is ungradable"),
      at: time,
    }),
  ),
  "webhook.test": told("webhook.test", "A person tests the webhook.", z.object({ webhookId })),
} as const;
