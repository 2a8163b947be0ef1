/** Starts a new run like another one: same parameters, caps, labels, options and submission, and a record of the other run's id. */
import type { Json, Limits, RunStarted } from "@markmill/engine";
import { queryDatabase } from "../database/query-database.ts";
import { StoreError } from "../database/store-error.ts";
import type { Definition } from "../definitions/definitions.ts";
import { getHistory } from "../read/get-history.ts";
import { getRun, submissionOf } from "../read/get-run.ts";
import { cancelRun, type Outside } from "./apply-event.ts";
import { type CreatedRun, createRun, type NewRun, type RunCreator } from "./create-run.ts";
import { deleteRun } from "./delete-runs.ts";
import type { ForkRequest } from "./fork-run.ts";

export interface RestartRequest extends Pick<ForkRequest, "of" | "caps" | "key"> {
  /** Replaces the other run's definition. */
  readonly definition?: Definition;
  /** Replaces the notes from the start of the other run. */
  readonly notes?: NewRun["notes"];
  /** Overrides single variables of the other run, such as the model. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Replaces the other run's options. */
  readonly options?: Json;
  /** As in `NewRun`. */
  readonly takesTurn?: boolean;
}

/** The budgets that the other run shares with more runs, such as a batch's budget. The new run gets its own budget from its caps. */
async function sharedBudgets(database: RunCreator["database"], of: string): Promise<readonly string[]> {
  const rows = await queryDatabase<{ budgets: readonly string[] }>(
    database,
    "Reading budgets",
    "select budgets from runs where id = $1",
    [of],
  );
  return (rows[0]?.budgets ?? []).filter((budget) => budget !== of);
}

/**
 * A user may delete the batch of the other run while this run is created. The deletion locks the batch's budget and then looks for runs
 * (delete-batch.ts, D4). If the budget still exists here, the deletion will find this run. If not, this run is deleted again.
 *
 * On kill -9 before this check, the run stays without its budget: each of its paid calls is refused, and it is deleted by its age.
 */
async function deleteIfBatchIsGone(
  creations: RunCreator & Outside,
  tenant: string,
  created: CreatedRun,
  budgets: readonly string[],
): Promise<void> {
  const { database } = creations;
  if (!created.created || budgets.length === 0) return;
  const held = await queryDatabase(
    database,
    "Looking for a batch",
    "select 1 from budgets where tenant = $1 and id = any($2) order by id for key share",
    [tenant, budgets],
  );
  if (held.length === new Set(budgets).size) return;
  await cancelRun(creations, created.runId, "The batch of the run was deleted.");
  await deleteRun(database, created.runId);
  throw new StoreError("STORE_NOT_FOUND", "The batch of the run was deleted just now.");
}

export async function restartRun(
  creations: RunCreator & Outside,
  tenant: string,
  request: RestartRequest,
): Promise<CreatedRun> {
  const { of, caps = {}, key, definition: wanted } = request;
  const { database, definitions } = creations;
  const old = await getRun(database, of);
  if (old === null) throw new StoreError("STORE_NOT_FOUND", `There is no run ${of}.`);
  const definition = wanted ?? (await definitions.find({ tenant, hash: old.definitionHash }));
  if (definition === null) throw new StoreError("STORE_NOT_FOUND", `There is no definition of run ${of} any more.`);
  const { entries } = await getHistory(database, of);
  const events = entries.flatMap((entry) => (entry.kind === "event" ? entry.event : []));
  const started = events[0] as RunStarted | undefined;
  if (started?.type !== "run.started") throw new StoreError("STORE_BUG", `Run ${of} has no record of its start.`);
  const forked = events.flatMap((event) => (event.type === "run.forked" ? event.caps : []));
  const blob = await submissionOf(database, of);
  const notes = request.notes ?? started.notes;
  const budgets = await sharedBudgets(database, of);
  const created = await createRun(creations, tenant, {
    definition,
    ...(definition.hash === old.definitionHash ? { program: old.program } : {}),
    variables: { ...started.variables, ...request.variables },
    environment: started.environment,
    caps: Object.assign({}, started.caps, ...forked, caps) as Partial<Limits>,
    labels: old.labels,
    budgets,
    options: request.options ?? old.options,
    forkedFrom: of,
    ...(request.takesTurn === true ? { takesTurn: true } : {}),
    ...(started.patienceMs === undefined ? {} : { patienceMs: started.patienceMs }),
    ...(notes === undefined ? {} : { notes }),
    ...(blob === null ? {} : { submission: { blob } }),
    ...(key === undefined ? {} : { idempotencyKey: key.text, requestHash: key.requestHash }),
  });
  await deleteIfBatchIsGone(creations, tenant, created, budgets);
  return created;
}
