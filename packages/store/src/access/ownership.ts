/** Which runs belong to a tenant. A run never changes its tenant, so a known answer stays valid. */

import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";

export interface Ownership {
  owns(tenant: string, runId: string): Promise<boolean>;
  /** Returns those of the runs that belong to the tenant. */
  ownedOf(tenant: string, runIds: readonly string[]): Promise<readonly string[]>;
  ownsThread(tenant: string, thread: string): Promise<boolean>;
  /** The activity of a question to people. */
  ownsActivity(tenant: string, activityId: number): Promise<boolean>;
  remember(tenant: string, runId: string): void;
}

const remembered = 20_000;

export function createOwnership(database: Database): Ownership {
  const owners = new Map<string, string>();

  function remember(tenant: string, runId: string): void {
    owners.set(runId, tenant);
    for (const oldest of owners.keys()) {
      if (owners.size <= remembered) break;
      owners.delete(oldest);
    }
  }

  async function ownedOf(tenant: string, runIds: readonly string[]): Promise<readonly string[]> {
    const unknown = runIds.filter((id) => !owners.has(id));
    if (unknown.length > 0) {
      const rows = await queryDatabase<{ id: string; tenant: string }>(
        database,
        "Looking for runs",
        "select id, tenant from runs where id = any($1)",
        [unknown],
      );
      for (const row of rows) remember(row.tenant, row.id);
    }
    return runIds.filter((id) => owners.get(id) === tenant);
  }

  /** `from`: SQL that selects the run to which `id` belongs. */
  async function holds(tenant: string, from: string, id: unknown): Promise<boolean> {
    const text = `select 1 from runs r where r.tenant = $1 and r.id = (${from})`;
    return (await queryDatabase(database, "Looking for a run", text, [tenant, id])).length > 0;
  }

  return {
    owns: async (tenant, runId) => (await ownedOf(tenant, [runId])).length > 0,
    ownedOf,
    ownsThread: (tenant, thread) => holds(tenant, "select t.run_id from threads t where t.id = $2", thread),
    ownsActivity: (tenant, id) => holds(tenant, "select a.run_id from activities a where a.id = $2", id),
    remember,
  };
}
