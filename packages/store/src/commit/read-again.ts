/**
 * Reads the current state of runs that another process changed (G2). An event is fenced off, and dropped, if its activity is over or held
 * by another claim, or if its run no longer exists.
 */

import { translate } from "../database/store-error.ts";
import type { EventSource } from "./advance.ts";
import type { Committed, CommitterParts, Request } from "./committer.ts";
import { loadRuns } from "./load-runs.ts";
import { readyJobs } from "./ready-jobs.ts";
import type { LoadedRun } from "./run-row.ts";

interface SourceRow {
  readonly id: number;
  readonly claim: number;
  readonly state: string;
}

/** For each request: its run as it is now. null: the event is fenced off. */
export async function readAgain(
  { database, definitions, cache }: CommitterParts,
  requests: readonly Request[],
): Promise<readonly (LoadedRun | null)[]> {
  for (const { run } of requests) cache.delete(run.id);
  const runs = await loadRuns(
    database.hot,
    definitions,
    requests.map(({ run }) => run.id),
  );
  const sources = await database.hot.query<SourceRow>({
    name: "sources",
    text: "select id, claim, state from activities where id = any($1)",
    values: [requests.flatMap(({ source }) => source?.id ?? [])],
  });
  const live = new Map(sources.rows.map((row) => [row.id, row]));
  return requests.map(({ run: { id }, source }) => {
    const run = runs.get(id);
    return run === undefined || isFenced(run, source, live) ? null : run;
  });
}

/** The activity that brought the event is over, or another claim holds it. An inline activity is fenced by the data of its run. */
function isFenced(run: LoadedRun, source: EventSource | null, rows: ReadonlyMap<number, SourceRow>): boolean {
  if (source === null || run.inline.some(({ id }) => id === source.id)) return false;
  const row = rows.get(source.id);
  return row === undefined || row.claim !== source.claim || row.state === "done" || row.state === "void";
}

/** Nothing changed. The caller enqueues the ready activities of the run: an earlier delivery may have crashed before it enqueued them. */
export async function dropped({ database }: CommitterParts, { run, creation }: Request): Promise<Committed> {
  try {
    return { kind: "dropped", jobs: creation === null ? await readyJobs(database.hot, [run.id]) : [] };
  } catch (error) {
    throw translate(error, "Reading what a run has ready");
  }
}
