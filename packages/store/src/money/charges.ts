/**
 * The account: one line per request that was sent to a model (table `charges`). Every figure of cost, tokens and calls that a person or a
 * program sees is a sum over it: here, and in read/usage.ts.
 *
 * C1  The statement that reserves (budgets.ts) opens a line at its worst case, before the request is sent.
 * C2  The statement that stores the reply (calls.ts) marks the line paid. Without a reply, the line becomes unsure if the request may have
 *     been billed, and is deleted if it surely was not.
 * C3  An open line does not count while its run continues. If it is still open when its run has ended, its worker was lost, and it counts.
 * C4  The lines of a deleted run become totals. The line of a request that is still on its way no longer names its run (deleted-usage.ts).
 */

import { waitsForCallee } from "../commit/kinds-sql.ts";
import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";

export interface CallUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly characters: number;
  readonly nanodollars: number;
}

export interface Charge extends Omit<CallUsage, "nanodollars"> {
  readonly runId: string;
  readonly rootId: string;
  readonly model: string;
}

export interface Spent extends CallUsage {
  readonly calls: number;
  /** Requests without a reply, counted at their worst case because they may have been billed. */
  readonly unsure?: { readonly calls: number; readonly tokens: number; readonly nanodollars: number };
}

export const noCalls: Spent = { calls: 0, promptTokens: 0, completionTokens: 0, characters: 0, nanodollars: 0 };

/** The sums over lines `c`, as one JSON object: a `Spent`. */
const sumsOf = `json_build_object('calls', count(*), 'promptTokens', coalesce(sum(c.prompt_tokens), 0),
    'completionTokens', coalesce(sum(c.completion_tokens), 0), 'characters', coalesce(sum(c.characters), 0),
    'nanodollars', coalesce(sum(c.nanodollars), 0), 'unsure', json_build_object(
      'calls', count(*) filter (where c.state <> 'paid'),
      'tokens', coalesce(sum(c.prompt_tokens + c.completion_tokens) filter (where c.state <> 'paid'), 0),
      'nanodollars', coalesce(sum(c.nanodollars) filter (where c.state <> 'paid'), 0)))`;

/** The sums over those lines `c` that count. */
export const sumOf = (where: string) => `(
  select ${sumsOf}
  from markmill.charges c where ${where} and (c.state <> 'open'
    or exists (select 1 from markmill.runs ended where ended.id = c.run_id and ended.ended_at is not null)))`;

/** The spending of a run and the runs below it, for a query with a run `id` and its `root`. For the root it uses the root's index. */
export const spentColumn = (id: string, root: string) => `case when ${id} = ${root} then ${sumOf(`c.root_id = ${id}`)}
  else ${sumOf(`c.run_id in (
    with recursive tree(id) as (
      select ${id} union all
      select k.id from tree t join markmill.activities a on a.run_id = t.id and ${waitsForCallee("a")}
        join markmill.runs k on k.parent_activity_id = a.id)
    select id from tree)`)} end`;

/** The spending of a whole tree of runs. */
export async function spentOf(database: Database, rootId: string): Promise<Spent> {
  const rows = await queryDatabase<{ spent: Spent }>(
    database,
    "Summing what was spent",
    `select ${sumOf("c.root_id = $1")} as spent`,
    [rootId],
  );
  return rows[0]?.spent ?? noCalls;
}

/** A line of the account, for people. */
export interface ChargeLine extends CallUsage {
  readonly runId: string;
  readonly activityId: number;
  readonly callIndex: number;
  readonly model: string;
  /** open: on its way. paid: its reply is stored. unsure: no reply arrived, and it may have been billed. */
  readonly state: "open" | "paid" | "unsure";
  readonly createdAt: Date;
}

/** The lines of a whole tree of runs, in the order in which the requests were sent. */
export async function chargesOf(database: Database, rootId: string, limit = 10_000): Promise<readonly ChargeLine[]> {
  return queryDatabase<ChargeLine>(
    database,
    "Reading the account",
    `select run_id as "runId", activity_id as "activityId", call_index as "callIndex", model, state, prompt_tokens as "promptTokens",
       completion_tokens as "completionTokens", characters, nanodollars, created_at as "createdAt"
     from charges where root_id = $1 order by id limit $2`,
    [rootId, limit],
  );
}
