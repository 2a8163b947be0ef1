/**
 * Shares of tenants. Each tenant has a limited number of runs under way at once (places-sql.ts). Its other runs are queued in Postgres,
 * where they delay no other tenant (admit-runs.ts). A tenant with few runs waits at most for the slots of the others before it.
 *
 * This file serves processes that start runs. It queries the database at most every `restMs` per tenant. In between it counts its own
 * starts, including those being written, so that a start costs no query of its own. Several processes may together start a few runs too
 * many.
 */

import type { Database } from "../database/database.ts";
import { queryHot } from "../database/query-database.ts";
import type { Announcer } from "../watch/watch.ts";
import { placesSql, queuedSql } from "./places-sql.ts";

export interface Shares {
  /** Starts a run of the tenant with `make`, which receives true if the run is queued. */
  start<Made>(tenant: string, make: (queued: boolean) => Promise<Made>): Promise<Made>;
  /** Runs are queued: notify the supervisor. */
  tellQueued(): void;
}

const restMs = 50;
/** Keeps the tenants that started runs last. */
const mostRemembered = 1_000;

/** Counts open root runs outside of batches, at most up to the number of slots. */
const text = `
  select p.places, (select true from runs r where r.tenant = $2 and ${queuedSql("r")} limit 1) is not null as queued,
    (select count(*)::integer from (
      select 1 from runs r where r.status = 'doing' and r.tenant = $2 and r.root_id = r.id and r.budgets <@ array[r.id] limit p.places) open) as open
  from (${placesSql}) p`;

interface Standing {
  readonly places: number;
  readonly queued: boolean;
  readonly open: number;
}

interface Remembered {
  readonly asked: number;
  readonly standing: Promise<Standing>;
  /** Number of starts since the query, including those that were being written then. */
  started: number;
}

/** `places`: null: as many as workers can use. */
export function createShares(
  database: Database,
  { runsQueued }: Pick<Announcer, "runsQueued">,
  places: number | null,
): Shares {
  const known = new Map<string, Remembered>();
  const beingWritten = new Map<string, number>();
  const note = (tenant: string, change: number) => {
    const now = (beingWritten.get(tenant) ?? 0) + change;
    if (now === 0) beingWritten.delete(tenant);
    else beingWritten.set(tenant, now);
  };

  function standingOf(tenant: string): Remembered {
    const before = known.get(tenant);
    const now = performance.now();
    if (before !== undefined && now - before.asked < restMs) return before;
    const standing = queryHot<Standing>(database, "Counting open runs of a tenant", "tenant-runs", text, [
      places,
      tenant,
    ]).then(([row]) => row ?? { places: Number.POSITIVE_INFINITY, queued: false, open: 0 });
    const remembered: Remembered = { asked: now, standing, started: beingWritten.get(tenant) ?? 0 };
    known.delete(tenant);
    known.set(tenant, remembered);
    standing.catch(() => known.delete(tenant));
    for (const oldest of known.keys()) {
      if (known.size <= mostRemembered) break;
      known.delete(oldest);
    }
    return remembered;
  }

  return {
    async start(tenant, make) {
      const remembered = standingOf(tenant);
      const before = remembered.started;
      remembered.started += 1;
      note(tenant, 1);
      try {
        const { places: most, queued, open } = await remembered.standing;
        return await make(queued || open + before >= most);
      } finally {
        note(tenant, -1);
      }
    },
    tellQueued: runsQueued,
  };
}
