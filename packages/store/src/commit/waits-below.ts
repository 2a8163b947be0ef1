/**
 * Reads the time spans in which the child runs of a run only waited, and the number of their steps. It leaves out what the parent run has
 * already counted. It includes open runs, and ended runs whose return is not folded yet. Read this after the run itself. A run that returns in between is missing here, but
 * then the calling run has changed, too.
 */
import { merged, type Outcome, type Span, waitsUntil } from "@markmill/engine";
import type { Pool } from "pg";
import type { Definitions } from "../definitions/definitions.ts";
import { waitsForCallee } from "./kinds-sql.ts";
import { loadCallees } from "./load-runs.ts";

export interface WaitsBelow {
  readonly spans: readonly Span[];
  readonly steps: number;
}

export async function waitsBelow(on: Pool, definitions: Definitions, runId: string, at: number): Promise<WaitsBelow> {
  const callees = await loadCallees(on, definitions, runId);
  const { rows } = await on.query<{ outcome: Outcome }>(
    `select a.outcome from activities a
     where a.run_id = any($1) and ${waitsForCallee("a")} and a.state in ('ready', 'claimed') and a.outcome is not null`,
    [[runId, ...callees.map(({ id }) => id)]],
  );
  const returned = rows.flatMap(({ outcome }) => (outcome.kind === "returned" ? [outcome] : []));
  const waits = returned.flatMap(
    (one): readonly Span[] => one.waits ?? ((one.idleMs ?? 0) > 0 ? [[at - (one.idleMs ?? 0), at]] : []),
  );
  // Each run has counted the runs whose return it has folded, so the sum contains every step once.
  const steps =
    callees.reduce((sum, { state }) => sum + state.spent.steps, 0) +
    returned.reduce((sum, one) => sum + (one.steps ?? 0), 0);
  return { spans: merged([...callees.flatMap(({ state }) => waitsUntil(state, at)), ...waits]), steps };
}
