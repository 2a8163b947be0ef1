/**
 * The results of workflows that a prompt's model called as tools. These calls are items of the prompt's visit, and have rows like other
 * activities.
 */
import type { Outcome, ToolCallPlace } from "@markmill/engine";
import type { Activity } from "../commit/run-row.ts";
import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";

export interface ReturnedCall {
  readonly place: ToolCallPlace;
  /** null: the call itself failed. */
  readonly outcome: Extract<Outcome, { kind: "returned" }> | null;
  readonly ms: number;
}

export async function returnedCalls(
  database: Database,
  { runId, ref }: Pick<Activity, "runId" | "ref">,
): Promise<readonly ReturnedCall[]> {
  return await queryDatabase<ReturnedCall>(
    database,
    "Reading what called workflows returned",
    `select work -> 'tool' as place, outcome, extract(epoch from ended_at - created_at)::float8 * 1000 as ms from activities
     where run_id = $1 and node = $2 and generation = $3 and item >= 0 and kind = 'call' and state = 'done' order by item`,
    [runId, ref.node, ref.generation],
  );
}
