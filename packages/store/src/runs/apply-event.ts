/**
 * Events from outside a worker: from a person, the supervisor, or a refused reservation. They take the same path as all others
 * (committer.ts, G3).
 */
import type { Event } from "@markmill/engine";
import type { Committed, Committer } from "../commit/committer.ts";
import { loadRuns } from "../commit/load-runs.ts";
import type { LoadedRun } from "../commit/run-row.ts";
import { type WaitsBelow, waitsBelow } from "../commit/waits-below.ts";
import type { Database } from "../database/database.ts";
import type { DatabaseClock } from "../database/database-clock.ts";
import { StoreError, translate } from "../database/store-error.ts";
import type { Definitions } from "../definitions/definitions.ts";
import { drawSeed } from "./create-run.ts";

export interface Outside {
  readonly database: Database;
  readonly definitions: Definitions;
  readonly committer: Committer;
  readonly clock: DatabaseClock;
}

/** Builds the event for the current state of the run. null: no event is needed. */
export type MakeEvent = (
  run: LoadedRun,
  happened: { readonly at: number; readonly seed: number },
) => Event | null | Promise<Event | null>;

export interface Brought {
  readonly source?: { readonly id: number; readonly claim: number };
  readonly by?: string;
}

export async function applyEvent(
  outside: Outside,
  runId: string,
  makeEvent: MakeEvent,
  brought: Brought = {},
): Promise<Committed> {
  const { database, definitions, committer, clock } = outside;
  let run: LoadedRun | undefined;
  try {
    run = (await loadRuns(database.calm, definitions, [runId])).get(runId);
  } catch (error) {
    throw translate(error, "Reading a run");
  }
  if (run === undefined) throw new StoreError("STORE_NOT_FOUND", `There is no run ${runId}.`);
  const event = await makeEvent(run, { at: clock.now(), seed: drawSeed() });
  if (event === null) return { kind: "dropped", jobs: [] };
  const { source = null, by } = brought;
  return committer.commit({ run, event, source, ...(by === undefined ? {} : { by }) });
}

export function cancelRun(outside: Outside, runId: string, message: string): Promise<Committed> {
  return applyEvent(outside, runId, (_, happened) => ({ type: "run.cancelled", message, ...happened }));
}

/** Ends a run that a defect of Markmill would otherwise keep open for ever. */
export function breakRun(outside: Outside, runId: string, message: string): Promise<Committed> {
  return applyEvent(outside, runId, (_, happened) => ({ type: "run.broken", message, ...happened }));
}

/**
 * The runs it called end with it (committer.ts, G3) and do not return how long they waited and how many steps they took. So this event
 * contains it. The called runs are read after their caller. A run that had returned when its caller was read has reported that itself, and
 * must not be counted again.
 */
export function stopRun(outside: Outside, runId: string): Promise<Committed> {
  const { database, definitions } = outside;
  return applyEvent(outside, runId, async (_, happened) => {
    let below: WaitsBelow;
    try {
      below = await waitsBelow(database.calm, definitions, runId, happened.at);
    } catch (error) {
      throw translate(error, "Reading called runs");
    }
    const { spans: waits, steps } = below;
    return {
      type: "run.stopped",
      ...happened,
      ...(waits.length > 0 ? { waits } : {}),
      ...(steps > 0 ? { steps } : {}),
    };
  });
}

/** Starts a queued run: its time begins to count. */
export function beginQueuedRun(outside: Outside, runId: string): Promise<Committed> {
  return applyEvent(outside, runId, (_, happened) => ({ type: "run.admitted", ...happened }));
}

/** Resumes one run. resume-run.ts resumes a tree. */
export function resumeRun(outside: Outside, runId: string): Promise<Committed> {
  return applyEvent(outside, runId, (_, happened) => ({ type: "run.resumed", ...happened }));
}
