/**
 * An activity is given back: ready again after so long, for anybody. Commands that may have run stay claimed, so that the next holder
 * knows. The job at hand is put off; unless there is a newer one, which is then the activity's one job.
 */
import type { Delivery, JobSpec } from "@markmill/engine";
import type { Answer } from "@markmill/queue";
import type { Activity, LoadedRun } from "@markmill/store/machine";

export interface GivingBack {
  /** The lease is given up now instead of running out. */
  readonly release: boolean;
  /** null: the job at hand stays the activity's job. */
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
