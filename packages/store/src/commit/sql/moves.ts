/** Runs that move (C1), and their columns that are passed in arrays (C5). */

import type { Shape } from "../../throughput/statement-shape.ts";
import type { CommitRows, MoveRow } from "../rows.ts";
import { listed, separator } from "./texts.ts";

/** A statement leaves out what its group does not need. */
type MoveFlag = "changesStatus" | "borne" | "inline";
const movingColumns = {
  id: { type: "text" },
  rev: { type: "bigint" },
  from_epoch: { type: "integer" },
  steps: { type: "integer" },
  type: { type: "text" },
  at: { type: "float8" },
  epoch: { type: "integer", of: "changesStatus" },
  status: { type: "text", of: "changesStatus" },
  phase: { type: "text", of: "changesStatus" },
  ended: { type: "boolean", of: "changesStatus" },
  aborts: { type: "boolean", of: "changesStatus" },
  activity: { type: "bigint", of: "borne" },
  claim: { type: "integer", of: "borne" },
  settles: { type: "boolean", of: "borne" },
  inline_id: { type: "bigint", of: "inline" },
  inline_kind: { type: "text", of: "inline" },
  asked_at: { type: "float8", of: "inline" },
} as const satisfies Record<keyof MoveRow, { readonly type: string; readonly of?: MoveFlag }>;

function movingNames(shape: Shape): (keyof MoveRow)[] {
  return (Object.keys(movingColumns) as (keyof MoveRow)[]).filter((name) => {
    const column: { readonly type: string; readonly of?: MoveFlag } = movingColumns[name];
    return column.of === undefined || shape[column.of];
  });
}

const movingTexts = ({ rare }: Shape) => ["state", "body", "inline", ...(rare ? ["rare"] : [])];

/** See C5. */
function movingFrom(p: number, shape: Shape): string {
  const names = movingNames(shape);
  const texts = movingTexts(shape);
  const arrays = names.map((name, index) => `$${p + index}::${movingColumns[name].type}[]`);
  const lists = texts.map((_, index) => listed(p + names.length + index));
  return `rows from (unnest(${arrays.join(", ")}), ${lists.join(", ")})
    with ordinality as x(${[...names, ...texts].join(", ")}, n)`;
}

export function movingValues(rows: CommitRows, shape: Shape): string[] {
  const columns = movingNames(shape).map((name) => {
    const cells = rows.moves.map((row) => {
      const value = row[name];
      if (value === undefined) return "NULL";
      return name === "id" ? `"${String(value).replace(/["\\]/g, "\\$&")}"` : String(value);
    });
    return `{${cells.join(",")}}`;
  });
  const texts = [rows.states, rows.bodies, rows.inlines, ...(shape.rare ? [rows.rares] : [])];
  return [...columns, ...texts.map((text) => text.join(separator))];
}

export const movingParameters = (shape: Shape) => movingNames(shape).length + movingTexts(shape).length;

/** The claim is compared with a scalar subquery: Postgres plans an `exists` under an `or` as a scan of the whole table. */
const claimHolds = `
    and (x.activity is null or x.claim = (
      select a.claim from activities a where a.id = x.activity and a.state in ('ready', 'claimed', 'waiting')))`;

/** Word, result and reason are written once, at the end of the run. */
const rareValue = (name: string) => `(nullif(x.rare, '')::json ->> '${name}')`;
const rarely = ({ changesStatus }: Shape) => {
  const deadline = `coalesce(to_timestamp(${rareValue("deadline")}::float8 / 1000), r.deadline)`;
  return `, word = ${rareValue("word")}, result = ${rareValue("result")}, reason = ${rareValue("reason")}::json,
    deadline = ${changesStatus ? `case when x.ended then null else ${deadline} end` : deadline}`;
};

const statusSet = `, epoch = coalesce(x.epoch, r.epoch), status = coalesce(x.status, r.status), phase = coalesce(x.phase, r.phase),
    ended_at = case when x.ended then clock_timestamp() end`;

export const moved = (name: string, p: number, shape: Shape) => `
${name} as (
  update runs r set
    rev = r.rev + 1, kept = x.state, steps = x.steps, inline = nullif(x.inline, '')::json
    ${shape.changesStatus ? statusSet : ""} ${shape.rare ? rarely(shape) : ""}
  from ${movingFrom(p, shape)}
  where r.id = x.id and r.rev = x.rev and r.epoch = x.from_epoch ${shape.borne ? claimHolds : ""}
  returning x.n, r.id, r.root_id, r.rev, r.epoch, x.type, x.at, x.body
    ${shape.changesStatus ? ", x.aborts, x.ended" : ""} ${shape.settles ? ", case when x.settles then x.activity end as settled" : ""}
    ${shape.inline ? ", x.inline_id, x.inline_kind, x.asked_at" : ""}
)`;
