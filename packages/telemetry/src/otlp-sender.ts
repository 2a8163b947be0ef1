/**
 * Sends data to the collector: OTLP as protobuf over HTTP, in the SDK's own encoding. The transport is our own, because the SDK's retries
 * keep a process alive that wants to end.
 *
 * If the collector is unreachable or busy, the sender retries several times within the timeout; then the batch is lost. `cut` ends all
 * requests at once. No timer and no idle connection keeps the process alive.
 */
import { setTimeout as sleep } from "node:timers/promises";

export interface OtlpSender {
  /** Rejects if the collector did not accept the data. */
  send(body: Uint8Array): Promise<void>;
  cut(): void;
}

export interface SenderSettings {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** The retryable statuses of the protocol. */
const passing = new Set([429, 502, 503, 504]);
const firstPauseMs = 500;
const mostTries = 4;

export function createSender({ url, headers, timeoutMs }: SenderSettings): OtlpSender {
  const cutting = new AbortController();
  // A request URL must not contain credentials. They become the header that they stand for.
  const { address, authorization } = withoutCredentials(url);

  async function attempt(body: Uint8Array, signal: AbortSignal): Promise<"taken" | "again"> {
    const answer = await fetch(address, {
      method: "POST",
      headers: { ...authorization, ...headers, "content-type": "application/x-protobuf" },
      body: body as Uint8Array<ArrayBuffer>,
      redirect: "error",
      signal,
    });
    // The body is read so that the connection can be reused; its content is not needed.
    await answer.arrayBuffer();
    if (answer.ok) return "taken";
    if (passing.has(answer.status)) return "again";
    throw new Error(`the collector answered ${answer.status}`);
  }

  return {
    async send(body) {
      const signal = AbortSignal.any([cutting.signal, AbortSignal.timeout(timeoutMs)]);
      for (let tries = 1; ; tries += 1) {
        const came = await attempt(body, signal).catch((error: unknown) => {
          if (signal.aborted || !(error instanceof TypeError)) throw error;
          return "again" as const;
        });
        if (came === "taken") return;
        if (tries === mostTries) throw new Error("the collector is away");
        await sleep(firstPauseMs * 2 ** (tries - 1), undefined, { ref: false, signal });
      }
    },
    cut: () => cutting.abort(new Error("the process ends")),
  };
}

function withoutCredentials(url: string) {
  const parsed = new URL(url);
  const { username, password } = parsed;
  parsed.username = "";
  parsed.password = "";
  const plain = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const given = username !== "" || password !== "";
  const authorization: Record<string, string> = given
    ? { authorization: `Basic ${Buffer.from(plain).toString("base64")}` }
    : {};
  return { address: parsed.href, authorization };
}
