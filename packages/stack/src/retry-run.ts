/** A run goes on from a step, or from its start, as a new run with the same definition, parameters and submission. */
import type { Limits } from "@markmill/engine";
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

export async function retryRun(
  stack: Pick<Stack, "tenant">,
  old: RunDetail,
  { from, caps }: RetryRequest,
): Promise<RetriedRun> {
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
    const { runId, rings } = await stack.tenant.runs.restart({ of: old.id, caps });
    return { runId, rings, from: null };
  }
  const { fork } = stack.tenant.runs;
  const { runId, rings, from: way } = await fork({ of: old.id, from: from?.split("/") ?? null, caps });
  return { runId, rings, from: way.map((node) => node ?? "what was under way").join("/") };
}
