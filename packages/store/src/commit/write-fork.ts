/**
 * Writes one run of a fork (fork-run.ts): its row, its record up to the fork point, and its open activities. Only this file and the commit
 * statement create runs and activities. The caller provides the transaction.
 */
import {
  type ActivityRef,
  activityKey,
  asideOf,
  awaitsCalls,
  type Command,
  type Event,
  type ForkPoint,
  inlineKindOf,
  type Json,
  type RunForked,
  type RunState,
  remainingCaps,
  type Work,
  workKinds,
} from "@markmill/engine";
import type { PoolClient } from "pg";
import { ofAnotherReply } from "../calls/tool-calls.ts";
import { toJson } from "../database/neutral.ts";
import { copiedColumns } from "./fork-columns.ts";
import type { InlineColumn } from "./inline-activity.ts";
import { variableWrites } from "./kept-variables.ts";
import { changesFiles } from "./kinds-sql.ts";
import { itemToColumn, type LoadedRun } from "./run-row.ts";
import { sparseState } from "./run-state.ts";

/** One run on the path of calls: its old record, the point at which the fork continues it, and its new id. */
export interface ForkedLevel {
  readonly run: LoadedRun;
  readonly id: string;
  /** By number: the events that differ in the fork, because threads are named after runs. */
  readonly renamed: ReadonlyMap<number, Event>;
  readonly point: ForkPoint;
  /** The call of this level that the run of the next level will answer. */
  readonly left: string | null;
}

export interface AdvancedLevel {
  readonly level: ForkedLevel;
  readonly forked: RunForked;
  readonly state: RunState;
  readonly commands: readonly Command[];
}

/** The activity that waits for the next run to be written. */
export interface CallingActivity {
  readonly id: number;
  readonly attempt: number;
  readonly epoch: number;
}

interface Writing {
  readonly rootId: string;
  readonly calling: CallingActivity | null;
  readonly budgets: readonly string[];
  readonly pools: readonly string[];
  readonly draw: (count: number) => Promise<readonly number[]>;
}

/** Returns the call of this level that the run of the next level will answer. */
export async function writeLevel(
  client: PoolClient,
  one: AdvancedLevel,
  writing: Writing,
): Promise<CallingActivity | null> {
  const { level, forked, state, commands } = one;
  const { run, id, point, renamed } = level;
  const inline = await inlineColumn(one, writing);
  const deadline = commands.findLast((command) => command.do === "deadline");
  const phase = state.phase.is === "handling" ? `handling.${state.phase.of}` : state.phase.is;
  await client.query(
    `insert into runs (id, root_id, parent_activity_id, parent_attempt, parent_epoch, budgets, pools, forked_from, rev, epoch, kept, status, phase,
       steps, started_at, inline, deadline, definition_hash, program, name, ${copiedColumns.runs})
     select $1, $2, $3, $4, $5, $6::text[], $18::text[], id, $7, $8, $9, 'doing', $10,
       $11, clock_timestamp(), $12::json, to_timestamp($13::float8 / 1000), $15, $16, $17, ${copiedColumns.runs}
     from runs where id = $14`,
    [
      ...[id, writing.rootId, writing.calling?.id ?? null, writing.calling?.attempt ?? null],
      ...[writing.calling?.epoch ?? null, writing.budgets, point.seq + 1, state.epoch, toJson(sparseState(state))],
      ...[phase, state.spent.steps, inline.length === 0 ? null : toJson(inline), deadline?.at ?? null, run.id],
      ...[run.definitionHash, run.path, run.program.name, writing.pools],
    ],
  );
  await client.query(
    `insert into events (run_id, body, ${copiedColumns.events})
     select $1, coalesce((select r.body from unnest($4::bigint[], $5::text[]) as r(seq, body) where r.seq = events.seq and part = 0), body),
       ${copiedColumns.events}
     from events where run_id = $2 and seq <= $3`,
    [id, run.id, point.seq, [...renamed.keys()], [...renamed.values()].map(toJson)],
  );
  await client.query(
    "insert into events (run_id, seq, part, type, at, body) values ($1, $2, 0, $3, to_timestamp($4::float8 / 1000), $5)",
    [id, point.seq + 1, forked.type, forked.at, toJson(forked)],
  );
  const warnings = commands.flatMap((command) => (command.do === "warn" ? toJson(command) : []));
  if (warnings.length > 0) {
    await client.query(
      `insert into events (run_id, seq, part, type, at, body)
       select $1, $2, w.part, 'warning', to_timestamp($3::float8 / 1000), w.body from unnest($4::text[]) with ordinality w(body, part)`,
      [id, point.seq + 1, forked.at, warnings],
    );
  }
  await client.query(
    `insert into variables (run_id, name, value)
     select $1, x.name, x.value from json_to_recordset($2::json) as x(name text, value text)`,
    [id, toJson(variableWrites(null, state.variables, false))],
  );
  // The finished activities, for the history. A visit that the fork continues gets its own row below.
  await client.query(
    `insert into activities (run_id, root_id, ${copiedColumns.activities}) select $1, $2, ${copiedColumns.activities}
     from activities where run_id = $3 and state = 'done' and seq <= $4 order by id`,
    [id, writing.rootId, run.id, point.seq],
  );
  return writeInFlight(client, one, writing.rootId);
}

