/**
 * Commits one event under the locks of its run and its pools (G5, G6). The precondition then holds, unless another claim holds the activity
 * or the activity is over.
 */
import { inTransaction } from "../database/transaction.ts";
import type { Committed, CommitterParts, Request } from "./committer.ts";
import { decideWithin } from "./decide.ts";
import { lockRun } from "./load-runs.ts";
import { dropped } from "./read-again.ts";
import { settle } from "./settle.ts";
import { countingOf, countSteps, lockPools, roomFor, usesPools } from "./step-pools.ts";
import { numbered, writeWithin } from "./write-decided.ts";

export async function commitLocked(parts: CommitterParts, request: Request): Promise<Committed> {
  const { database, definitions, cache } = parts;
  const asked = performance.now();
  const done = await inTransaction(database.hot, async (client) => {
    const pools = await lockPools(client, request.run);
    if (request.allows !== null && !(await request.allows(client))) return null;
    const run = request.creation === null ? await lockRun(client, definitions, request.run.id) : request.run;
    if (run === undefined) return null;
    const decided = decideWithin({ ...request, run }, roomFor(run, pools));
    if (decided === null) return null;
    const [one = decided] = await numbered(parts, [decided]);
    const written = await writeWithin(parts, client, one);
    const moved = written.answers.some(({ what, run_id }) => what === "moved" && run_id === run.id);
    if (moved && usesPools(one.advance)) await countSteps(client, run.id, countingOf(one.advance));
    return { one, written };
  });
  const [committed = null] = done === null ? [] : settle(parts, [done.one], done.written, asked);
  if (committed !== null) return committed;
  cache.delete(request.run.id);
  return await dropped(parts, request);
}
