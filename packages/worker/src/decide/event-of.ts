/** Turns the result of an activity into the event for its run. */
import type { Event, Outcome } from "@markmill/engine";
import type { Activity } from "@markmill/store/machine";
import type { Done } from "./after-performing.ts";

export function eventOf(
  { epoch, ref: activity }: Pick<Activity, "epoch" | "ref">,
  done: Done,
  moment: { readonly at: number; readonly seed: number },
): Event {
  const base = { ...moment, epoch, activity, usage: done.usage };
  if (done.did === "succeed") {
    return { type: "activity.succeeded", ...base, outcome: done.outcome satisfies Outcome };
  }
  const { failure, next, retryAfterMs, trouble } = done;
  return {
    type: "activity.failed",
    ...base,
    failure,
    next,
    retryAfterMs,
    ...(trouble === undefined ? {} : { trouble }),
  };
}
