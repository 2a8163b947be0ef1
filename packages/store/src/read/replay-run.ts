/**
 * Folds a run's events again, from its rows alone, and compares the result with the stored state. It reads page by page and pauses after
 * each few. So a long run is never completely in memory, and other work runs meanwhile.
 */
import { setImmediate as pause } from "node:timers/promises";
import { initialState, type RunState, step } from "@markmill/engine";
import { loadRuns } from "../commit/load-runs.ts";
import type { Database } from "../database/database.ts";
import { StoreError, translate } from "../database/store-error.ts";
import type { Definitions } from "../definitions/definitions.ts";
import { readEvents } from "./events-after.ts";

export interface Replay {
  readonly state: RunState;
  /** The number of folded events. */
  readonly events: number;
  /** Paths at which the folded value differs from the stored one. Empty: identical. */
  readonly differences: readonly Difference[];
}

export interface Difference {
  readonly path: string;
  readonly folded: string;
  readonly stored: string;
}

/** The longest time that other work waits, beyond one step. */
const sliceMs = 10;

export async function replayRun(database: Database, definitions: Definitions, runId: string): Promise<Replay> {
  const runs = await loadRuns(database.calm, definitions, [runId]).catch((error: unknown) => {
    throw translate(error, "Reading a run");
  });
  const run = runs.get(runId);
  if (run === undefined) throw new StoreError("STORE_NOT_FOUND", `There is no run ${runId}.`);
  let state: RunState = initialState;
  let events = 0;
  let since = performance.now();
  // Events that were added after the run was read are not compared.
  for (let last = 0; last < run.rev; ) {
    const page = await readEvents(database, runId, last, run.rev - last);
    if (page === null || page.entries.length === 0) break;
    for (const entry of page.entries) {
      if (entry.kind !== "event") continue;
      state = step(run.program, state, entry.event).state;
      events += 1;
      if (performance.now() - since < sliceMs) continue;
      await pause();
      since = performance.now();
    }
    last = page.last;
  }
  const differences: Difference[] = [];
  if (events !== run.rev) differences.push({ path: "rev", folded: `${events}`, stored: `${run.rev}` });
  compare(JSON.parse(JSON.stringify(state)), run.state, "", differences);
  return { state, events, differences };
}

function compare(folded: unknown, stored: unknown, path: string, differences: Difference[]): void {
  if (holdsValues(folded) && holdsValues(stored)) {
    for (const key of new Set([...Object.keys(folded), ...Object.keys(stored)])) {
      compare(folded[key], stored[key], path === "" ? key : `${path}.${key}`, differences);
    }
  } else if (!Object.is(folded, stored)) {
    differences.push({ path, folded: JSON.stringify(folded) ?? "absent", stored: JSON.stringify(stored) ?? "absent" });
  }
}

/** Also true for a list. */
function holdsValues(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
