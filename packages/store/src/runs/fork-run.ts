/**
 * A fork: a new run that takes over what another one did up to a point, and goes on from there. Events, finished activities and messages
 * and the files of the workspace are copied, under ids of the new run; what was in flight is asked for again. Where that was a call, the called run is forked too, so that
 * nothing that was paid for below it is paid for again.
 *
 * K1  All of it but its budgets is one transaction: kill -9 before its end leaves at most budgets of runs that were never made, which go
 *     by their age (delete-orphans.ts), after it a run whose doorbells the supervisor rings.
 * K2  Nothing that the other run paid counts as spent here: replies that are taken over cost nothing.
 * K3  The other run stays as it is. The transaction locks its row and the rows of the shared budgets. So a deletion of the run or its batch
 *     comes either before, and the fork is refused, or after, and the deletion of the batch finds the fork.
 * K4  The idempotency key is the first row of the transaction: whoever comes second with it waits there for the first one's end.
 */
import {
  activityKey,
  asideOf,
  awaitsCalls,
  carryOver,
  type Doorbell,
  type Event,
  forkAtFailure,
  forkAtNode,
  type Limits,
  ownReserved,
  type RunForked,
  remainingCaps,
  step,
} from "@markmill/engine";
import type { PoolClient } from "pg";
import { loadRuns } from "../commit/load-runs.ts";
import { readyRings } from "../commit/ready-rings.ts";
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
import { type Births, closeUnused, drawSeed, keyedRun } from "./create-run.ts";
import { copyMessages } from "./fork-messages.ts";
import { copyPassages } from "./fork-passages.ts";
import { copyWorkspace } from "./fork-workspace.ts";
import { renameThread } from "./thread-names.ts";

export interface ForkRequest {
  /** A root run. */
  readonly of: string;
  /** Nodes from the root downwards, the last one to begin with, those before it calls; null: where the run failed. */
  readonly from: readonly string[] | null;
  readonly caps?: Partial<Limits>;
  /** Instead of the other run's own: what can be carried over is (engine/src/carry-to-program.ts), at a node of the run itself. */
  readonly definition?: Definition;
  /** Twice with the same key is once; the same key with another request is refused. */
  readonly key?: { readonly text: string; readonly requestHash: string };
}

export interface ForkedRun {
  readonly runId: string;
  /** false: the key was used before, and this is the run it made. */
  readonly created: boolean;
  /** The way down to what is done next, for people: a node for each level, null where several are in flight. Empty for a run that was there. */
  readonly from: readonly (string | null)[];
  readonly rings: readonly Doorbell[];
}

