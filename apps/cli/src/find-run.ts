/** Which run is meant: a whole id, its beginning, its end (ids begin with the time, so ends differ sooner), or `last`. */
import type { RunDetail, TenantRuns, TenantStore } from "@markmill/store";
import { CommandError, UsageError } from "./command.ts";

const searched = 2_000;
const shortest = 4;

export async function findRun({ runs }: TenantStore, wanted: string): Promise<RunDetail> {
  const run = await runs.get(await resolveRunId(runs, wanted));
  if (run === null) throw notFound(wanted);
  return run;
}

async function resolveRunId(runs: TenantRuns, wanted: string): Promise<string> {
  const id = wanted.toLowerCase();
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) return id;
  if (id !== "last" && !/^[0-9a-f-]+$/.test(id)) throw notFound(wanted);
  if (id !== "last" && id.length < shortest) {
    throw new UsageError(`'${wanted}' is too short: give at least ${shortest} characters of a run's id.`);
  }
  const matches: string[] = [];
  let after: string | null = null;
  for (let seen = 0; seen < searched; ) {
    const page = await runs.list(
      { roots: id === "last" },
      { limit: id === "last" ? 1 : 500, ...(after === null ? {} : { after }) },
    );
    if (id === "last") {
      const newest = page.runs[0]?.id;
      if (newest === undefined)
        throw new CommandError("RUN_NOT_FOUND", "There is no run yet.", "Start one: markmill run FILE");
      return newest;
    }
    for (const run of page.runs) if (run.id.startsWith(id) || run.id.endsWith(id)) matches.push(run.id);
    seen += page.runs.length;
    after = page.next;
    if (after === null) break;
  }
  const [only, ...more] = matches;
  if (only === undefined) throw notFound(wanted);
  if (more.length > 0) {
    const shown = matches.slice(0, 8).map((match) => `  ${match}`);
    throw new UsageError(`'${wanted}' fits ${matches.length} runs:\n${shown.join("\n")}`);
  }
  return only;
}

function notFound(wanted: string): CommandError {
  return new CommandError("RUN_NOT_FOUND", `There is no run ${wanted}.`, "'markmill status' lists the latest runs.");
}
