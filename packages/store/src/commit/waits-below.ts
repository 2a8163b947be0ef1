/**
 * When the runs that a run called, down the tree, only waited, as far as the run has not heard of it: those that are open, and those that have
 * ended and whose return is not folded yet. Read after the run itself: what returns in between is then missing here, and the run has moved on.
 */
import { merged, type Outcome, type Span, waitsUntil } from "@markmill/engine";
import type { Pool } from "pg";
import type { Definitions } from "../definitions.ts";
import { waitsForCallee } from "../kinds-sql.ts";
import { loadCallees } from "./load-runs.ts";
import type { LoadedRun } from "./run-row.ts";

export interface WaitsBelow {
  readonly spans: readonly Span[];
  /** The open runs. */
  readonly callees: readonly LoadedRun[];
}

export async function waitsBelow(on: Pool, definitions: Definitions, runId: string, at: number): Promise<WaitsBelow> {
  const callees = await loadCallees(on, definitions, runId);
  const { rows } = await on.query<{ outcome: Outcome }>(
    `select a.outcome from activities a
     where a.run_id = any($1) and ${waitsForCallee("a")} and a.state in ('ready', 'claimed') and a.outcome is not null`,
    [[runId, ...callees.map(({ id }) => id)]],
  );
  const returned = rows.flatMap(({ outcome }): readonly Span[] => {
    if (outcome.kind !== "returned") return [];
    const { idleMs = 0, waits } = outcome;
    return waits ?? (idleMs > 0 ? [[at - idleMs, at]] : []);
  });
  return { spans: merged([...callees.flatMap(({ state }) => waitsUntil(state, at)), ...returned]), callees };
}
