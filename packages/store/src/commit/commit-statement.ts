/**
 * The one statement that moves runs. Contract:
 *
 * C1  A run moves only if it is still at the `rev` and `epoch` the decision was made on, and the activity that brought the event
 *     still has the claim it was performed under. Everything else is written only for runs that moved (`gate`), in the same commit.
 * C2  At most one row per run: the sub-statements share one snapshot and cannot touch a row twice.
 * C3  It answers with the runs that moved and the jobs to enqueue. A run that is missing from the answer did not change.
 * C4  Runs come sorted by id, so that two groups that share runs lock them in the same order. The other rows name their run by `n`,
 *     its place among the runs that move, or below zero among those that are created: comparing small integers is what the joins with
 *     `gate` spend their time on.
 * C5  What every step writes comes by the column: numbers and words in arrays, JSON texts in one text, parted by U+001E, which is never in
 *     a JSON text as itself. Rows of JSON, as the rest has, were a seventh of what a step cost the server.
 *
 * Its parts stand in sql/, by what they write. Which of them a statement has is its shape (statement-shape.ts); each shape is prepared once
 * per connection under its number. What it answers is read by commit-answer.ts.
 */
import { databaseNow } from "../database/database-clock.ts";
import { combinationOf, type ListName, type Shape, shapeOf, usedLists } from "../throughput/statement-shape.ts";
import type { CommitRows } from "./rows.ts";
import { aborts, next, retries, returns, settled, voids } from "./sql/activities.ts";
import { asks } from "./sql/asks.ts";
import { createdAtGate, creations } from "./sql/creations.ts";
import { moved, movingParameters, movingValues } from "./sql/moves.ts";
import { finished, logged, messages, variables, warnings } from "./sql/record.ts";
import { separator } from "./sql/texts.ts";

export interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly string[];
}

const listParts: Readonly<Record<ListName, (parameter: string, shape: Shape) => string>> = {
  next,
  retries,
  voids,
  warnings,
  variables,
  messages,
  returns,
  asks,
};

/** Numbered: the server tells names apart by their first 63 characters only. */
const statements = new Map<string, Omit<Statement, "values">>();

export function commitStatement(rows: CommitRows, stringify: (value: unknown) => string): Statement {
  const lists = usedLists(rows);
  const shape = shapeOf(rows, lists);
  const values = [
    ...(shape.moves ? movingValues(rows, shape) : []),
    ...(shape.creations
      ? [stringify(rows.creations), rows.createdStates.join(separator), rows.createdBodies.join(separator)]
      : []),
    ...lists.map((list) => stringify(list.rows)),
  ];
  return { ...prepare(shape), values };
}

function prepare(shape: Shape): Omit<Statement, "values"> {
  const key = combinationOf(shape);
  const known = statements.get(key);
  if (known !== undefined) return known;
  const prepared = { name: `commit-${statements.size}`, text: assemble(shape) };
  statements.set(key, prepared);
  return prepared;
}

function assemble(shape: Shape): string {
  let parameter = 1;
  const take = (count: number): number => {
    parameter += count;
    return parameter - count;
  };
  const pieces: string[] = [];
  if (shape.moves) {
    pieces.push(moved(shape.creations ? "moved" : "gate", take(movingParameters(shape)), shape));
  }
  if (shape.creations) {
    pieces.push(creations(take(3), shape));
    pieces.push(`gate as materialized (${shape.moves ? "select * from moved union all" : ""} ${createdAtGate(shape)})`);
  }
  pieces.push(logged(shape));
  if (shape.settles) pieces.push(settled);
  const places = new Map<ListName, string>();
  for (const list of shape.lists) {
    const place = `$${take(1)}`;
    places.set(list, place);
    pieces.push(listParts[list](place, shape));
  }
  if (shape.aborts) pieces.push(aborts(places.get("next") ?? "'[]'", shape));
  if (shape.ends) pieces.push(finished(places.get("variables") ?? null));
  const asked = [
    ...(shape.lists.includes("next") ? [enqueuing("next", "next", "asked_at")] : []),
    ...(shape.lists.includes("retries") ? [enqueuing("again", "again where state = 'ready'")] : []),
    ...(shape.lists.includes("returns") ? [returning("returned", "")] : []),
    ...(shape.called ? [returning("caller", "where state = 'ready'")] : []),
  ];
  const bare = `select 'moved' as what, g.id as run_id, ${databaseNow} as now`;
  const full = `, null::bigint as id, null::text as node, null::integer as generation, null::integer as item,
  null::text as kind, null::integer as attempt, null::integer as enqueues, null::integer as claim, g.epoch, null::text as parent_job, null::float8 as asked_at`;
  return `with ${pieces.join(",")}
${bare}${asked.length === 0 ? "" : full} from gate g
${asked.join("\n")}`;
}

const enqueuing = (what: string, from: string, askedAt = "null") =>
  `union all select '${what}', run_id, null, id, node, generation, item, kind, attempt, enqueues, claim, epoch, null, ${askedAt} from ${from}`;
const returning = (from: string, where: string) =>
  `union all select 'returned', run_id, null, id, null, null, null, 'call', attempt, enqueues, null, epoch, parent_job, null from ${from} ${where}`;
