/** What was spent, from the account (charges.ts), by what somebody wants to know it of. */

import { type Spent, sumsOf } from "../charges.ts";
import type { Database } from "../database.ts";
import { queryDatabase } from "../query-database.ts";

/** run: a root run with all it called. label: the values of one label of root runs. day: in UTC, as 2026-01-31. */
export type UsageBy =
  | { readonly kind: "run" }
  | { readonly kind: "definition" }
  | { readonly kind: "model" }
  | { readonly kind: "label"; readonly name: string }
  | { readonly kind: "day" };

export interface UsageFilter {
  /** When the call was made. */
  readonly from?: Date;
  readonly before?: Date;
  readonly definitionHash?: string;
  readonly model?: string;
  /** Of the root run. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly rootId?: string;
}

export interface UsageLine extends Spent {
  /** The run's id, the definition's hash, the model, the label's value ("" for runs without it), the day. */
  readonly key: string;
  /** Root runs that made the calls. */
  readonly runs: number;
}

const keys: Readonly<Record<UsageBy["kind"], string>> = {
  run: "c.root_id",
  definition: "r.definition_hash",
  model: "c.model",
  label: "coalesce(r.labels ->> $7, '')",
  day: "to_char(c.created_at at time zone 'UTC', 'YYYY-MM-DD')",
};

/** Days in their order, the rest by cost, the highest first. */
export async function usageBy(
  database: Database,
  tenant: string,
  by: UsageBy,
  filter: UsageFilter = {},
  limit = 1_000,
): Promise<readonly UsageLine[]> {
  const { from, before, definitionHash, model, labels, rootId } = filter;
  const rows = await queryDatabase<{ key: string; runs: number; spent: Spent }>(
    database,
    "Summing usage",
    `select key, runs, spent from (
       select ${keys[by.kind]} as key, count(distinct c.root_id)::integer as runs, ${sumsOf} as spent, sum(c.nanodollars) as cost
       from charges c join runs r on r.id = c.root_id
       where c.tenant = $9 and ($1::timestamptz is null or c.created_at >= $1) and ($2::timestamptz is null or c.created_at < $2)
         and ($3::text is null or r.definition_hash = $3) and ($4::text is null or c.model = $4)
         and ($5::jsonb is null or r.labels @> $5) and ($6::text is null or c.root_id = $6) and ($7::text is null or true)
         and (c.state <> 'open' or exists (select 1 from runs ended where ended.id = c.run_id and ended.ended_at is not null))
       group by 1
     ) lines order by ${by.kind === "day" ? "key" : "cost desc, key"} limit $8`,
    [
      ...[from ?? null, before ?? null, definitionHash ?? null, model ?? null],
      ...[labels === undefined ? null : JSON.stringify(labels), rootId ?? null],
      by.kind === "label" ? by.name : null,
      Math.max(1, Math.min(limit, 10_000)),
      tenant,
    ],
  );
  return rows.map(({ key, runs, spent }) => ({ key, runs, ...spent }));
}
