/**
 * A fork: a new run that copies another run up to a point, and continues from there. Events, finished activities, messages and workspace
 * files are copied, under ids of the new run. Activities that were open at that point are requested again. If one of them was a call, the
 * called run is forked too, so that nothing paid below it is paid again.
 *
 * K1  The fork is one transaction, except for its budgets. kill -9 before its end leaves at most budgets of runs that were never created,
 *     which are deleted by their age (delete-orphans.ts). kill -9 after it leaves a run whose jobs the supervisor enqueues.
 * K2  The payments of the other run do not count as spent here: copied replies cost nothing.
 * K3  The other run stays as it is. The transaction locks its row and the rows of the shared budgets. If a deletion of the run or its batch
 *     comes first, the fork is refused. If it comes later, the deletion of the batch finds the fork.
 * K4  The idempotency key is the first row of the transaction: a second request with the same key waits there until the first one ends.
 */
import {
  activityKey,
  asideOf,
  awaitsCalls,
  carryOver,
  type Event,
  forkAtFailure,
  forkAtNode,
  type JobSpec,
  type Limits,
  ownReserved,
  type RunForked,
  remainingCaps,
  step,
} from "@markmill/engine";
import type { PoolClient } from "pg";
import { loadRuns } from "../commit/load-runs.ts";
import { readyJobs } from "../commit/ready-jobs.ts";
import type { LoadedRun } from "../commit/run-row.ts";
import { openPools } from "../commit/step-pools.ts";
import { type AdvancedLevel, type CallingActivity, type ForkedLevel, writeLevel } from "../commit/write-fork.ts";
import { StoreError, translate } from "../database/store-error.ts";
import { inTransaction } from "../database/transaction.ts";
import { uuidv7 } from "../database/uuidv7.ts";
import type { Definition } from "../definitions/definitions.ts";
import { openRunBudget } from "../money/budgets.ts";
import { changedCapsWithin } from "../money/ceilings.ts";
import { getHistory } from "../read/get-history.ts";
import { createActivityIds } from "../throughput/activity-ids.ts";
import { closeUnused, drawSeed, keyedRun, type RunCreator } from "./create-run.ts";
import { copyMessages } from "./fork-messages.ts";
import { copyPassages } from "./fork-passages.ts";
import { copyWorkspace } from "./fork-workspace.ts";
import { renameThread } from "./thread-names.ts";

export interface ForkRequest {
  /** A root run. */
  readonly of: string;
  /** A path of nodes from the root down: calls, then the node to begin with. null: the node at which the run failed. */
  readonly from: readonly string[] | null;
  readonly caps?: Partial<Limits>;
  /**
   * Used instead of the other run's definition. The fork carries over what fits (engine/src/carry-to-program.ts), at a node of the root
   * run.
   */
  readonly definition?: Definition;
  /** Two equal requests with one key create one fork. Another request with the same key is refused. */
  readonly key?: { readonly text: string; readonly requestHash: string };
}

export interface ForkedRun {
  readonly runId: string;
  /** false: the key was used before, and this is the run it created. */
  readonly created: boolean;
  /** The path to the next step, for people: a node for each level, null if several are in flight. Empty if the run existed already. */
  readonly from: readonly (string | null)[];
  readonly jobs: readonly JobSpec[];
}

