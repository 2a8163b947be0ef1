// A worker in a process of its own, for tests that kill it. Its settings are the one argument, as JSON.
import { flushCompileCache } from "node:module";
import { readConfig } from "@markmill/config";
import { builtInCatalogue, createModelClient } from "@markmill/llm";
import { type BackendOptions, openQueues } from "@markmill/queue";
import { createJailSandbox, createNoneSandbox } from "@markmill/sandbox";
import { openWorker } from "@markmill/worker";
import { openStore } from "./store.ts";

interface Settings {
  readonly databaseUrl: string;
  readonly backend: BackendOptions;
  readonly prefix: string;
  readonly modelUrl: string;
  readonly sessions: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly killAt?: { readonly point: string; readonly kind: string; readonly times?: number };
  readonly killInSession?: string;
  readonly sandbox?: "none" | "jail";
  readonly blockAt?: { readonly kind: string; readonly afterMs: number; readonly ms: number };
}

const settings: Settings = JSON.parse(process.argv[2] ?? "{}");
const reading = readConfig(settings.environment);
if (!reading.ok) throw new Error(JSON.stringify(reading.findings));
const { config } = reading;
const store = await openStore({
  url: settings.databaseUrl,
  worker: `child-${process.pid}`,
  leaseMs: config.worker.lockDurationMs,
  ceilings: config.ceilings,
});
const queues = await openQueues({ backend: settings.backend, prefix: settings.prefix });
const log = {
  info: () => undefined,
  warn: () => undefined,
  error: (fields: object, text: string) => console.error(text, fields),
};
const { killAt, killInSession, blockAt } = settings;
let reached = 0;

/** Nothing of this process's event loop goes on meanwhile. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
await openWorker({
  config,
  store,
  databaseUrl: settings.databaseUrl,
  queues,
  client: createModelClient({
    baseUrl: settings.modelUrl,
    apiKey: "test",
    catalogue: builtInCatalogue,
    timeoutMs: config.models.timeoutMs,
  }),
  catalogue: builtInCatalogue,
  sandbox:
    settings.sandbox === "jail"
      ? await createJailSandbox({ root: settings.sessions })
      : createNoneSandbox({ root: settings.sessions, warn: () => undefined }),
  log,
  onStalled: () => process.exit(1),
  failPoint: (point, kind) => {
    if (killAt !== undefined && point === killAt.point && (kind === killAt.kind || kind === null)) {
      reached += 1;
      if (reached === (killAt.times ?? 1)) process.kill(process.pid, "SIGKILL");
    }
    if (blockAt !== undefined && point === "after-claim" && kind === blockAt.kind) {
      setTimeout(() => {
        process.send?.("blocked");
        // The message has to leave first.
        setTimeout(() => block(blockAt.ms), 20);
      }, blockAt.afterMs);
    }
  },
  sessionFailPoint: (point) => {
    if (point === killInSession) process.kill(process.pid, "SIGKILL");
  },
});
// It may be killed at any time from here on.
flushCompileCache();
process.send?.("ready");
