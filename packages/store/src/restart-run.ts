/** A new run that begins as another one did: its parameters, caps, labels, options and submission, and a record of which one that was. */
import type { Json, Limits, RunStarted } from "@markmill/engine";
import { type Births, type CreatedRun, createRun, type NewRun } from "./create-run.ts";
import type { Definition } from "./definitions.ts";
import type { ForkRequest } from "./fork-run.ts";
import { getHistory } from "./read/get-history.ts";
import { getRun, submissionOf } from "./read/get-run.ts";
import { StoreError } from "./store-error.ts";

export interface RestartRequest extends Pick<ForkRequest, "of" | "caps" | "key"> {
  /** Instead of the other run's own. */
  readonly definition?: Definition;
  /** Instead of what was said when the other run was started. */
  readonly notes?: NewRun["notes"];
  /** Over those of the other run, such as another model. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Instead of the other run's own. */
  readonly options?: Json;
}

export async function restartRun(births: Births, tenant: string, request: RestartRequest): Promise<CreatedRun> {
  const { of, caps = {}, key, definition: wanted } = request;
  const { database, definitions } = births;
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
  return await createRun(births, tenant, {
    definition,
    ...(definition.hash === old.definitionHash ? { program: old.program } : {}),
    variables: { ...started.variables, ...request.variables },
    environment: started.environment,
    caps: Object.assign({}, started.caps, ...forked, caps) as Partial<Limits>,
    labels: old.labels,
    options: request.options ?? old.options,
    forkedFrom: of,
    ...(started.patienceMs === undefined ? {} : { patienceMs: started.patienceMs }),
    ...(notes === undefined ? {} : { notes }),
    ...(blob === null ? {} : { submission: { blob } }),
    ...(key === undefined ? {} : { idempotencyKey: key.text, requestHash: key.requestHash }),
  });
}
