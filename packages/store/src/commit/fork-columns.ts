/** The source of each column of a forked run and its record. A new column in the schema does not compile until it is listed here. */
import { columns } from "../schema/columns.ts";

/** `copied`: unchanged. `written`: by write-fork.ts. `usual`: the default of the table. */
type Origin = "copied" | "written" | "usual";
type Origins<Table extends keyof typeof columns> = Readonly<Record<keyof (typeof columns)[Table], Origin>>;

const runs: Origins<"runs"> = {
  tenant: "copied",
  depth: "copied",
  labels: "copied",
  options: "copied",
  submission: "copied",
  // The fork may continue with another definition.
  definitionHash: "written",
  program: "written",
  name: "written",
  id: "written",
  rootId: "written",
  parentActivityId: "written",
  parentAttempt: "written",
  parentEpoch: "written",
  budgets: "written",
  pools: "written",
  forkedFrom: "written",
  rev: "written",
  epoch: "written",
  kept: "written",
  status: "written",
  phase: "written",
  steps: "written",
  startedAt: "written",
  inline: "written",
  deadline: "written",
  // The fork was not enqueued yet, and it has no result yet.
  parentJob: "usual",
  word: "usual",
  result: "usual",
  reason: "usual",
  createdAt: "usual",
  endedAt: "usual",
  enqueues: "usual",
  enqueuedAt: "usual",
};

const events: Origins<"events"> = {
  runId: "written",
  body: "written",
  seq: "copied",
  part: "copied",
  type: "copied",
  at: "copied",
  activityId: "copied",
  kind: "copied",
  askedAt: "copied",
};

/** The finished activities. */
const activities: Origins<"activities"> = {
  runId: "written",
  rootId: "written",
  node: "copied",
  generation: "copied",
  item: "copied",
  attempt: "copied",
  kind: "copied",
  queue: "copied",
  epoch: "copied",
  state: "copied",
  claim: "copied",
  takeovers: "copied",
  claimedBy: "copied",
  claimedAt: "copied",
  work: "copied",
  outcome: "copied",
  usage: "copied",
  seq: "copied",
  createdAt: "copied",
  endedAt: "copied",
  // Each copy has an id of its own. Leases, jobs and trouble do not carry over.
  id: "usual",
  leaseUntil: "usual",
  notBefore: "usual",
  enqueues: "usual",
  enqueuedAt: "usual",
  readyAt: "usual",
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
