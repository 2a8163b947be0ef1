/**
 * The one statement that changes ("moves") runs. Its contract:
 *
 * C1  A run moves only if it still has the `rev` and `epoch` of the decision, and if the activity that brought the event still has its
 *     claim. All other rows are written only for runs that moved (`gate`), in the same commit.
 * C2  Each run has at most one row. The sub-statements share one snapshot and cannot change a row twice.
 * C3  The statement returns the runs that moved and the jobs to enqueue. A run that is missing from the answer did not change.
 * C4  Runs are sorted by id, so that two groups that share runs lock them in the same order. The other rows name their run by `n`. For runs
 *     that move, `n` is the index among them. For runs that are created, `n` is below zero. The joins with `gate` spend their time on
 *     comparing small integers.
 * C5  The columns that every step writes are passed as columns: numbers and words in arrays, JSON texts in one text. The JSON texts are
 *     separated by U+001E, which no JSON text contains unescaped. When these columns were rows of JSON, as all other parts are, they took a
 *     seventh of the server's time per step.
 *
 * The parts of the statement are in sql/, one file per kind of row. The shape (statement-shape.ts) is the set of parts that a statement
 * has. Each connection prepares each shape once, under its number. commit-answer.ts reads the answer.
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

/** Statement names are numbers: the server compares only the first 63 characters of a name. */
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
