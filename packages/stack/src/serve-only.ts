/**
 * Limits a worker's queues to one tree of runs, or to one batch. Other jobs are released for the workers that serve them. So a terminal
 * never continues, or pays for, a run that was interrupted in another terminal.
 */
import type { Queues } from "@markmill/queue";

/** Two terminals need about one such wait per step. A run without a worker is checked less and less often. */
const firstMs = 100;
const longestMs = 3_200;
const remembered = 10_000;

/** `serves` is called once for each run: the tree and the batch of a run never change. */
export function serveOnly(queues: Queues, serves: (runId: string) => Promise<boolean>): Queues {
  const known = new Map<string, boolean>();
  const refusals = new Map<number, number>();
  const isMine = async (runId: string): Promise<boolean> => {
    const before = known.get(runId);
    if (before !== undefined) return before;
    const mine = await serves(runId);
    if (known.size >= remembered) known.clear();
    known.set(runId, mine);
    return mine;
  };
  return {
    ...queues,
    serve: (queue, handler, options) =>
      queues.serve(
        queue,
        async (delivered, enqueue, slot) => {
          if (await isMine(delivered.runId)) return await handler(delivered, enqueue, slot);
          const times = refusals.get(delivered.activityId) ?? 0;
          if (refusals.size >= remembered) refusals.clear();
          refusals.set(delivered.activityId, times + 1);
          return { do: "later", ms: Math.min(firstMs * 2 ** times, longestMs) };
        },
        options,
      ),
  };
}
