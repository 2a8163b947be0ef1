/**
 * A thread of ours, from a TypeScript file. Node keeps the compiled form of a process's modules where it is asked to, and does not tell its
 * threads: each would take the types out and compile all over again, which is most of what its start costs.
 */
import { getCompileCacheDir } from "node:module";
import { dirname } from "node:path";
import { Worker, type WorkerOptions } from "node:worker_threads";

export function startThread(file: URL, options: Omit<WorkerOptions, "eval" | "execArgv">): Worker {
  const kept = getCompileCacheDir();
  if (kept === undefined) return new Worker(file, { ...options, execArgv: [] });
  // Node names a directory of its own version below the one it was given.
  const directory = JSON.stringify(dirname(kept));
  const load = `import(${JSON.stringify(file.href)}).catch((error) => setImmediate(() => { throw error; }));`;
  const begin = `require("node:module").enableCompileCache(${directory}); ${load}`;
  return new Worker(begin, { ...options, eval: true, execArgv: [] });
}
