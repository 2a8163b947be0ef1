/** What a run waits for, in words. */
import type { Pause, Wait } from "@markmill/store";
import { formatElapsed } from "./amounts.ts";
import { oneLine } from "./fit-width.ts";

/** How a run stands for people: one that waits for an endpoint, or for somebody who resumes it, is not at work. */
export function standingOf(status: string, waits: readonly Wait[]): string {
  if (status !== "doing" || waits.length === 0) return status;
  return waits.some(({ parked }) => parked.held) ? "interrupted" : "waiting";
}

export function describeWait({ node, parked, nextTry }: Wait, now: number): string {
  const { trouble, failure, tries } = parked;
  const whom = trouble === null ? "" : ` for ${trouble.model} at ${trouble.endpoint}`;
  const why = oneLine(trouble?.reason ?? failure.message).replace(/\.$/, "");
  const tried = `${tries} ${tries === 1 ? "try" : "tries"}`;
  return `${node} waits${whom}: ${failure.code} ${why} (${tried}, ${nextOf(nextTry, now)})`;
}

function nextOf(nextTry: Date | null, now: number): string {
  if (nextTry === null) return "the next when it is resumed";
  const ms = nextTry.getTime() - now;
  return ms <= 0 ? "trying now" : `the next in ${formatElapsed(ms)}`;
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

/** A model that all runs leave alone, because it refused one of them. */
export function describePause({ model, endpoint, reason, forMs, refusals }: Pause): string {
  const next = forMs <= 0 ? "the next request tries it" : `tried again in ${formatElapsed(forMs)}`;
  return `${model} at ${endpoint} is paused for all runs: ${oneLine(reason)} (refused ${refusals === 1 ? "once" : `${refusals} times`}, ${next})`;
}
