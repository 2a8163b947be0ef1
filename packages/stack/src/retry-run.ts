/** A run goes on from a step, or from its start, as a new run with the same definition, parameters and submission. */
import type { Limits, RunStarted } from "@markmill/engine";
import type { CreatedRun, RunDetail } from "@markmill/store";
import type { Stack } from "./open-stack.ts";
import { StackError } from "./stack-error.ts";

export interface RetryRequest {
  /** A node, or a way to one through calls (`CALL_X/NODE`); `START`; null: where the old run failed. */
  readonly from: string | null;
  /** They replace those of the old run. */
  readonly caps: Partial<Limits>;
}

export interface RetriedRun extends Pick<CreatedRun, "runId" | "rings"> {
  /** Where it goes on; null: at the start, and everything is paid again. */
  readonly from: string | null;
}

type Ground = Pick<Stack, "tenant">;

export async function retryRun(stack: Ground, old: RunDetail, { from, caps }: RetryRequest): Promise<RetriedRun> {
  if (old.rootId !== old.id) {
    throw new StackError(
      "RUN_NOT_ROOT",
      `${old.id} was called by another run.`,
      `Name that one: markmill retry ${old.rootId}`,
    );
  }
  if (old.endedAt === null && from === null) {
    throw new StackError("RUN_OPEN", `${old.id} has not ended.`, `Go on with it: markmill resume ${old.id}`);
  }
  if (from === "START" || (from === null && old.status === "success")) {
    const { runId, rings } = await fromStart(stack, old, caps);
    return { runId, rings, from: null };
  }
  const { fork } = stack.tenant.runs;
  const { runId, rings, from: way } = await fork({ of: old.id, from: from?.split("/") ?? null, caps });
  return { runId, rings, from: way.map((node) => node ?? "what was under way").join("/") };
}

async function fromStart({ tenant }: Ground, old: RunDetail, caps: Partial<Limits>): Promise<CreatedRun> {
  const { definitions, runs } = tenant;
  const { started, forkedCaps } = await startOf({ tenant }, old.id);
  const blob = await runs.submission(old.id);
  const definition = await definitions.find(old.definitionHash);
  if (definition === null) throw new Error(`run ${old.id} has no definition`);
  return runs.create({
    definition,
    program: old.program,
    variables: started.variables,
    environment: started.environment,
    caps: { ...started.caps, ...forkedCaps, ...caps },
    labels: old.labels,
    options: old.options,
    forkedFrom: old.id,
    ...(started.patienceMs === undefined ? {} : { patienceMs: started.patienceMs }),
    ...(started.notes === undefined ? {} : { notes: started.notes }),
    ...(blob === null ? {} : { submission: { blob } }),
  });
}

/** How a run began, and the caps it got when it was forked. */
async function startOf(
  { tenant }: Ground,
  runId: string,
): Promise<{ readonly started: RunStarted; readonly forkedCaps: Partial<Limits> }> {
  const { entries } = await tenant.runs.history(runId);
  const events = entries.flatMap((entry) => (entry.kind === "event" ? entry.event : []));
  const [started] = events;
  const forks = events.flatMap((event) => (event.type === "run.forked" ? event.caps : []));
  if (started?.type === "run.started") return { started, forkedCaps: Object.assign({}, ...forks) };
  throw new StackError(
    "RUN_WITHOUT_START",
    `Run ${runId} has no record of its start.`,
    "Start it anew with 'markmill run'.",
  );
}
