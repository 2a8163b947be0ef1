/** Delivers webhooks, only to addresses that tools may reach (TOOL_ALLOW). */
import type { AllowedAddress } from "@markmill/tools/address-rules";
import type { SendWebhook } from "@markmill/worker/supervisor";

const mostOfAnswer = 64 * 1024;

export function webhookSender(allowed: readonly AllowedAddress[]): {
  readonly send: SendWebhook;
  readonly close: () => Promise<void>;
} {
  // Loaded with the first delivery, because most installations send none.
  let opened: Promise<import("@markmill/tools/checked-fetch").CheckedFetch> | undefined;
  async function open() {
    const { createCheckedFetch } = await import("@markmill/tools/checked-fetch");
    const { addressRules } = await import("@markmill/tools/address-rules");
    return createCheckedFetch(addressRules(allowed));
  }
  return {
    async send({ url, headers, body, timeoutMs }) {
      opened ??= open();
      try {
        const checked = await opened;
        const signal = AbortSignal.timeout(timeoutMs);
        const response = await checked.stream({ method: "POST", url, headers, body, signal });
        return { is: "answered", status: response.status, text: await beginOf(response.body) };
      } catch (error) {
        const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
        const why = String(message ?? error);
        return { is: code === "TOOL_ADDRESS_REFUSED" ? "refused" : "unanswered", why };
      }
    },
    close: async () => await (await opened)?.close(),
  };
}

/** Reads the part of the body that arrives in time. The status is the answer; the text is only shown to people. */
async function beginOf(body: AsyncIterable<Uint8Array> | null): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of body ?? []) {
      pieces.push(piece);
      size += piece.length;
      if (size > mostOfAnswer) break;
    }
  } catch {
    // The body ended early or did not arrive in time.
  }
  return new TextDecoder().decode(Buffer.concat(pieces).subarray(0, mostOfAnswer));
}
