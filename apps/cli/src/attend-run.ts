/** Follows a run until it ends or the person leaves, and shows its events. */
import { followRun, runAsJson, type Stack } from "@markmill/stack";
import type { RunDetail, Wait, Warning } from "@markmill/store";
import { exitCodes, type Terminal } from "./command.ts";
import { jsonText } from "./json-text.ts";
import { showProgress } from "./show-progress.ts";
import { exitCodeOf, summariseRun, summariseWaiting } from "./summarise-run.ts";

export interface Attending {
  readonly json: boolean;
  /** This process is the worker of the run, so leaving interrupts the run. */
  readonly works: boolean;
}

/** Prints the result and returns the exit code. */
export async function attendRun(
  stack: Stack,
  runId: string,
  { json, works }: Attending,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const { asks, runs } = stack.tenant;
  const progress = showProgress(terminal);
  const warnings: Warning[] = [];
  const asked = new Set<number>();
  let run: RunDetail | null = null;
  let waits: readonly Wait[] = [];
  let waiting = false;
  try {
    for await (const look of followRun(stack.tenant, stack.databaseUrl, runId, signal)) {
      run = look.run;
      waits = look.waits;
      waiting = look.interrupted;
      for (const { entry } of look.happened) if (entry.kind === "warning") warnings.push(entry.warning);
      progress.show(look);
      if (!look.doing.some(({ kind }) => kind === "ask")) continue;
      for (const ask of await asks.list(runId)) {
        if (!asked.has(ask.activityId)) progress.ask(ask, runId);
        asked.add(ask.activityId);
      }
    }
  } finally {
    progress.end();
  }
  if (run !== null && run.endedAt === null && waiting && !signal.aborted) {
    const spent = await runs.spent(run.id);
    if (json) terminal.out(jsonText(runAsJson(run, spent, warnings, waits)));
    for (const line of summariseWaiting(run, spent, waits, stack.store.clock.now())) terminal.err(line);
    return exitCodes.waiting;
  }
  if (run === null || run.endedAt === null) {
    if (works) terminal.err("interrupted: finishing the running steps (press Ctrl-C again to stop at once)");
    return exitCodes.interrupted;
  }
  const spent = await runs.spent(run.id);
  if (json) terminal.out(jsonText(runAsJson(run, spent, warnings, [])));
  else if (run.result !== null && run.result !== "") terminal.data(run.result.replace(/\n$/, ""));
  for (const line of summariseRun(run, spent)) terminal.err(line);
  return exitCodeOf(run);
}
