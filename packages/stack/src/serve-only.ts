/**
 * Queues for a worker that serves one tree of runs: other deliveries are given back for whoever serves them. So a terminal never
 * continues, or pays for, a run that somebody interrupted in another one.
 */
import type { Queues } from "@markmill/queue";

/** Two terminals need about one such wait per step; a run that nobody serves is looked at ever less often. */
const firstMs = 100;
const longestMs = 3_200;
const remembered = 10_000;

export function serveOnly(queues: Queues, rootId: string, rootOf: (runId: string) => Promise<string | null>): Queues {
  const roots = new Map<string, string | null>();
  const refusals = new Map<number, number>();
  const isMine = async (runId: string): Promise<boolean> => {
    let root = roots.get(runId);
    if (root === undefined) {
      root = await rootOf(runId);
      if (roots.size >= remembered) roots.clear();
      roots.set(runId, root);
    }
    return root === rootId;
  };
  return {
    ...queues,
    serve: (queue, handler, options) =>
      queues.serve(
        queue,
        async (delivered, ring) => {
          if (await isMine(delivered.runId)) return await handler(delivered, ring);
          const times = refusals.get(delivered.activityId) ?? 0;
          if (refusals.size >= remembered) refusals.clear();
          refusals.set(delivered.activityId, times + 1);
          return { do: "later", ms: Math.min(firstMs * 2 ** times, longestMs) };
        },
        options,
      ),
  };
}
