/**
 * A fork: a new run that takes over what another one did up to a point, and goes on from there. Events, finished activities and messages
 * and the files of the workspace are copied, under ids of the new run; what was in flight is asked for again. Where that was a call, the called run is forked too, so that
 * nothing that was paid for below it is paid for again.
 *
 * K1  All of it but its budget is one transaction: kill -9 before its end leaves at most a budget of a run that was never born, which goes
 *     by its age (supervise.ts), after it a run whose doorbells the supervisor rings.
 * K2  Nothing that the other run paid counts as spent here: replies that are taken over cost nothing.
 * K3  The other run stays as it is.
 */
import {
  type ActivityRef,
  activityKey,
  asideOf,
  type Command,
  type Event,
  type ForkPoint,
  forkAtFailure,
  forkAtNode,
  type Json,
  type Limits,
  type RunForked,
  type RunState,
  remainingCaps,
  step,
  type Work,
} from "@markmill/engine";
import type { PoolClient } from "pg";
import { openBudget } from "./budgets.ts";
import { createActivityIds } from "./commit/activity-ids.ts";
import { variableWrites } from "./commit/kept-variables.ts";
import { type LightColumn, lightKindOf } from "./commit/light-activity.ts";
import { loadRuns } from "./commit/load-runs.ts";
import { itemToColumn, type LoadedRun, queueOf, type Ring } from "./commit/run-row.ts";
import { sparseState } from "./commit/run-state.ts";
import { type Births, drawSeed } from "./create-run.ts";
import { copyMessages } from "./fork-messages.ts";
import { copyWorkspace } from "./fork-workspace.ts";
import { toJson } from "./neutral.ts";
import { getHistory } from "./read/get-history.ts";
import { readyRings } from "./ready-rings.ts";
import { StoreError, translate } from "./store-error.ts";
import { renameThread } from "./thread-names.ts";
import { inTransaction } from "./transaction.ts";
import { uuidv7 } from "./uuidv7.ts";

export interface ForkRequest {
  readonly id?: string;
  /** A root run. */
  readonly of: string;
  /** Nodes from the root downwards, the last one to begin with, those before it calls; null: where the run failed. */
  readonly from: readonly string[] | null;
  readonly caps?: Partial<Limits>;
}

export interface ForkedRun {
  readonly runId: string;
  /** The way down to what is done next, for people: a node for each level, null where several are in flight. */
  readonly from: readonly (string | null)[];
  readonly rings: readonly Ring[];
}

/** One run of the way down: as it was, and where it is taken up, under its new id. */
interface ForkedLevel {
  readonly run: LoadedRun;
  readonly id: string;
  /** The first event as the fork has it: threads are named after runs. */
  readonly first: Event;
  readonly point: ForkPoint;
  /** The call of this level that the next one answers. */
  readonly left: string | null;
}

export async function forkRun(births: Births, request: ForkRequest): Promise<ForkedRun> {
  const { database, clock } = births;
  const at = clock.now();
  const levels = await descend(births, request.of, request.from, new Map(), request.id ?? uuidv7(at));
  const [root] = levels;
  if (root === undefined) throw new StoreError("STORE_NOT_FOUND", `There is no run ${request.of}.`);
  const advanced = forkLevels(levels, at, request.caps ?? {});
  const budgets = root.run.budgets.filter((budget) => budget !== root.run.rootId);
  const limits = advanced[0]?.state.limits;
  if (limits !== undefined && (limits.nanodollars !== null || limits.tokens !== null)) {
    await openBudget(database, root.id, { nanodollars: limits.nanodollars, tokens: limits.tokens }, "run");
    budgets.unshift(root.id);
  }
  const { draw } = createActivityIds(database.calm);
  try {
    await inTransaction(database.calm, async (client) => {
      const taken = levels.map(({ run, id, point }) => ({ old: run.id, id, seq: point.seq }));
      const files = await copyWorkspace(client, taken);
      let calling: Calling | null = null;
      for (const { forked, ...one } of advanced) {
        const told: RunForked = files ? { ...forked, files } : forked;
        calling = await writeLevel(client, { ...one, forked: told }, { rootId: root.id, calling, budgets, draw });
      }
      await copyMessages(client, taken);
    });
    const rings = await readyRings(
      database.calm,
      levels.map(({ id }) => id),
    );
    return { runId: root.id, from: levels.map(({ point }) => point.activity?.node ?? null), rings };
  } catch (error) {
    throw translate(error, "Forking a run");
  }
}

