/**
 * Commits each event alone, with one statement per event: the rules of committer.ts and nothing else. The conformance tests also run on it.
 * Production uses ../throughput/group-committer.ts.
 */
import { patiently } from "@markmill/base";
import { translate } from "../database/store-error.ts";
import { commitLocked } from "./commit-locked.ts";
import {
  type Committed,
  type Committer,
  type CommitterParts,
  mostMisses,
  type Request,
  toRequest,
} from "./committer.ts";
import { type Decided, decideRequest } from "./decide.ts";
import { dropped, readAgain } from "./read-again.ts";
import { whileAway } from "./retry-policy.ts";
import { settle } from "./settle.ts";
import { usesPools } from "./step-pools.ts";
import { numbered, writeDecided } from "./write-decided.ts";

export function createPlainCommitter(parts: CommitterParts): Committer {
  const patience = whileAway(parts.patienceMs);
  /** The last event in flight of each run (G1). */
  const last = new Map<string, Promise<unknown>>();

  async function commit(request: Request): Promise<Committed> {
    let now = request;
    for (let misses = 0; misses < mostMisses; misses += 1) {
      const decided = decideRequest(now);
      if (decided === null && (misses > 0 || now.creation !== null)) return await dropped(parts, now);
      if (decided !== null) {
        if (usesPools(decided.advance)) break;
        const committed = await patiently(() => write(decided), patience);
        if (committed !== null) return committed;
      }
      const [run = null] = await readAgain(parts, [now]);
      if (run === null) return await dropped(parts, now);
      now = { ...now, run };
    }
    return await patiently(() => commitLocked(parts, now), patience);
  }

  async function write(decided: Decided): Promise<Committed | null> {
    const group = await numbered(parts, [decided]);
    const asked = performance.now();
    const [committed = null] = settle(parts, group, await writeDecided(parts, group), asked);
    return committed;
  }

  return {
    async commit(item) {
      // This committer claims nothing ahead (claim-ahead.ts).
      const request = toRequest({ ...item, claimsAhead: null });
      const { id } = request.run;
      const before = last.get(id) ?? Promise.resolve();
      const mine = before.then(() => commit(request));
      const quiet = mine.catch(() => undefined);
      last.set(id, quiet);
      try {
        return await mine;
      } catch (error) {
        throw translate(error, "Committing");
      } finally {
        if (last.get(id) === quiet) last.delete(id);
      }
    },
    async idle() {
      while (last.size > 0) await Promise.all(last.values());
    },
  };
}
