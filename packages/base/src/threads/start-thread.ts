/**
 * Starts a thread from a TypeScript file. Node can cache the compiled modules of a process, but does not pass this setting to its threads.
 * Each thread would remove the types and compile everything again, which is most of its start time.
 */
import { getCompileCacheDir } from "node:module";
import { dirname } from "node:path";
import { Worker, type WorkerOptions } from "node:worker_threads";

export function startThread(file: URL, options: Omit<WorkerOptions, "eval" | "execArgv">): Worker {
  const kept = getCompileCacheDir();
  if (kept === undefined) return new Worker(file, { ...options, execArgv: [] });
  // Node adds a directory for its own version below the given one.
  const directory = JSON.stringify(dirname(kept));
  const load = `import(${JSON.stringify(file.href)}).catch((error) => setImmediate(() => { throw error; }));`;
  const begin = `require("node:module").enableCompileCache(${directory}); ${load}`;
  return new Worker(begin, { ...options, eval: true, execArgv: [] });
}