/** From a run to the called run in which the point lies. `ids`: of the runs above, old and new. */
async function descend(
  births: Births,
  runId: string,
  from: readonly string[] | null,
  ids: ReadonlyMap<string, string>,
  id: string,
): Promise<readonly ForkedLevel[]> {
  const { database, definitions, clock } = births;
  const run = (await loadRuns(database.calm, definitions, [runId])).get(runId);
  if (run === undefined) return [];
  const { entries } = await getHistory(database, runId);
  const [begin, ...later] = entries.flatMap((entry) => (entry.kind === "event" ? entry.event : []));
  if (begin === undefined) return [];
  const known = new Map([...ids, [runId, id]]);
  const first = renamed(begin, known);
  const [node, ...below] = from ?? [];
  const events = [first, ...later];
  const point = node === undefined ? forkAtFailure(run.program, events) : forkAtNode(run.program, events, node);
  if (point === null) {
    const what = node === undefined ? "has not failed at a step that can be repeated" : `never came to ${node}`;
    throw new StoreError("STORE_NO_FORK", `Run ${runId} ${what}.`);
  }
  const level = { run, id, first, point };
  if (from !== null && below.length === 0) return [{ ...level, left: null }];
  for (const [key, work] of Object.entries(point.works)) {
    const callee = work.kind === "call" ? await calleeOf(births, runId, key) : null;
    if (callee === null) continue;
    try {
      const levels = await descend(births, callee, from === null ? null : below, known, uuidv7(clock.now()));
      if (levels.length > 0) return [{ ...level, left: key }, ...levels];
    } catch (error) {
      // A callee that cannot be taken up is called anew, unless somebody named a node of it.
      if (from !== null || !(error instanceof StoreError) || error.code !== "STORE_NO_FORK") throw error;
    }
  }
  if (from === null) return [{ ...level, left: null }];
  throw new StoreError("STORE_NO_FORK", `${node} of run ${runId} called nothing that came to ${below[0]}.`);
}

