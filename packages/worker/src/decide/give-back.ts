/**
 * Releases an activity: after a delay it is ready again for any worker. If commands may have run, the claim stays, so that the next worker
 * can see it. The current job is delayed. If a newer job exists, that one is the activity's one job, and the current job is completed.
 */
import type { Delivery, JobSpec } from "@markmill/engine";
import type { Answer } from "@markmill/queue";
import type { Activity, LoadedRun } from "@markmill/store/machine";

export interface GivingBack {
  /** Release the lease now instead of letting it expire. */
  readonly release: boolean;
  /** null: the current job stays the activity's job. */
  readonly job: JobSpec | null;
  readonly answer: Answer;
}

export function giveBack(
  run: Pick<LoadedRun, "id" | "parent">,
  activity: Pick<Activity, "id" | "ref" | "epoch" | "enqueues" | "leased">,
  delivered: Pick<Delivery, "queue" | "enqueues">,
  { ms, acted }: { readonly ms: number; readonly acted: boolean },
): GivingBack {
  const release = activity.leased && !acted;
  if (delivered.enqueues >= activity.enqueues) return { release, job: null, answer: { do: "later", ms } };
  const { id: activityId, epoch, enqueues } = activity;
  const { attempt } = activity.ref;
  const parentJob = run.parent?.job ?? null;
  const job = { queue: delivered.queue, runId: run.id, activityId, epoch, attempt, enqueues, delayMs: ms, parentJob };
  return { release, job, answer: { do: "done" } };
}
