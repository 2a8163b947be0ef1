/** What becomes of a claimed activity before, and after, it was performed. */
import { type Bounds, outcomeExcess, type WorkKind, workKinds } from "@markmill/engine";
import type { Answer } from "@markmill/queue";
import { isTroubleOfServer, StoreError } from "@markmill/store";
import type { Claimed } from "@markmill/store/machine";
import { ThreadCallFailed } from "@markmill/thread";
import { failed, type Performed } from "../performed.ts";

/** What can be committed. */
export type Done = Extract<Performed, { did: "succeed" | "fail" }>;

export type AfterPerforming =
  | { readonly do: "commit"; readonly done: Done }
  /** `untouched`: nothing was done, so anybody may begin it. */
  | { readonly do: "give back"; readonly ms: number; readonly untouched: boolean }
  | { readonly do: "answer"; readonly answer: Answer };

/** An activity that killed so many workers is not given to another one. */
const mostTakeovers = 5;

/** null: it is to be performed. */
export function refuseToPerform({ takeovers }: Pick<Claimed, "takeovers">): Performed | null {
  if (takeovers < mostTakeovers) return null;
  return failed("WORKER_CRASHED", `${takeovers} workers crashed during this activity.`, "fail");
}

/** From its begin on, something that must not be repeated may have happened. */
export function mayAct(kind: WorkKind): boolean {
  return workKinds[kind].actsOutside;
}

/**
 * `leave`: a CALL waits for the run it made. Otherwise the run went on without the activity, whose job is over; a worker that shuts down
 * gives back what it has not begun.
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

/** What is too long for the run is not even stored with its event. */
function withinBounds(done: Done, bounds: Bounds): Done {
  if (done.did === "fail") return done;
  const excess = outcomeExcess(done.outcome, bounds);
  return excess === null ? done : failed(excess.code, excess.message, "fail", { usage: done.usage });
}

/**
 * A performance threw. null: it is thrown on, and the activity is given back: it was aborted, the store is away, or the trouble is not
 * known to be ours. A defect of ours fails the activity, tried again some times: it does not come back for ever. A text that a thread cannot
 * read within its limits is one.
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