async function inlineColumn({ level, state, forked }: AdvancedLevel, { draw }: Writing): Promise<InlineColumn[]> {
  const column: InlineColumn[] = [];
  for (const { ref } of Object.values(state.active)) {
    const work = level.point.works[activityKey(ref)];
    const kind = work === undefined ? null : inlineKindOf(work);
    const [id] = kind === null ? [] : await draw(1);
    if (kind !== null && id !== undefined) column.push({ ...ref, id, kind, at: forked.at });
  }
  return column;
}

async function writeInFlight(client: PoolClient, one: AdvancedLevel, rootId: string): Promise<CallingActivity | null> {
  const { level, state } = one;
  let calling: CallingActivity | null = null;
  for (const active of Object.values(state.active)) {
    const { ref } = active;
    const key = activityKey(ref);
    const old = level.point.works[key];
    if (old === undefined || inlineKindOf(old) !== null) continue;
    const work = renewed(one, ref.node, old);
    const outcome = key === level.left ? null : await returnedBefore(client, level, ref);
    const awaits = awaitsCalls(state, active);
    const waits = workKinds[work.kind].waitsFor === "answer" || key === level.left || awaits;
    const { rows } = await client.query<{ id: number }>(
      `insert into activities (run_id, root_id, node, generation, item, attempt, kind, queue, epoch, state, work, outcome)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) returning id`,
      [
        ...[level.id, rootId, ref.node, ref.generation, itemToColumn(ref.item), ref.attempt],
        ...[work.kind, workKinds[work.kind].queue, state.epoch, waits ? "waiting" : "ready", toJson(work)],
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
    if (awaits || paidKinds.has(work.kind)) {
      // A stored reply called the runs that it waits for.
      const replies = awaits || level.point.keepsReplies;
      if (replies) await copyReplies(client, level, rootId, ref, id);
      await copyToolCalls(client, level, rootId, ref, id, replies);
    }
  }
  return calling;
}

/** The fork copies replies of models and results of tools for these kinds. */
const paidKinds: ReadonlySet<Work["kind"]> = new Set(["prompt", "grade", "memory", "tool"]);

/** Time and money count from the fork, so the values that were computed at the first request are computed again. */
function renewed({ level, state, forked }: AdvancedLevel, node: string, work: Work): Work {
  const { program } = level.run;
  switch (work.kind) {
    case "call": {
      const start = { ...work.start, caps: remainingCaps(program, state, forked.at), aside: asideOf(program, state) };
      return { ...work, start };
    }
    case "prompt":
    case "grade":
    case "memory":
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

/** Returns whether a run that the activity called, or a run below it, changed files. */
const changedFiles = `exists (
  with recursive below as (
    select c.id from runs c where c.parent_activity_id = activities.id
    union all
    select c.id from below b join activities a on a.run_id = b.id join runs c on c.parent_activity_id = a.id
  )
  select 1 from below b join activities a on a.run_id = b.id
  where ${changesFiles("a")} or exists (select 1 from tool_calls t where t.activity_id = a.id and t.in_session))`;

/**
 * The result of a called run, if the stop of its caller did not cause that result. A called run that changed files is called again: the
 * fork has the files as they were before it (fork-workspace.ts).
 */
async function returnedBefore(client: PoolClient, { run, point }: ForkedLevel, ref: ActivityRef): Promise<Json | null> {
  if (!point.keepsReplies) return null;
  const { rows } = await client.query<{ outcome: Json }>(
    `select outcome from activities where run_id = $1 and node = $2 and generation = $3 and item = $4
       and state = 'done' and outcome is not null and outcome ->> 'status' = 'success' and not ${changedFiles}`,
    [run.id, ref.node, ref.generation, itemToColumn(ref.item)],
  );
  return rows[0]?.outcome ?? null;
}

/** K2. Copied replies are older than every attempt of the fork, so an empty one among them is requested again. */
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

/**
 * Copies the results of tools, and their failures. They too are older than every attempt of the fork. An unfinished call is not copied: the
 * user was told that its outcome is unknown, and forks to repeat it. If the replies are not copied, a tool's result counts only for a reply
 * that requests the same call again (X4 of tool-calls.ts). In a session, the files are no longer those that the call left.
 */
async function copyToolCalls(
  client: PoolClient,
  { run, id }: ForkedLevel,
  rootId: string,
  ref: { readonly node: string; readonly generation: number; readonly item: number | null },
  activityId: number,
  replies: boolean,
): Promise<void> {
  await client.query(
    `insert into tool_calls (activity_id, call_index, request_hash, position, attempt, claim, run_id, root_id, tenant, name, arguments,
       in_session, state, result, failure, ms, note)
     select distinct on (t.call_index, t.request_hash, t.position) $1, t.call_index, t.request_hash, t.position, 0, $8, $2, $3, t.tenant,
       t.name, t.arguments, t.in_session, t.state, t.result, t.failure, t.ms, t.note
     from tool_calls t join activities a on a.id = t.activity_id
     where a.run_id = $4 and a.node = $5 and a.generation = $6 and a.item = $7 and t.state <> 'begun'
       and ($8 = 0 or (t.state = 'done' and t.call_index >= 0 and not t.in_session))
     order by t.call_index, t.request_hash, t.position, t.attempt desc`,
    [
      ...[activityId, id, rootId, run.id, ref.node, ref.generation, itemToColumn(ref.item)],
      replies ? 0 : ofAnotherReply,
    ],
  );
}
