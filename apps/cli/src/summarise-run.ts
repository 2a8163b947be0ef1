/** Summarises how a run ended, in a few lines for people or as one object for programs. */
import { isTreeLimit } from "@markmill/engine";
import type { RunDetail, Spent, Wait } from "@markmill/store";
import { countOf, formatDollars, formatElapsed } from "./amounts.ts";
import { exitCodes } from "./command.ts";
import { shortId } from "./short-id.ts";
import { describeWait } from "./tell-wait.ts";

/**
 * Example: `3 model calls, 1 without a reply`. A call without a reply is counted at its highest possible cost, because it may have been
 * billed.
 */
export function countCalls({ calls, unsure }: Pick<Spent, "calls" | "unsure">): string {
  const lost = unsure?.calls ?? 0;
  return `${countOf(calls, "model call")}${lost === 0 ? "" : `, ${lost} without a reply`}`;
}

export function exitCodeOf({ status, reason }: Pick<RunDetail, "status" | "reason">): number {
  if (status === "success") return exitCodes.success;
  return reason !== null && isTreeLimit(reason) ? exitCodes.budget : exitCodes.failed;
}

export function summariseRun(run: RunDetail, spent: Spent): string[] {
  const took = run.endedAt === null ? null : run.endedAt.getTime() - run.createdAt.getTime();
  const facts = [
    countOf(run.spent.steps, "step"),
    countCalls(spent),
    countOf(spent.promptTokens + spent.completionTokens, "token"),
    formatDollars(spent.nanodollars),
    ...(took === null ? [] : [formatElapsed(took)]),
  ];
  const lines = [`${run.status}: ${run.name} (${facts.join(", ")})`];
  if (run.reason !== null) lines.push(`reason: ${run.reason.code}: ${run.reason.message}`);
  lines.push(`run: ${run.id}`, ...nextSteps(run).map((step) => `next: ${step}`));
  return lines;
}

/** Summarises a run that continues only when a person resumes it. */
export function summariseWaiting(run: RunDetail, spent: Spent, waits: readonly Wait[], now: number): string[] {
  const facts = [countCalls(spent), formatDollars(spent.nanodollars)];
  return [
    `interrupted: ${run.name} (${facts.join(", ")})`,
    ...waits.map((wait) => `reason: ${describeWait(wait, now)}`),
    `run: ${run.id}`,
    ...(waits.some(({ parked }) => parked.failure.code === "MODEL_NOT_CHOSEN")
      ? ["next: add --model NAME, or --script FILE for a scripted model, or set DEFAULT_MODEL; then"]
      : []),
    `next: markmill resume ${shortId(run.id)}   continue at that step, keeping paid replies`,
  ];
}

function nextSteps({ status, reason, id }: RunDetail): string[] {
  const run = shortId(id);
  const history = `markmill history ${run}   show every prompt, reply and command`;
  const again = `markmill retry ${run}   retry from that step, keeping paid replies`;
  if (status === "success") return [history];
  const code = reason?.code ?? "";
  if (code === "LIMIT_COST" || code === "LIMIT_TOKENS") {
    return [
      history,
      `markmill retry ${run} ${code === "LIMIT_COST" ? "--budget $" : "--max-tokens N"}   retry with a higher limit`,
    ];
  }
  if (code === "MODEL_NOT_CHOSEN") return ["add --model NAME, or --script FILE for a scripted model"];
  if (code.startsWith("SANDBOX_")) return ["markmill doctor   show which sandbox this machine can use"];
  if (code.startsWith("MODEL_")) return ["markmill doctor   check the model endpoint", again];
  return [history, again];
}
