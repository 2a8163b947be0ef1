/**
 * Webhooks: events are recorded as deliveries (store/webhooks/note-happenings.ts), and due deliveries are sent and settled.
 *
 * W1  Each delivery is sent at least once: it is settled after its answer. A repeated delivery has the same `webhook-id`.
 * W2  Each is sent to one address, within ten seconds, through the sender, which refuses the addresses that tools may not reach.
 * W3  A cycle does not wait for an address that is slow to answer. The webhook of that address gets no further deliveries until it has
 *     answered, and later cycles serve the others meanwhile.
 *
 * kill -9 between any two lines: the next cycle records the missing deliveries, and a delivery that was not settled is sent again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Database,
  type DueDelivery,
  dueDeliveries,
  noteHappenings,
  settleDelivery,
} from "@markmill/store/machine";
import { type Attempt, settleWebhook } from "./settle-webhook.ts";
import { signWebhook } from "./sign-webhook.ts";

interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
}

/** refused: the address rules do not allow it. unanswered: `why` gives the cause. */
type WebhookAnswer =
  | { readonly is: "answered"; readonly status: number; readonly text: string }
  | { readonly is: "refused" | "unanswered"; readonly why: string };

/** Never throws. */
export type SendWebhook = (request: WebhookRequest) => Promise<WebhookAnswer>;

const together = 20;
const timeoutMs = 10_000;
/** How much of an answer is kept for the log of deliveries. */
const mostOfAnswer = 500;

/** W3. `busy`: webhooks whose answer an earlier cycle did not wait for. */
export interface Waiting {
  readonly busy: Set<string>;
  readonly patienceMs: number;
}

/** Returns how many were sent. null: there are no webhooks. */
export async function tellWebhooks(
  database: Database,
  send: SendWebhook,
  now: () => number,
  { busy, patienceMs }: Waiting = { busy: new Set(), patienceMs: 2 * timeoutMs },
): Promise<number | null> {
  if (!(await noteHappenings(database))) return null;
  const due = await dueDeliveries(database, together, [...busy]);
  const enough = new AbortController();
  const sent = [...Map.groupBy(due, ({ webhookId }) => webhookId)].map(async ([webhookId, deliveries]) => {
    busy.add(webhookId);
    const told = await Promise.allSettled(deliveries.map((delivery) => tell(database, send, delivery, now())));
    busy.delete(webhookId);
    for (const one of told) if (one.status === "rejected") throw one.reason;
  });
  const patience = sleep(patienceMs, undefined, { signal: enough.signal }).catch(() => undefined);
  try {
    await Promise.race([Promise.all(sent), patience]);
  } finally {
    enough.abort();
  }
  return due.length;
}

async function tell(database: Database, send: SendWebhook, delivery: DueDelivery, nowMs: number): Promise<void> {
  const { id, webhookId, url, secret, event, body, createdAt } = delivery;
  const text = JSON.stringify({ type: event, timestamp: createdAt.toISOString(), data: body });
  const answer = await send({
    url,
    body: text,
    timeoutMs,
    headers: {
      "content-type": "application/json",
      "user-agent": "markmill-webhook",
      ...signWebhook(secret, `${webhookId}-${id}`, Math.floor(nowMs / 1_000), text),
    },
  });
  const settled = settleWebhook(attemptOf(answer), delivery.attempts);
  await settleDelivery(database, delivery, settled, {
    status: answer.is === "answered" ? answer.status : null,
    answer: (answer.is === "answered" ? answer.text : answer.why).slice(0, mostOfAnswer),
  });
}

function attemptOf(answer: WebhookAnswer): Attempt {
  return answer.is === "answered" ? { is: "answered", status: answer.status } : { is: answer.is };
}