export async function forkRun(births: Births, tenant: string, asked: ForkRequest): Promise<ForkedRun> {
  const { database, clock, ceilings } = births;
  const request = asked.caps === undefined ? asked : { ...asked, caps: changedCapsWithin(asked.caps, ceilings) };
  const before = await forkedBefore(births, tenant, request);
  if (before !== null) return before;
  const at = clock.now();
  const id = uuidv7(at);
  const level = await readLevel(births, request.of, request.from, new Map(), id);
  if (level === null) throw new StoreError("STORE_NOT_FOUND", `There is no run ${request.of}.`);
  const other = otherDefinition(level, request);
  const advanced =
    other === null
      ? forkLevels(await descend(births, level, request.from, new Map()), at, request.caps ?? {})
      : [carryLevel(level, other, request, at)];
  const levels = advanced.map((one) => one.level);
  const [root = { ...level, left: null }] = levels;
  const shared = root.run.budgets.filter((budget) => budget !== root.run.rootId);
  const budgets = await openBudgets(database, root.run.tenant, advanced, shared);
  try {
    const written = await inTransaction(database.calm, async (client) => {
      if (!(await takeKey(client, tenant, request, root.id))) return false;
      await holdOrigin(client, tenant, request.of, shared);
      // On this very connection: those who wait for the key may hold all the others.
      const { draw } = createActivityIds(client);
      const taken = levels.map(({ run, id, point: { seq, state, keepsReplies } }) => ({
        ...{ old: run.id, id, seq },
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
      const first = await forkedBefore(births, tenant, request);
      if (first === null) throw new StoreError("STORE_BUSY", "The run of this key was deleted just now.");
      return first;
    }
    const rings = await readyRings(
      database.calm,
      levels.map(({ id }) => id),
    );
    return { runId: root.id, created: true, from: levels.map(({ point }) => point.activity?.node ?? null), rings };
  } catch (error) {
    const known = translate(error, "Forking a run");
    // After kill -9, and where the store is away, they go by their age.
    if (known.code === "STORE_NOT_FOUND")
      for (const { id: unused } of levels) await closeUnused(database, tenant, unused);
    throw known;
  }
}

/** K3. */
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

/** The budgets that each level pays from: `shared`, and one for each run on the way down whose own limit is lower than its callers'. */
async function openBudgets(
  database: Births["database"],
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

async function forkedBefore(births: Births, tenant: string, { key }: ForkRequest): Promise<ForkedRun | null> {
  const found = key === undefined ? null : await keyedRun(births, tenant, key.text, key.requestHash);
  return found === null ? null : { ...found, from: [] };
}

/** K4. false: another request has it. */
async function takeKey(client: PoolClient, tenant: string, { key }: ForkRequest, runId: string): Promise<boolean> {
  if (key === undefined) return true;
  const { rowCount } = await client.query(
    "insert into idempotency_keys (tenant, key, request_hash, run_id) values ($1, $2, $3, $4) on conflict do nothing",
    [tenant, key.text, key.requestHash, runId],
  );
  return rowCount === 1;
}

/** null: it is the run's own. */
function otherDefinition({ run }: FoundLevel, { definition }: ForkRequest): Definition | null {
  return definition === undefined || definition.hash === run.definitionHash ? null : definition;
}

/** A run taken up with another definition. Whom it calls is called anew. */
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
    ...{ type: "run.forked", at, seed: drawSeed(), from: run.id, seq: point.seq, caps: request.caps ?? {}, left: [] },
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
  { database, definitions }: Births,
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

/** From a run to the called run in which the point lies. */
async function descend(
  births: Births,
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
    const callee = work.kind === "call" ? await calleeOf(births, runId, key) : null;
    if (callee === null) continue;
    try {
      const next = await readLevel(births, callee, from === null ? null : below, known, uuidv7(births.clock.now()));
      if (next === null) continue;
      return [{ ...level, left: key }, ...(await descend(births, next, from === null ? null : below, known))];
    } catch (error) {
      // Another one of the same visit may have come to the node that somebody named.
      if (!(error instanceof StoreError) || error.code !== "STORE_NO_FORK") throw error;
      refused ??= error;
    }
  }
  // A callee that cannot be taken up is called anew, unless somebody named a node of it.
  if (from === null) return [{ ...level, left: null }];
  throw refused ?? new StoreError("STORE_NO_FORK", `${node} of run ${runId} called no run that visited ${below[0]}.`);
}

/** Threads are named after the runs that opened them. A state that was carried over has them, as the start has. */
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

async function calleeOf({ database }: Births, runId: string, key: string): Promise<string | null> {
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

/** Below the root, what is left of the caller's limits counts. */
function forkLevels(levels: readonly ForkedLevel[], at: number, caps: Partial<Limits>): readonly AdvancedLevel[] {
  const advanced: AdvancedLevel[] = [];
  for (const level of levels) {
    const { run, point } = level;
    const above = advanced.at(-1);
    const given = above === undefined ? caps : remainingCaps(above.level.run.program, above.state, at);
    const left = level.left === null ? [] : [level.left];
    const forked: RunForked = {
      ...{ type: "run.forked", at, seed: drawSeed(), from: run.id, seq: point.seq },
      ...{ caps: given, left },
      ...(above === undefined ? {} : { aside: asideOf(above.level.run.program, above.state) }),
    };
    advanced.push({ level, forked, ...step(run.program, point.state, forked) });
  }
  return advanced;
}
