/**
 * Starts a new run that continues from a step, or from the start, with the same parameters and submission, and the same or another
 * definition.
 */
import type { Limits } from "@markmill/engine";
import type { CreatedRun, Definition, NewRun, RunDetail } from "@markmill/store";
import type { Stack } from "./open-stack.ts";
import { StackError } from "./stack-error.ts";

export interface RetryRequest {
  /** A node, or a path to one through calls (`CALL_X/NODE`), or `START`. null: the step where the old run failed. */
  readonly from: string | null;
  /** Limits that replace those of the old run. */
  readonly caps: Partial<Limits>;
  /** Replaces the old run's definition. */
  readonly definition?: Definition;
  /** Findings from checking the old run's parameters against this definition. */
  readonly notes?: NewRun["notes"];
}

export interface RetriedRun extends Pick<CreatedRun, "runId" | "jobs"> {
  /** The step where the new run continues. null: the start, and all calls are paid again. */
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
  // A server stores the definition when it receives it. Our own store must save it first.
  if (other.definition !== undefined) await stack.tenant.definitions.save(other.definition);
  if (from === "START" || (from === null && old.status === "success")) {
    const { runId, jobs } = await stack.tenant.runs.restart({
      of: old.id,
      caps,
      ...other,
      ...(other.definition === undefined || notes === undefined ? {} : { notes }),
    });
    return { runId, jobs, from: null };
  }
  const { fork } = stack.tenant.runs;
  const { runId, jobs, from: way } = await fork({ of: old.id, from: from?.split("/") ?? null, caps, ...other });
  return { runId, jobs, from: way.map((node) => node ?? "the running activities").join("/") };
}

/** The batch of a run. The scheduling of submissions writes it into the run's options (admit.ts in the store). */
function batchOf(options: RunDetail["options"]): string | null {
  const { grading } = (options ?? {}) as { readonly grading?: { readonly batch?: unknown } };
  return typeof grading?.batch === "string" ? grading.batch : null;
}
