/** Decides when there is nothing more to wait for, and the exit code of the command. Pure. */
import type { RowStatus } from "@markmill/classroom/gradebook";
import type { BatchDetail } from "@markmill/store";
import { countOf } from "./amounts.ts";
import { exitCodes } from "./command.ts";

type Standing = Pick<BatchDetail, "counts" | "state" | "troubles" | "concurrency">;

export type ClassEnd =
  | { readonly is: "finished" }
  | { readonly is: "cancelled"; readonly reason: string }
  | { readonly is: "paused"; readonly by: "person" | "budget"; readonly reason: string }
  /** The remaining submissions wait until they are resumed. */
  | { readonly is: "held"; readonly works: number; readonly reasons: readonly string[] };

/** null: the class continues on its own. */
export function classEnd({ counts, state, troubles, concurrency }: Standing): ClassEnd | null {
  const held = troubles.filter((one) => one.held);
  const heldWorks = held.reduce((sum, { works }) => sum + works, 0);
  const moving = counts.running - heldWorks;
  if (moving > 0) return null;
  if (state.is === "cancelled") return { is: "cancelled", reason: state.reason };
  if (counts.waiting === 0 && counts.running === 0) return { is: "finished" };
  if (state.is === "paused") return { is: "paused", by: state.by, reason: state.reason };
  // Waiting submissions keep their slots. If they have all of them, no new submission can start.
  const full = heldWorks >= concurrency;
  if (heldWorks > 0 && (counts.waiting === 0 || full)) {
    return { is: "held", works: heldWorks, reasons: held.map(({ reason }) => reason) };
  }
  return null;
}

const nothingMissing: ReadonlySet<RowStatus> = new Set(["graded", "nothing handed in", "not in the sample"]);

/** Covers every student with a submission that was to be graded. */
export function classExitCode(end: ClassEnd, statuses: readonly RowStatus[]): number {
  return exitCode(
    end,
    statuses.every((status) => nothingMissing.has(status)),
  );
}

/** The exit code for a table of runs, from the states of its rows. */
export function tableExitCode(end: ClassEnd, statuses: readonly string[]): number {
  return exitCode(
    end,
    statuses.every((status) => status === "success"),
  );
}

function exitCode(end: ClassEnd, whole: boolean): number {
  switch (end.is) {
    case "cancelled":
      return exitCodes.failed;
    case "paused":
      return end.by === "budget" ? exitCodes.budget : exitCodes.waiting;
    case "held":
      return exitCodes.waiting;
    case "finished":
      return whole ? exitCodes.success : exitCodes.someNotGraded;
  }
}

/** The next commands for a class that is not finished. */
export function nextOfEnd(end: Exclude<ClassEnd, { readonly is: "finished" }>, id: string): string[] {
  switch (end.is) {
    case "paused":
      return end.by === "budget"
        ? [`the budget is spent (${end.reason}); to continue, run the same command with a higher --budget`]
        : [`markmill resume ${id}   continue the paused class (${end.reason})`];
    case "held":
      return [...new Set(end.reasons)]
        .map((reason) => `${countOf(end.works, "submission")} waiting: ${reason}`)
        .concat([`markmill resume ${id}   continue; paid replies are kept`]);
    case "cancelled":
      return [`the class was cancelled: ${end.reason}`];
  }
}
