/** The state of a batch in one line: done, running, waiting, cost, and the time it may still take. Pure. */
import { timeRemaining } from "@markmill/grading";
import type { BatchDetail } from "@markmill/store";
import { formatDollars, formatElapsed } from "./amounts.ts";

type Standing = Pick<
  BatchDetail,
  "counts" | "state" | "spent" | "budget" | "runMs" | "concurrency" | "budgetNearlySpent" | "troubles"
>;

const barWidth = 20;

export function progressLine(batch: Standing): string {
  const { counts } = batch;
  const done = ended(batch);
  const all = counts.works - counts.notCounted;
  const parts = [
    `${bar(done, all)} ${done}/${all}`,
    ...some(counts.failed, "failed"),
    ...some(counts.running - counts.parked, "running"),
    ...some(counts.parked, "parked"),
    ...some(counts.waiting, "waiting"),
    ...(batch.state.is === "open" ? [] : [batch.state.is]),
    ...etaOf(batch),
    spendOf(batch),
  ];
  return parts.join(" · ");
}

/** The number of submissions that will not continue on their own. */
export function ended({ counts }: Pick<BatchDetail, "counts">): number {
  return counts.succeeded + counts.failed + counts.ungradable + counts.deleted;
}

export function spendOf({
  spent,
  budget,
  budgetNearlySpent,
}: Pick<Standing, "spent" | "budget" | "budgetNearlySpent">) {
  const cap = budget?.cap.nanodollars ?? null;
  const sum = formatDollars(spent.nanodollars);
  return cap === null ? sum : `${sum} of ${formatDollars(cap)}${budgetNearlySpent ? " (nearly spent)" : ""}`;
}

function etaOf({ counts, runMs, concurrency, state }: Standing): string[] {
  const open = counts.waiting + counts.running;
  if (state.is !== "open" || open === 0) return [];
  const left = timeRemaining(runMs, open, concurrency);
  if (left === null) return [];
  const [low, high] = [formatElapsed(left.lowMs), formatElapsed(left.highMs)];
  return [low === high ? `about ${low} left` : `${low} to ${high} left`];
}

function bar(done: number, all: number): string {
  const full = all === 0 ? barWidth : Math.floor((barWidth * done) / all);
  return "█".repeat(full) + "░".repeat(barWidth - full);
}

function some(count: number, word: string): string[] {
  return count > 0 ? [`${count} ${word}`] : [];
}
