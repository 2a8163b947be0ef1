/** A run for programs. */
import type { RunDetail, Spent, Wait, Warning } from "@markmill/store";

/** How a run stands for people: one that waits for an endpoint, or for somebody who resumes it, is not at work. */
export function standingOf(status: string, waits: readonly Wait[]): string {
  if (status !== "doing" || waits.length === 0) return status;
  return waits.some(({ parked }) => parked.held) ? "interrupted" : "waiting";
}

export function runAsJson(run: RunDetail, spent: Spent, warnings: readonly Warning[], waits: readonly Wait[]) {
  return {
    runId: run.id,
    name: run.name,
    status: standingOf(run.status, waits),
    result: run.result,
    report: run.variables.REPORT ?? null,
    reason: run.reason,
    waits: waits.map(waitAsJson),
    spent: {
      steps: run.spent.steps,
      calls: spent.calls,
      promptTokens: spent.promptTokens,
      completionTokens: spent.completionTokens,
      dollars: spent.nanodollars / 1e9,
      unsure: {
        calls: spent.unsure?.calls ?? 0,
        tokens: spent.unsure?.tokens ?? 0,
        dollars: (spent.unsure?.nanodollars ?? 0) / 1e9,
      },
    },
    labels: run.labels,
    createdAt: run.createdAt.toISOString(),
    endedAt: run.endedAt?.toISOString() ?? null,
    warnings: warnings.map(({ code, message, node }) => ({ code, message, node })),
  };
}

export function waitAsJson({ runId, node, parked, nextTry }: Wait) {
  const { since, tries, failure, trouble, held } = parked;
  return {
    ...{ runId, node, code: failure.code, message: failure.message, tries, interrupted: held },
    ...(trouble === null ? {} : { model: trouble.model, endpoint: trouble.endpoint, reason: trouble.reason }),
    since: new Date(since).toISOString(),
    nextTry: nextTry?.toISOString() ?? null,
  };
}