export async function forkRun(creations: RunCreator, tenant: string, asked: ForkRequest): Promise<ForkedRun> {
  const { database, clock, ceilings } = creations;
  const request = asked.caps === undefined ? asked : { ...asked, caps: changedCapsWithin(asked.caps, ceilings) };
  const before = await forkedBefore(creations, tenant, request);
  if (before !== null) return before;
  const at = clock.now();
  const id = uuidv7(at);
  const level = await readLevel(creations, request.of, request.from, new Map(), id);
  if (level === null) throw new StoreError("STORE_NOT_FOUND", `There is no run ${request.of}.`);
  const other = otherDefinition(level, request);
  const advanced =
    other === null
      ? forkLevels(await descend(creations, level, request.from, new Map()), at, request.caps ?? {})
      : [carryLevel(level, other, request, at)];
  const levels = advanced.map((one) => one.level);
  const [root = { ...level, left: null }] = levels;
  const shared = root.run.budgets.filter((budget) => budget !== root.run.rootId);
  const budgets = await openBudgets(database, root.run.tenant, advanced, shared);
  try {
    const written = await inTransaction(database.calm, async (client) => {
      if (!(await takeKey(client, tenant, request, root.id))) return false;
      await holdOrigin(client, tenant, request.of, shared);
      // Use this same connection: requests that wait for the key may occupy all the others.
      const { draw } = createActivityIds(client);
      const taken = levels.map(({ run, id, point: { seq, state, keepsReplies } }) => ({
        old: run.id,
        id,
        seq,
        again: Object.values(state.active)
          .filter((active) => keepsReplies || awaitsCalls(state, active))
          .map(({ ref }) => ref),
      }));
      const files = await copyWorkspace(client, taken);
      const pools = await openPools(client, advanced);
      let calling: CallingActivity | null = null;
      for (const [index, { forked, ...one }] of advanced.entries()) {
        const told: RunForked = files ? { ...forked, files } : forked;
        const paying = budgets[index] ?? [];
        calling = await writeLevel(
          client,
          { ...one, forked: told },
          { rootId: root.id, calling, budgets: paying, pools: pools[index] ?? [], draw },
        );
      }
      await copyMessages(client, taken);
      await copyPassages(client, taken);
      return true;
    });
    if (!written) {
      for (const { id: unused } of levels) await closeUnused(database, tenant, unused);
      const first = await forkedBefore(creations, tenant, request);
      if (first === null) throw new StoreError("STORE_BUSY", "The run of this key was deleted just now.");
      return first;
    }
    const jobs = await readyJobs(
      database.calm,
      levels.map(({ id }) => id),
    );
    return { runId: root.id, created: true, from: levels.map(({ point }) => point.activity?.node ?? null), jobs };
  } catch (error) {
    const known = translate(error, "Forking a run");
    // After kill -9, or if the store is unreachable, they are deleted by their age.
    if (known.code === "STORE_NOT_FOUND")
      for (const { id: unused } of levels) await closeUnused(database, tenant, unused);
    throw known;
  }
}

/** See K3. */
async function holdOrigin(client: PoolClient, tenant: string, of: string, shared: readonly string[]): Promise<void> {
  const run = await client.query("select 1 from runs where id = $1 for key share", [of]);
  if (run.rowCount === 0) throw new StoreError("STORE_NOT_FOUND", `Run ${of} was deleted just now.`);
  const held = await client.query(
    "select 1 from budgets where tenant = $1 and id = any($2) order by id for key share",
    [tenant, shared],
  );
  if (held.rowCount !== new Set(shared).size) {
    throw new StoreError("STORE_NOT_FOUND", `The batch of run ${of} was deleted just now.`);
  }
}

/** The budgets that each level pays from: `shared`, and one for each run on the path whose own limit is lower than its callers'. */
async function openBudgets(
  database: RunCreator["database"],
  tenant: string,
  levels: readonly AdvancedLevel[],
  shared: readonly string[],
): Promise<readonly (readonly string[])[]> {
  const paying: (readonly string[])[] = [];
  for (const [index, { level, state, forked }] of levels.entries()) {
    const above = paying.at(-1) ?? shared;
    const own = ownReserved(state.limits, index === 0 ? {} : forked.caps);
    if (own !== null) await openRunBudget(database, tenant, level.id, own, state.aside);
    paying.push(own === null ? above : [level.id, ...above]);
  }
  return paying;
}

