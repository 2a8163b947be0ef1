/** Folds a run's events again, from its rows alone, and compares the result with what is stored. */
import { type Event, initialState, type RunState, step } from "@markmill/engine";
import { loadRuns } from "../commit/load-runs.ts";
import type { Database } from "../database.ts";
import type { Definitions } from "../definitions.ts";
import { StoreError, translate } from "../store-error.ts";
import { getHistory } from "./get-history.ts";

export interface Replay {
  readonly state: RunState;
  readonly events: readonly Event[];
  /** Paths whose folded value is not the stored one; empty: identical. */
  readonly differences: readonly Difference[];
}

export interface Difference {
  readonly path: string;
  readonly folded: string;
  readonly stored: string;
}

export async function replayRun(database: Database, definitions: Definitions, runId: string): Promise<Replay> {
  const runs = await loadRuns(database.calm, definitions, [runId]).catch((error: unknown) => {
    throw translate(error, "Reading a run");
  });
  const run = runs.get(runId);
  if (run === undefined) throw new StoreError("STORE_NOT_FOUND", `There is no run ${runId}.`);
  const { entries } = await getHistory(database, runId);
  // A run that moved between the two reads is compared at the earlier of them.
  const events = entries.flatMap((entry) => (entry.kind === "event" && entry.seq <= run.rev ? entry.event : []));
  const state = events.reduce((folded: RunState, event) => step(run.program, folded, event).state, initialState);
  const differences: Difference[] = [];
  if (events.length !== run.rev) differences.push({ path: "rev", folded: `${events.length}`, stored: `${run.rev}` });
  compare(JSON.parse(JSON.stringify(state)), run.state, "", differences);
  return { state, events, differences };
}

function compare(folded: unknown, stored: unknown, path: string, differences: Difference[]): void {
  if (isRecord(folded) && isRecord(stored)) {
    for (const key of new Set([...Object.keys(folded), ...Object.keys(stored)])) {
      compare(folded[key], stored[key], path === "" ? key : `${path}.${key}`, differences);
    }
  } else if (!Object.is(folded, stored)) {
    differences.push({ path, folded: JSON.stringify(folded) ?? "absent", stored: JSON.stringify(stored) ?? "absent" });
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
