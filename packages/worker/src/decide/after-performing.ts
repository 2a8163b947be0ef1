/** Decides what happens to a claimed activity before and after it is performed. */
import { ThreadCallFailed } from "@markmill/base";
import { type Bounds, outcomeExcess, type WorkKind, workKinds } from "@markmill/engine";
import type { Answer } from "@markmill/queue";
import { isTroubleOfServer, StoreError } from "@markmill/store";
import type { Claimed } from "@markmill/store/machine";
import { failed, type Performed } from "../performed.ts";

/** Results that can be committed. */
export type Done = Extract<Performed, { did: "succeed" | "fail" }>;

export type AfterPerforming =
  | { readonly do: "commit"; readonly done: Done }
  /** `untouched`: the activity had no effect, so any worker may begin it. */
  | { readonly do: "give back"; readonly ms: number; readonly untouched: boolean }
  | { readonly do: "answer"; readonly answer: Answer };

/** An activity that crashed this number of workers is not given to another one. */
const mostTakeovers = 5;

/** null: the worker performs it. */
export function refuseToPerform({ takeovers }: Pick<Claimed, "takeovers">): Performed | null {
  if (takeovers < mostTakeovers) return null;
  return failed("WORKER_CRASHED", `${takeovers} workers crashed during this activity.`, "fail");
}

/** Returns whether something that must not be repeated may happen as soon as the activity begins. */
export function mayAct(kind: WorkKind): boolean {
  return workKinds[kind].actsOutside;
}

/**
 * `leave`: a CALL waits for the run it created. Otherwise the run continued without the activity, and its job is over. A worker that shuts
 * down releases the activities it has not begun.
 */
export function afterPerforming(
  performed: Performed,
  at: { readonly kind: WorkKind; readonly bounds: Bounds; readonly draining: boolean; readonly acted: boolean },
): AfterPerforming {
  switch (performed.did) {
    case "succeed":
    case "fail":
      return { do: "commit", done: withinBounds(performed, at.bounds) };
    case "postpone":
      return { do: "give back", ms: performed.ms, untouched: true };
    case "leave":
      if (workKinds[at.kind].waitsFor === "callee") return { do: "answer", answer: { do: "children" } };
      if (at.draining && !at.acted) return { do: "give back", ms: 0, untouched: true };
      return { do: "answer", answer: { do: "done" } };
  }
}

/** A value that is too long for the run is not even stored with its event. */
function withinBounds(done: Done, bounds: Bounds): Done {
  if (done.did === "fail") return done;
  const excess = outcomeExcess(done.outcome, bounds);
  return excess === null ? done : failed(excess.code, excess.message, "fail", { usage: done.usage });
}

/**
 * Performing the activity threw. null: rethrow the error and release the activity, because it was aborted, the store is unreachable, or the
 * error is not known to be ours. A defect of Markmill fails the activity, with some retries, so that it does not return for ever. One such
 * defect is a text that a thread cannot read within its limits.
 */
export function afterFailedPerformance(
  error: unknown,
  { aborted, acted }: { readonly aborted: boolean; readonly acted: boolean },
): { readonly defect: boolean; readonly performed: Performed } | null {
  if (aborted) return null;
  if (error instanceof StoreError) {
    return isTroubleOfServer(error) ? null : { defect: false, performed: failed(error.code, error.message, "fail") };
  }
  const defect = [TypeError, RangeError, ReferenceError, SyntaxError, ThreadCallFailed].some(
    (kind) => error instanceof kind,
  );
  if (!defect) return null;
  return { defect, performed: failed("WORKER_BUG", String(error), acted ? "unknown" : "retry") };
}