async function forkedBefore(creations: RunCreator, tenant: string, { key }: ForkRequest): Promise<ForkedRun | null> {
  const found = key === undefined ? null : await keyedRun(creations, tenant, key.text, key.requestHash);
  return found === null ? null : { ...found, from: [] };
}

/** See K4. false: another request has the key. */
async function takeKey(client: PoolClient, tenant: string, { key }: ForkRequest, runId: string): Promise<boolean> {
  if (key === undefined) return true;
  const { rowCount } = await client.query(
    "insert into idempotency_keys (tenant, key, request_hash, run_id) values ($1, $2, $3, $4) on conflict do nothing",
    [tenant, key.text, key.requestHash, runId],
  );
  return rowCount === 1;
}

/** null: the definition is the run's own. */
function otherDefinition({ run }: FoundLevel, { definition }: ForkRequest): Definition | null {
  return definition === undefined || definition.hash === run.definitionHash ? null : definition;
}

/** Continues a run with another definition. The runs it called are called anew. */
function carryLevel(level: FoundLevel, definition: Definition, request: ForkRequest, at: number): AdvancedLevel {
  const { run, id, renamed, point } = level;
  const refuse = (message: string): never => {
    throw new StoreError(
      "STORE_NO_FORK",
      `The definition ${definition.name} cannot continue run ${run.id}: ${message}`,
    );
  };
  if ((request.from?.length ?? 0) > 1) refuse("a called workflow is called anew; name the call itself.");
  const program = definition.programs[definition.root];
  if (program === undefined) throw new StoreError("STORE_BUG", `Definition ${definition.hash} has no root.`);
  const carried = carryOver(run.program, point, program);
  if (!carried.ok) return refuse(carried.message);
  const forked: RunForked = {
    type: "run.forked",
    at,
    seed: drawSeed(),
    from: run.id,
    seq: point.seq,
    caps: request.caps ?? {},
    left: [],
    carried: { state: carried.state, begins: carried.begins },
  };
  const { state, commands } = step(program, point.state, forked);
  const works = commands.flatMap((command) =>
    command.do === "perform" ? [[activityKey(command.activity), command.work] as const] : [],
  );
  const begun = commands.every((command) => ["perform", "deadline", "warn"].includes(command.do));
  if (state.phase.is !== "doing" || !begun) {
    const why = "reason" in state.phase ? state.phase.reason?.message : undefined;
    refuse(why ?? `${carried.begins.join(", ")} would end at once.`);
  }
  const taken: LoadedRun = { ...run, program, path: definition.root, definitionHash: definition.hash };
  const next: ForkedLevel = {
    run: taken,
    id,
    renamed,
    left: null,
    point: { ...point, works: Object.fromEntries(works) },
  };
  return { level: next, forked, state, commands };
}

type FoundLevel = Omit<ForkedLevel, "left">;

/** `ids`: of the runs above, old and new. null: there is no such run. */
async function readLevel(
  { database, definitions }: RunCreator,
  runId: string,
  from: readonly string[] | null,
  ids: ReadonlyMap<string, string>,
  id: string,
): Promise<FoundLevel | null> {
  const [node, ...below] = from ?? [];
  const run = (await loadRuns(database.calm, definitions, [runId])).get(runId);
  if (run === undefined) return null;
  const { entries } = await getHistory(database, runId);
  const names = new Map([...ids, [runId, id]]);
  const renamed = new Map<number, Event>();
  const events = entries.flatMap((entry) => {
    if (entry.kind !== "event") return [];
    const event = rename(entry.event, names);
    if (event !== entry.event) renamed.set(entry.seq, event);
    return event;
  });
  if (events.length === 0) return null;
  const point =
    node === undefined ? forkAtFailure(run.program, events) : forkAtNode(run.program, events, node, below.length > 0);
  if (point === null) {
    const what = node === undefined ? "has not failed at a step that can be repeated" : `never came to ${node}`;
    throw new StoreError("STORE_NO_FORK", `Run ${runId} ${what}.`);
  }
  return { run, id, renamed, point };
}

