/**
 * Spending, from the account (charges.ts) and from the totals of deleted runs (deleted-usage.ts), grouped as requested. For a deleted run
 * only the hour, the definition and the model are known. Grouped by run or by label, its spending is under the key "".
 */

import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import type { Spent } from "../money/charges.ts";

/** run: a root run with all runs below it. label: the values of one label of root runs. day: in UTC, as 2026-01-31. */
export type UsageBy =
  | { readonly kind: "run" }
  | { readonly kind: "definition" }
  | { readonly kind: "model" }
  | { readonly kind: "label"; readonly name: string }
  | { readonly kind: "day" };

export interface UsageFilter {
  /** The time of the call. Calls of deleted runs count at the beginning of their hour. */
  readonly from?: Date;
  readonly before?: Date;
  readonly definitionHash?: string;
  readonly model?: string;
  /** Labels of the root run. A deleted run has none. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly rootId?: string;
}

export interface UsageLine extends Spent {
  /** The run's id ("" for deleted runs), the definition's hash, the model, the label's value ("" for runs without it), or the day. */
  readonly key: string;
  /** Root runs that made the calls, without deleted ones. */
  readonly runs: number;
}

/** The number of lines, and the number of earlier lines to skip. */
export interface UsagePage {
  readonly limit?: number;
  readonly skip?: number;
}

const keys: Readonly<Record<UsageBy["kind"], string>> = {
  run: "coalesce(root_id, '')",
  definition: "definition_hash",
  model: "model",
  label: "coalesce(labels ->> $7, '')",
  day: "to_char(at at time zone 'UTC', 'YYYY-MM-DD')",
};

const figures = "prompt_tokens, completion_tokens, characters, nanodollars";
const ofLine = `1 as calls, c.prompt_tokens, c.completion_tokens, c.characters, c.nanodollars, (c.state <> 'paid')::integer as unsure_calls,
  case when c.state = 'paid' then 0 else c.prompt_tokens + c.completion_tokens end as unsure_tokens,
  case when c.state = 'paid' then 0 else c.nanodollars end as unsure_nanodollars`;
const within = (time: string, definition: string, model: string) => `
  ($1::timestamptz is null or ${time} >= $1) and ($2::timestamptz is null or ${time} < $2)
  and ($3::text is null or ${definition} = $3) and ($4::text is null or ${model} = $4)`;
const namesNoRun = "$5::jsonb is null and $6::text is null";

/** The spending of existing runs, of requests still on their way whose run was deleted, and of all other deleted runs. */
const spendingText = `
  select c.root_id, r.definition_hash, r.labels, c.model, c.created_at as at, ${ofLine}
  from charges c join runs r on r.id = c.root_id
  where c.tenant = $9 and ${within("c.created_at", "r.definition_hash", "c.model")}
    and ($5::jsonb is null or r.labels @> $5) and ($6::text is null or c.root_id = $6)
    and (c.state <> 'open' or exists (select 1 from runs ended where ended.id = c.run_id and ended.ended_at is not null))
  union all
  select null, c.deleted_definition, null, c.model, c.created_at, ${ofLine}
  from charges c
  where c.tenant = $9 and c.deleted_definition is not null and ${namesNoRun} and ${within("c.created_at", "c.deleted_definition", "c.model")}
  union all
  select null, definition_hash, null, model, hour, calls, ${figures}, unsure_calls, unsure_tokens, unsure_nanodollars
  from deleted_usage where tenant = $9 and ${namesNoRun} and ${within("hour", "definition_hash", "model")}`;

const sums = `json_build_object('calls', sum(calls), 'promptTokens', sum(prompt_tokens), 'completionTokens', sum(completion_tokens),
  'characters', sum(characters), 'nanodollars', sum(nanodollars), 'unsure', json_build_object(
    'calls', sum(unsure_calls), 'tokens', sum(unsure_tokens), 'nanodollars', sum(unsure_nanodollars)))`;

/** Days in their order, the rest by cost, the highest first. */
export async function usageBy(
  database: Database,
  tenant: string,
  by: UsageBy,
  filter: UsageFilter = {},
  { limit = 1_000, skip = 0 }: UsagePage = {},
): Promise<readonly UsageLine[]> {
  const { from, before, definitionHash, model, labels, rootId } = filter;
  const rows = await queryDatabase<{ key: string; runs: number; spent: Spent }>(
    database,
    "Summing usage",
    `select key, runs, spent from (
       select ${keys[by.kind]} as key, count(distinct root_id)::integer as runs, ${sums} as spent, sum(nanodollars) as cost
       from (${spendingText}) spending where $7::text is null or true group by 1
     ) lines order by ${by.kind === "day" ? "key" : "cost desc, key"} limit $8 offset $10`,
    [
      ...[from ?? null, before ?? null, definitionHash ?? null, model ?? null],
      ...[labels === undefined ? null : JSON.stringify(labels), rootId ?? null],
      by.kind === "label" ? by.name : null,
      Math.max(1, Math.min(limit, 10_000)),
      ...[tenant, skip],
    ],
  );
  return rows.map(({ key, runs, spent }) => ({ key, runs, ...spent }));
}
