/** A run goes on from a step, or from its start, as a new run with the same parameters and submission, and the same definition or another. */
import type { Limits } from "@markmill/engine";
import type { CreatedRun, Definition, NewRun, RunDetail } from "@markmill/store";
import type { Stack } from "./open-stack.ts";
import { StackError } from "./stack-error.ts";

export interface RetryRequest {
  /** A node, or a way to one through calls (`CALL_X/NODE`); `START`; null: where the old run failed. */
  readonly from: string | null;
  /** They replace those of the old run. */
  readonly caps: Partial<Limits>;
  /** Instead of the one that the old run has. */
  readonly definition?: Definition;
  /** What was found when the old run's parameters were looked at for it. */
  readonly notes?: NewRun["notes"];
}

export interface RetriedRun extends Pick<CreatedRun, "runId" | "rings"> {
  /** Where it goes on; null: at the start, and everything is paid again. */
  readonly from: string | null;
}

export async function retryRun(
  stack: Pick<Stack, "tenant">,
  old: RunDetail,
  { from, caps, definition, notes }: RetryRequest,
): Promise<RetriedRun> {
  if (old.rootId !== old.id) {
    throw new StackError(
      "RUN_NOT_ROOT",
      `Another run called ${old.id}.`,
      `Retry that run: markmill retry ${old.rootId}`,
    );
  }
  const batch = batchOf(old.options);
  if (batch !== null) {
    throw new StackError(
      "RUN_OF_CLASS",
      `${old.id} grades a submission of a class. A new run from it could not change the grade in the class.`,
      `Retry failed submissions of the class: markmill retry ${batch}. Or grade submissions again: markmill regrade ${batch} --where student=KEY`,
    );
  }
  if (old.endedAt === null && from === null) {
    throw new StackError("RUN_OPEN", `${old.id} has not ended.`, `Continue the run: markmill resume ${old.id}`);
  }
  const other = definition === undefined || definition.hash === old.definitionHash ? {} : { definition };
  // A server keeps what it is sent; a store of our own is told first.
  if (other.definition !== undefined) await stack.tenant.definitions.save(other.definition);
  if (from === "START" || (from === null && old.status === "success")) {
    const { runId, rings } = await stack.tenant.runs.restart({
      ...{ of: old.id, caps, ...other },
      ...(other.definition === undefined || notes === undefined ? {} : { notes }),
    });
    return { runId, rings, from: null };
  }
  const { fork } = stack.tenant.runs;
  const { runId, rings, from: way } = await fork({ of: old.id, from: from?.split("/") ?? null, caps, ...other });
  return { runId, rings, from: way.map((node) => node ?? "the running activities").join("/") };
}

/** As admission writes it into the options of a run (store's admit.ts). */
function batchOf(options: RunDetail["options"]): string | null {
  const { grading } = (options ?? {}) as { readonly grading?: { readonly batch?: unknown } };
  return typeof grading?.batch === "string" ? grading.batch : null;
}
