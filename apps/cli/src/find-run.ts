/**
 * Finds the run that a person means: a whole id, its end (4 characters or more; people see 12), its beginning (8 characters or more), or
 * `last`.
 */
import type { RunDetail, RunSummary, TenantRuns, TenantStore } from "@markmill/store";
import { CommandError, UsageError } from "./command.ts";
import { hasIdPart, isIdPart, isWholeId, listCandidates, mostCandidates } from "./id-part.ts";

export async function findRun({ runs }: TenantStore, wanted: string): Promise<RunDetail> {
  const run = await runs.get(await resolveRunId(runs, wanted));
  if (run === null) throw notFound(wanted);
  return run;
}

async function resolveRunId(runs: TenantRuns, wanted: string): Promise<string> {
  if (isWholeId(wanted)) return wanted.toLowerCase();
  if (wanted.toLowerCase() === "last") {
    const newest = (await runs.list({ roots: true }, { limit: 1 })).runs[0];
    if (newest !== undefined) return newest.id;
    throw new CommandError("RUN_NOT_FOUND", "There is no run yet.", "Start a run: markmill run FILE");
  }
  if (/^[0-9a-f-]{0,3}$/i.test(wanted)) {
    throw new UsageError(`'${wanted}' is too short. Type at least the last 4 characters of a run's id.`);
  }
  const [only, ...more] = await runsWith(runs, wanted);
  if (only === undefined) throw notFound(wanted);
  if (more.length === 0) return only.id;
  throw new UsageError(`'${wanted}' matches several runs:\n${listCandidates([only, ...more])}`);
}

/** Runs whose id ends or begins with these characters; at most one more than are shown. */
export async function runsWith(runs: TenantRuns, wanted: string): Promise<readonly RunSummary[]> {
  if (!isIdPart(wanted)) return [];
  const found = await runs.list({ idPart: wanted }, { limit: mostCandidates + 1 });
  return found.runs.filter((run) => hasIdPart(run, wanted));
}

function notFound(wanted: string): CommandError {
  return new CommandError("RUN_NOT_FOUND", `There is no run ${wanted}.`, "'markmill status' lists the latest runs.");
}
