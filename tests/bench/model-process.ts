/**
 * The model of a benchmark, in a process of its own: answers every request with the same words, so long after it came, and does next to
 * nothing else, because it shares the cores. It says how long it really took: that, and not what it was told, is the model's time.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";

export interface ModelTimes {
  readonly requests: number;
  /** From the end of a request to the end of its answer. */
  readonly meanMs: number;
  readonly mostAtOnce: number;
  readonly connections: number;
  /** Requests under way on average, for each half second since the first. */
  readonly atOnce: readonly number[];
}

export interface ModelProcess {
  readonly url: string;
  readonly pid: number;
  /** Since the last time it was asked. */
  times(): Promise<ModelTimes>;
  stop(): Promise<void>;
}

export async function startModel(delayMs: number, reply: string): Promise<ModelProcess> {
  const child = fork(fileURLToPath(import.meta.url), [String(delayMs), reply], { stdio: ["ignore", 2, 2, "ipc"] });
  const exited = once(child, "exit");
  const [port] = await once(child, "message");
  return {
    url: `http://127.0.0.1:${port}/v1`,
    pid: child.pid ?? 0,
    async times() {
      const answer = once(child, "message");
      child.send("times");
      return (await answer)[0];
    },
    async stop() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

const bucketMs = 500;

function serve(delayMs: number, reply: string): void {
  const body = JSON.stringify({
    id: "chatcmpl-bench",
    object: "chat.completion",
    created: 1,
    model: "scripted",
    choices: [{ index: 0, message: { role: "assistant", content: reply }, logprobs: null, finish_reason: "stop" }],
    usage: { prompt_tokens: 400, completion_tokens: 40, total_tokens: 440 },
  });
  const head = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  let requests = 0;
  let totalMs = 0;
  let atOnce = 0;
  let mostAtOnce = 0;
  let connections = 0;
  let began = 0;
  /** Requests times milliseconds, for each half second. */
  let shares: number[] = [];
  const spread = (from: number, to: number) => {
    for (let at = from - began; at < to - began; ) {
      const bucket = Math.floor(at / bucketMs);
      const end = Math.min((bucket + 1) * bucketMs, to - began);
      shares[bucket] = (shares[bucket] ?? 0) + end - at;
      at = end;
    }
  };
  const server = createServer((request, response) => {
    request.resume();
    request.once("end", () => {
      const came = performance.now();
      if (requests === 0 && atOnce === 0) began = came;
      atOnce += 1;
      mostAtOnce = Math.max(mostAtOnce, atOnce);
      setTimeout(() => {
        response.writeHead(200, head);
        response.end(body);
        atOnce -= 1;
        requests += 1;
        const now = performance.now();
        totalMs += now - came;
        spread(came, now);
      }, delayMs);
    });
  });
  server.on("connection", () => {
    connections += 1;
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
  process.on("message", () => {
    const meanMs = requests === 0 ? 0 : totalMs / requests;
    const perBucket = Array.from(shares, (share = 0) => share / bucketMs);
    process.send?.({ requests, meanMs, mostAtOnce, connections, atOnce: perBucket });
    shares = [];
    [requests, totalMs, mostAtOnce, connections] = [0, 0, atOnce, 0];
  });
  process.on("disconnect", () => process.exit());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  serve(Number(process.argv[2]), process.argv[3] ?? "");
}
