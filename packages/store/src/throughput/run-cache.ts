/**
 * Keeps in memory the runs that this process committed last.
 *
 * Gains: it saves one read of the run before each inline activity, which is stored on the run's row. Not measured alone. Without it: the
 * run is read from its row each time (`look` in commit/claim.ts).
 *
 * The cache is never the truth. A commit that was decided on a cached run passes only if the database is still at its `rev`. So a stale
 * entry costs one more read, and losing the cache costs only reads. Ended runs are not kept, because no worker needs them. A root run is
 * not kept when it is created: the process that creates it (API, supervisor) seldom performs it, and would hold it long after its end.
 */
import type { LoadedRun } from "../commit/run-row.ts";

export interface RunCache {
  get(runId: string): LoadedRun | undefined;
  set(run: LoadedRun): void;
  delete(runId: string): void;
}

/** Keeps nothing. */
export const noRunCache: RunCache = { get: () => undefined, set: () => undefined, delete: () => undefined };

/** In characters. */
const heaviest = 1_000_000;
const heaviestTogether = 64_000_000;
const mostRuns = 2_000;
/**
 * Above the limit plus this slack, the cache deletes many entries at once: finding the oldest entry of a Map steps over all deleted ones
 * before it.
 */
const slack = 200;

export function createRunCache(): RunCache {
  const entries = new Map<string, { readonly run: LoadedRun; readonly weight: number }>();
  let together = 0;

  function remove(runId: string): void {
    together -= entries.get(runId)?.weight ?? 0;
    entries.delete(runId);
  }

  return {
    get: (runId) => entries.get(runId)?.run,
    set(run) {
      remove(run.id);
      if (run.state.phase.is === "ended") return;
      const weight = weigh(run);
      if (weight > heaviest) return;
      entries.set(run.id, { run, weight });
      together += weight;
      if (together <= heaviestTogether && entries.size <= mostRuns + slack) return;
      for (const oldest of entries.keys()) {
        if (together <= heaviestTogether && entries.size <= mostRuns) break;
        remove(oldest);
      }
    },
    delete: remove,
  };
}

function weigh(run: LoadedRun): number {
  let weight = 4_000;
  for (const value of Object.values(run.state.variables)) weight += value.length;
  for (const list of Object.values(run.state.lists)) for (const value of list) weight += value.length;
  for (const active of Object.values(run.state.active)) weight += active.said?.text?.length ?? 0;
  return weight;
}
