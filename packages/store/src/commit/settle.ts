/** Reports the database's answer to the callers: which runs moved, and which jobs to enqueue. */
import { type ActivityRef, activityKey, type JobSpec, type WorkQueue, workKinds } from "@markmill/engine";
import type { DatabaseClock } from "../database/database-clock.ts";
import { neutral } from "../database/neutral.ts";
import { type ClaimedAhead, nextToClaim } from "../throughput/claim-ahead.ts";
import type { Advance } from "./advance.ts";
import type { CommitAnswer, NextAnswer, ReturnedAnswer } from "./commit-answer.ts";
import type { Committed, CommitterParts } from "./committer.ts";
import type { Decided } from "./decide.ts";
import { toInlineJob } from "./inline-activity.ts";
import { type Activity, columnToItem, itemToColumn, type LoadedRun } from "./run-row.ts";
import type { Written } from "./write-decided.ts";

/** For each decision; null if its run had changed (G2). `asked`: performance.now() before the statement. */
export function settle(
  parts: CommitterParts,
  group: readonly Decided[],
  { answers, callees }: Written,
  asked: number,
): readonly (Committed | null)[] {
  const { cache, clock } = parts;
  const byRun = Map.groupBy(answers, (answer) => answer.run_id);
  const returned = new Map(answers.flatMap((row) => (row.what === "returned" ? [[row.id, row] as const] : [])));
  const moved = new Set<string>();
  for (const answer of answers) {
    if (answer.what !== "moved") continue;
    if (moved.size === 0) clock.observe(answer.now);
    moved.add(answer.run_id);
  }
  const settled = group.map(({ request, advance: decided }): Committed | null => {
    // A run that is not created either exists already, or its caller continued without it.
    if (!moved.has(request.run.id)) return request.creation === null ? null : { kind: "dropped", jobs: [] };
    const inline = [...decided.stillOpen, ...decided.opened];
    const pools = decided.opensPool ? [...decided.run.pools, decided.run.id] : decided.run.pools;
    const run: LoadedRun = { ...decided.run, rev: decided.run.rev + 1, state: decided.state, inline, pools };
    const jobs = jobsOf(clock, run, decided, byRun.get(run.id) ?? []);
    const caller = run.parent === null ? undefined : returned.get(run.parent.activityId);
    if (caller !== undefined) jobs.push(toReturnedJob(caller));
    if (run.state.phase.is === "ended") {
      cache.delete(run.id);
      if (run.parent === null && run.budgets.some((budget) => budget !== run.id)) parts.onBatchRunEnded();
    } else if (request.creation === null || run.parent !== null) cache.set(run);
    const claimed = claimedWith(run, decided, request.claimsAhead, byRun.get(run.id) ?? []);
    report(() => parts.onCommitted?.(run, request.event, request.source));
    return { kind: "committed", run, jobs, claimedAhead: claimed === null ? null : { claimed, asked } };
  });
  for (const { advance: decided } of callees) {
    const { run, state, event } = decided;
    if (moved.has(run.id)) report(() => parts.onCommitted?.({ ...run, rev: run.rev + 1, state }, event, null));
  }
  parts.onMoved(moved);
  return settled;
}

/** Calls an observer. If it throws, the caller still gets the answer, because the commit is in the database. */
function report(tell: () => void): void {
  try {
    tell();
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error));
  }
}

function jobsOf(
  clock: DatabaseClock,
  run: LoadedRun,
  { commands, opened }: Advance,
  answers: readonly CommitAnswer[],
): JobSpec[] {
  const times = new Map<string, number>();
  for (const command of commands) {
    if ((command.do === "perform" || command.do === "retry") && command.notBefore !== null) {
      times.set(activityKey(command.activity), command.notBefore);
    }
  }
  const delayOf = (activity: Omit<ActivityRef, "attempt">) =>
    times.size === 0 ? 0 : Math.max(0, (times.get(activityKey(activity)) ?? 0) - clock.now());
  const jobs = opened.map((inline) => toInlineJob(run, inline, delayOf(inline.ref)));
  for (const row of answers) {
    if ((row.what === "next" || row.what === "again") && workKinds[row.kind].waitsFor !== "answer") {
      jobs.push(toNextJob(row, delayOf({ ...row, item: columnToItem(row.item) }), run.parent?.job ?? null));
    }
  }
  return jobs;
}

function claimedWith(
  run: LoadedRun,
  decided: Advance,
  queue: WorkQueue | null,
  answers: readonly CommitAnswer[],
): ClaimedAhead["claimed"] | null {
  const command = nextToClaim(decided, queue);
  if (command === null) return null;
  const { node, generation, item } = command.activity;
  const row = answers.find(
    (answer) =>
      answer.what === "next" &&
      answer.node === node &&
      answer.generation === generation &&
      answer.item === itemToColumn(item),
  );
  if (row?.what !== "next") return null;
  const activity: Activity = {
    id: row.id,
    runId: run.id,
    ref: command.activity,
    kind: row.kind,
    epoch: row.epoch,
    claim: row.claim,
    enqueues: row.enqueues,
    outcome: null,
    usage: null,
    leased: true,
    // The work as its row stores it: a repeated attempt reads it there, and must send the same request.
    work: neutral(command.work),
    askedAt: row.asked_at,
    // Only a new row was certainly never claimed or enqueued before.
    ...(row.claim === 1 && row.enqueues === 1 ? { unasked: true } : {}),
  };
  return { kind: "claimed", run, activity, interrupted: false, takeovers: 0 };
}

function toReturnedJob(row: ReturnedAnswer): JobSpec {
  const { run_id: runId, id: activityId, epoch, attempt, enqueues, parent_job: parentJob } = row;
  return { queue: workKinds.call.queue, runId, activityId, epoch, attempt, enqueues, delayMs: 0, parentJob };
}

function toNextJob(row: NextAnswer, delayMs: number, parentJob: string | null): JobSpec {
  const { run_id: runId, id: activityId, epoch, attempt, enqueues } = row;
  return { queue: workKinds[row.kind].queue, runId, activityId, epoch, attempt, enqueues, delayMs, parentJob };
}
