/**
 * The thread of `markmill up` that serves the API. It has its own event loop and its own connections, so that a busy worker delays no
 * request. The thread ends with the process, even on kill -9.
 */
import { parentPort, workerData } from "node:worker_threads";
import { serveApi } from "@markmill/api";
import { openStack, readCatalogue } from "@markmill/stack";
import type { ApiThreadData, ApiThreadSays } from "./start-api-thread.ts";
import { terminalLog } from "./terminal-log.ts";

const { config, cwd } = workerData as ApiThreadData;
const say = (said: ApiThreadSays) => parentPort?.postMessage(said);

const stack = await openStack({
  config,
  cwd,
  role: "api",
  migrate: false,
  log: terminalLog({ err: (text) => say({ is: "trouble", text }) }),
});
try {
  const { store, queues, telemetry, log: tell } = stack;
  const catalogue = await readCatalogue(config, cwd);
  const { url, firstKey, close } = await serveApi({
    config,
    store,
    queues,
    catalogue,
    telemetry,
    tell,
    logLevel: "error",
  });
  say({ is: "serving", url, firstKey });
  parentPort?.once("message", async () => {
    await close();
    await stack.close();
    parentPort?.close();
  });
} catch (error) {
  await stack.close();
  throw error;
}
