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
    .describe("run.ended: of runs that nobody called; batch.ended: again each time its last work ends"),
);
const events = z.array(webhookEvent).min(1).max(4).describe("what it is told");
const url = z
  .url({ protocol: /^https?$/, error: "must be a URL that begins with https:// or http://" })
  .max(2_000)
  .refine((given) => {
    const { username, password } = URL.parse(given) ?? { username: "", password: "" };
    return username === "" && password === "";
  }, "must not hold a user name or password")
  .describe("where it is sent, by POST; an address that is not public needs TOOL_ALLOW");

const webhook = named(
  "Webhook",
  z.object({
    id: webhookId,
    url: z.string(),
    events,
    enabled: z.boolean().describe("false: nothing is noted or sent"),
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
      .describe("shown this once; signs every delivery as the Standard Webhooks specification has it (`whsec_…`)"),
  }),
);

export const delivery = named(
  "Delivery",
  z.object({
    id: count,
    event: z.string().describe("one of the webhook's events, or `webhook.test`"),
    body: z.unknown().describe("`data` of what is sent"),
    state: z.enum(["waiting", "delivered", "failed"]).describe("failed: given up after ten attempts, or at once"),
    attempts: count,
    nextAt: time.describe("of one that waits: when it is sent next"),
    createdAt: time,
    endedAt: time.nullable(),
    status: z.int().nullable().describe("HTTP status of the last answer; null: there was none"),
    answer: z.string().nullable().describe("how the last answer begins, or why there was none"),
  }),
);
export const deliveryQuery = z.object({
  limit,
  cursor: z
    .string()
    .regex(/^\d{1,15}$/)
    .optional()
    .describe("`next` of the page before"),
});
export const deliveryPage = named("DeliveryPage", page(delivery));

/** The body of the request, by its `type`. */
function told<Type extends string, Data extends z.ZodType>(type: Type, means: string, data: Data) {
  const name = type.replace(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase());
  return named(
    `${name}Told`,
    z.object({ type: z.literal(type), timestamp: time.describe("when it was noted"), data }).describe(means),
  );
}

/** Bodies may gain fields: a receiver reads the fields it knows. */
export const webhookBodies = {
  "run.ended": told(
    "run.ended",
    "A run that nobody called has ended.",
    run
      .pick({ id: true, status: true, definition: true, name: true, labels: true, reason: true, createdAt: true })
      .extend({ endedAt: time }),
  ),
  "batch.ended": told(
    "batch.ended",
    "Every work of a batch has ended. Told again after works were tried again.",
    batchSummary.pick({ id: true, key: true, name: true, counts: true }).extend({ endedAt: time }),
  ),
  "ask.opened": told("ask.opened", "A question waits for a person.", ask.omit({ expiresAt: true })),
  "grade.released": told(
    "grade.released",
    "A grade was released.",
    z.object({
      ...{ id: count, batchId: runId, work: z.string().describe("the key of a work"), by: z.string() },
      ...{ total: z.number().nullable().describe("null: the work is ungradable"), at: time },
    }),
  ),
  "webhook.test": told("webhook.test", "Somebody tries the webhook.", z.object({ webhookId })),
} as const;
