/** What each column of a forked run and its record comes from. A column that is new in the schema does not compile until it has an answer. */
import { columns } from "../schema/columns.ts";

/** `copied` as it was; `written` by write-fork.ts; `usual`: what the table gives a new row. */
type Origin = "copied" | "written" | "usual";
type Origins<Table extends keyof typeof columns> = Readonly<Record<keyof (typeof columns)[Table], Origin>>;

const runs: Origins<"runs"> = {
  ...{ tenant: "copied", depth: "copied", labels: "copied", options: "copied", submission: "copied" },
  // It may go on with another definition.
  ...{ definitionHash: "written", program: "written", name: "written" },
  ...{
    id: "written",
    rootId: "written",
    parentActivityId: "written",
    parentAttempt: "written",
    parentEpoch: "written",
  },
  ...{
    budgets: "written",
    pools: "written",
    forkedFrom: "written",
    rev: "written",
    epoch: "written",
    kept: "written",
    status: "written",
  },
  ...{ phase: "written", steps: "written", startedAt: "written", inline: "written", deadline: "written" },
  // Nobody has enqueued it, and nothing has come of it.
  ...{ parentJob: "usual", word: "usual", result: "usual", reason: "usual", createdAt: "usual", endedAt: "usual" },
  ...{ enqueues: "usual", enqueuedAt: "usual" },
};

const events: Origins<"events"> = {
  ...{ runId: "written", body: "written" },
  ...{ seq: "copied", part: "copied", type: "copied", at: "copied", activityId: "copied", kind: "copied" },
  askedAt: "copied",
};

/** Of those that were done. */
const activities: Origins<"activities"> = {
  ...{ runId: "written", rootId: "written" },
  ...{ node: "copied", generation: "copied", item: "copied", attempt: "copied", kind: "copied", queue: "copied" },
  ...{
    epoch: "copied",
    state: "copied",
    claim: "copied",
    takeovers: "copied",
    claimedBy: "copied",
    claimedAt: "copied",
  },
  ...{ work: "copied", outcome: "copied", usage: "copied", seq: "copied", createdAt: "copied", endedAt: "copied" },
  // An id of its own; leases, jobs and trouble are over.
  ...{ id: "usual", leaseUntil: "usual", notBefore: "usual", enqueues: "usual", enqueuedAt: "usual", readyAt: "usual" },
  trouble: "usual",
};

function copied<Table extends "runs" | "events" | "activities">(table: Table, origins: Origins<Table>): string {
  const names = columns[table] as Readonly<Record<string, { readonly name: string }>>;
  return Object.entries(origins)
    .flatMap(([key, origin]) => (origin === "copied" ? [names[key]?.name] : []))
    .join(", ");
}

/** Column lists for both sides of `insert … select`. */
export const copiedColumns = {
  runs: copied("runs", runs),
  events: copied("events", events),
  activities: copied("activities", activities),
};
