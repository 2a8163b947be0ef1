/** The signature of the Standard Webhooks specification: HMAC-SHA256 over id, time and body. Existing libraries can check it. */
import { createHmac } from "node:crypto";

export interface SignedHeaders {
  readonly "webhook-id": string;
  readonly "webhook-timestamp": string;
  readonly "webhook-signature": string;
}

/** `secret`: `whsec_` and the key in base64. `seconds`: since 1970. */
export function signWebhook(secret: string, id: string, seconds: number, body: string): SignedHeaders {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": String(seconds), "webhook-signature": `v1,${signature}` };
}
