/** The thread of definition-loader.ts: compiles one upload after another. */
import { parentPort } from "node:worker_threads";
import { type LoadOrder, loadUpload } from "./load-upload.ts";

parentPort?.on("message", ({ id, upload, environment }: LoadOrder) => {
  try {
    parentPort?.postMessage({ id, loaded: loadUpload(upload, environment) });
  } catch (error) {
    parentPort?.postMessage({ id, failed: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});