/** Goes from a run to the called run that contains the fork point. */
async function descend(
  creations: RunCreator,
  level: FoundLevel,
  from: readonly string[] | null,
  ids: ReadonlyMap<string, string>,
): Promise<readonly ForkedLevel[]> {
  const { point } = level;
  const runId = level.run.id;
  const known = new Map([...ids, [runId, level.id]]);
  const [node, ...below] = from ?? [];
  if (from !== null && below.length === 0) return [{ ...level, left: null }];
  const calls = Object.entries(point.works);
  const named = calls.filter(([key]) => point.state.active[key]?.ref.node === node).reverse();
  let refused: StoreError | null = null;
  for (const [key, work] of from === null ? calls : named) {
    const callee = work.kind === "call" ? await calleeOf(creations, runId, key) : null;
    if (callee === null) continue;
    try {
      const next = await readLevel(
        creations,
        callee,
        from === null ? null : below,
        known,
        uuidv7(creations.clock.now()),
      );
      if (next === null) continue;
      return [{ ...level, left: key }, ...(await descend(creations, next, from === null ? null : below, known))];
    } catch (error) {
      // Another item of the same visit may have reached the requested node.
      if (!(error instanceof StoreError) || error.code !== "STORE_NO_FORK") throw error;
      refused ??= error;
    }
  }
  // A called run that cannot be continued is called anew, unless the request named one of its nodes.
  if (from === null) return [{ ...level, left: null }];
  throw refused ?? new StoreError("STORE_NO_FORK", `${node} of run ${runId} called no run that visited ${below[0]}.`);
}

/** Threads are named after the runs that opened them. Both a carried-over state and the start event contain them. */
function rename(event: Event, ids: ReadonlyMap<string, string>): Event {
  const run = (id: string) => ids.get(id) ?? id;
  const threads = (names: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(names).map(([agent, thread]) => [agent, renameThread(thread, ids)]));
  if (event.type === "run.forked" && event.carried !== undefined) {
    const { state } = event.carried;
    return {
      ...event,
      carried: { ...event.carried, state: { ...state, run: run(state.run), threads: threads(state.threads) } },
    };
  }
  if (event.type !== "run.started") return event;
  const { caller } = event;
  return {
    ...event,
    run: run(event.run),
    caller: caller === null ? null : { ...caller, threads: threads(caller.threads) },
  };
}

async function calleeOf({ database }: RunCreator, runId: string, key: string): Promise<string | null> {
  const { rows } = await database.calm.query<{ id: string; node: string; generation: number; item: number }>(
    `select c.id, a.node, a.generation, a.item from runs c join activities a on a.id = c.parent_activity_id
     where a.run_id = $1 order by c.created_at desc, c.id desc`,
    [runId],
  );
  const callee = rows.find(
    ({ node, generation, item }) => activityKey({ node, generation, item: item < 0 ? null : item }) === key,
  );
  return callee?.id ?? null;
}

/** Below the root, the caller's remaining limits apply. */
function forkLevels(levels: readonly ForkedLevel[], at: number, caps: Partial<Limits>): readonly AdvancedLevel[] {
  const advanced: AdvancedLevel[] = [];
  for (const level of levels) {
    const { run, point } = level;
    const above = advanced.at(-1);
    const given = above === undefined ? caps : remainingCaps(above.level.run.program, above.state, at);
    const left = level.left === null ? [] : [level.left];
    const forked: RunForked = {
      type: "run.forked",
      at,
      seed: drawSeed(),
      from: run.id,
      seq: point.seq,
      caps: given,
      left,
      ...(above === undefined ? {} : { aside: asideOf(above.level.run.program, above.state) }),
    };
    advanced.push({ level, forked, ...step(run.program, point.state, forked) });
  }
  return advanced;
}
