/** Describes in words what a run waits for. */
import type { Pause, Wait } from "@markmill/store";
import { formatElapsed } from "./amounts.ts";
import { oneLine } from "./fit-width.ts";

export function describeWait({ node, parked, nextTry }: Wait, now: number): string {
  const { trouble, failure, tries } = parked;
  const whom = trouble === null ? "" : ` for ${trouble.model} at ${trouble.endpoint}`;
  const why = oneLine(trouble?.reason ?? failure.message).replace(/\.$/, "");
  const tried = `${tries} ${tries === 1 ? "attempt" : "attempts"}`;
  return `${node} waits${whom}: ${failure.code} ${why} (${tried}, ${nextOf(nextTry, now)})`;
}

function nextOf(nextTry: Date | null, now: number): string {
  if (nextTry === null) return "the next one when you resume it";
  const ms = nextTry.getTime() - now;
  return ms <= 0 ? "the next one now" : `the next one in ${formatElapsed(ms)}`;
}

/** A model that no run calls for a while, because it refused a request. */
export function describePause({ model, endpoint, reason, forMs, refusals }: Pause): string {
  const next = forMs <= 0 ? "the next request tests it" : `tested again in ${formatElapsed(forMs)}`;
  return `${model} at ${endpoint} is paused for all runs: ${oneLine(reason)} (refused ${refusals === 1 ? "once" : `${refusals} times`}, ${next})`;
}