/** Threads are named after the runs that opened them. */
function renamed(event: Event, ids: ReadonlyMap<string, string>): Event {
  if (event.type !== "run.started") return event;
  const { caller } = event;
  const threads = Object.entries(caller?.threads ?? {}).map(([agent, thread]) => [agent, renameThread(thread, ids)]);
  return {
    ...event,
    run: ids.get(event.run) ?? event.run,
    caller: caller === null ? null : { ...caller, threads: Object.fromEntries(threads) },
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

interface AdvancedLevel {
  readonly level: ForkedLevel;
  readonly forked: RunForked;
  readonly state: RunState;
  readonly commands: readonly Command[];
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

/** The activity that waits for the run that is written next. */
interface Calling {
  readonly id: number;
  readonly attempt: number;
  readonly epoch: number;
}

interface Writing {
  readonly rootId: string;
  readonly calling: Calling | null;
  readonly budgets: readonly string[];
  readonly draw: (count: number) => Promise<readonly number[]>;
}

/** Returns the call of this level that the next one answers. */
async function writeLevel(client: PoolClient, one: AdvancedLevel, writing: Writing): Promise<Calling | null> {
  const { level, forked, state, commands } = one;
  const { run, id, point, first } = level;
  const light = await lightColumn(one, writing);
  const deadline = commands.findLast((command) => command.do === "deadline");
  const phase = state.phase.is === "handling" ? `handling.${state.phase.of}` : state.phase.is;
  await client.query(
    `insert into runs (id, root_id, parent_activity_id, parent_attempt, parent_epoch, definition_hash, program, name, depth, labels,
       budgets, options, submission, forked_from, rev, epoch, kept, status, phase, steps, started_at, light, deadline)
     select $1, $2, $3, $4, $5, definition_hash, program, name, depth, labels, $6::text[], options, submission, id, $7, $8, $9,
       'doing', $10, $11, clock_timestamp(), $12::json, to_timestamp($13::float8 / 1000)
     from runs where id = $14`,
    [
      ...[id, writing.rootId, writing.calling?.id ?? null, writing.calling?.attempt ?? null],
      ...[writing.calling?.epoch ?? null, writing.budgets, point.seq + 1, state.epoch, toJson(sparseState(state))],
      ...[phase, state.spent.steps, light.length === 0 ? null : toJson(light), deadline?.at ?? null, run.id],
    ],
  );
  await client.query(
    `insert into events (run_id, seq, part, type, at, body, activity_id, kind, asked_at)
     select $1, seq, part, type, at, case when seq = 1 and part = 0 then $4 else body end, activity_id, kind, asked_at
     from events where run_id = $2 and seq <= $3`,
    [id, run.id, point.seq, toJson(first)],
  );
  await client.query(
    "insert into events (run_id, seq, part, type, at, body) values ($1, $2, 0, $3, to_timestamp($4::float8 / 1000), $5)",
    [id, point.seq + 1, forked.type, forked.at, toJson(forked)],
  );
  await client.query(
    `insert into variables (run_id, name, value)
     select $1, x.name, x.value from json_to_recordset($2::json) as x(name text, value text)`,
    [id, toJson(variableWrites(null, state.variables, false))],
  );
  // Of those that were done: history shows them. A visit that is taken up again stands for itself below.
  await client.query(
    `insert into activities (run_id, root_id, node, generation, item, attempt, kind, queue, epoch, state, claim, takeovers, claimed_by,
       claimed_at, work, outcome, usage, seq, created_at, ended_at)
     select $1, $2, node, generation, item, attempt, kind, queue, epoch, state, claim, takeovers, claimed_by,
       claimed_at, work, outcome, usage, seq, created_at, ended_at
     from activities where run_id = $3 and state = 'done' and seq <= $4 order by id`,
    [id, writing.rootId, run.id, point.seq],
  );
  return writeInFlight(client, one, writing.rootId);
}

async function lightColumn({ level, state, forked }: AdvancedLevel, { draw }: Writing): Promise<LightColumn[]> {
  const column: LightColumn[] = [];
  for (const { ref } of Object.values(state.active)) {
    const work = level.point.works[activityKey(ref)];
    const kind = work === undefined ? null : lightKindOf(work);
    const [id] = kind === null ? [] : await draw(1);
    if (kind !== null && id !== undefined) column.push({ ...ref, id, kind, at: forked.at });
  }
  return column;
}

async function writeInFlight(client: PoolClient, one: AdvancedLevel, rootId: string): Promise<Calling | null> {
  const { level, state } = one;
  let calling: Calling | null = null;
  for (const { ref } of Object.values(state.active)) {
    const key = activityKey(ref);
    const old = level.point.works[key];
    if (old === undefined || lightKindOf(old) !== null) continue;
    const work = renewed(one, ref.node, old);
    const outcome = key === level.left ? null : await returnedBefore(client, level, ref);
    const waits = work.kind === "ask" || key === level.left;
    const { rows } = await client.query<{ id: number }>(
      `insert into activities (run_id, root_id, node, generation, item, attempt, kind, queue, epoch, state, work, outcome)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) returning id`,
      [
        ...[level.id, rootId, ref.node, ref.generation, itemToColumn(ref.item), ref.attempt],
        ...[work.kind, queueOf(work.kind), state.epoch, waits ? "waiting" : "ready", toJson(work)],
        outcome === null ? null : toJson(outcome),
      ],
    );
    const id = rows[0]?.id ?? 0;
    if (work.kind === "ask") {
      await client.query(
        `insert into asks (activity_id, run_id, question, text, expires_at, state)
         values ($1, $2, $3, $4, to_timestamp($5::float8 / 1000), 'open')`,
        [id, level.id, work.question, work.text, work.expiresAt],
      );
    }
    if (key === level.left) calling = { id, attempt: ref.attempt, epoch: state.epoch };
    if (work.kind === "prompt" && level.point.keepsReplies) await copyReplies(client, level, rootId, ref, id);
  }
  return calling;
}

/** Time and money count from the fork: what was reckoned when the work was first asked for is reckoned anew. */
function renewed({ level, state, forked }: AdvancedLevel, node: string, work: Work): Work {
  const { program } = level.run;
  switch (work.kind) {
    case "call": {
      const start = { ...work.start, caps: remainingCaps(program, state, forked.at), aside: asideOf(program, state) };
      return { ...work, start };
    }
    case "prompt":
      return { ...work, aside: asideOf(program, state) };
    case "ask": {
      const asked = program.nodes[node];
      const waitMs = asked?.kind === "ask" ? asked.timeoutMs : undefined;
      return { ...work, expiresAt: work.expiresAt === null || waitMs === undefined ? null : forked.at + waitMs };
    }
    default:
      return work;
  }
}

/** What a called run had come to, where what stopped its caller was not that. */
async function returnedBefore(client: PoolClient, { run, point }: ForkedLevel, ref: ActivityRef): Promise<Json | null> {
  if (!point.keepsReplies) return null;
  const { rows } = await client.query<{ outcome: Json }>(
    `select outcome from activities where run_id = $1 and node = $2 and generation = $3 and item = $4
       and kind = 'call' and state = 'done' and outcome is not null and outcome ->> 'status' = 'success'`,
    [run.id, ref.node, ref.generation, itemToColumn(ref.item)],
  );
  return rows[0]?.outcome ?? null;
}

/** K2. They are older than every attempt of the fork: an empty one among them is asked for again. */
async function copyReplies(
  client: PoolClient,
  { run, id }: ForkedLevel,
  rootId: string,
  ref: { readonly node: string; readonly generation: number; readonly item: number | null },
  activityId: number,
): Promise<void> {
  await client.query(
    `insert into calls (activity_id, call_index, request_hash, run_id, root_id, model, request, reply, prompt_tokens, completion_tokens,
       characters, nanodollars, attempt)
     select $1, c.call_index, c.request_hash, $2, $3, c.model, c.request,
       jsonb_set(c.reply::jsonb, '{usage}', (c.reply::jsonb -> 'usage')
         || '{"promptTokens": 0, "completionTokens": 0, "characters": 0, "nanodollars": 0}'), 0, 0, 0, 0, 0
     from calls c join activities a on a.id = c.activity_id
     where a.run_id = $4 and a.node = $5 and a.generation = $6 and a.item = $7`,
    [activityId, id, rootId, run.id, ref.node, ref.generation, itemToColumn(ref.item)],
  );
}
