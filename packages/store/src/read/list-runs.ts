/**
 * Lists runs by status, definition, label, time and variable value, newest first, paged by key. The SQL is written by hand: people and
 * boards request lists often, and importing drizzle alone costs a command half a second.
 */

import { openRunsWith } from "../commit/open-runs-with.ts";
import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import { StoreError } from "../database/store-error.ts";
import { type RunStatus, type RunSummary, type SummaryRow, summaryColumns, toSummary } from "./get-run.ts";
import { idsWith } from "./ids-with.ts";

export interface RunFilter {
  readonly status?: readonly RunStatus[];
  readonly definitionHash?: string;
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly createdFrom?: Date;
  readonly createdBefore?: Date;
  readonly variables?: Readonly<Record<string, string>>;
  /** The end of an id, or its beginning (ids-with.ts). */
  readonly idPart?: string;
  /** Part of the name, of the id or of a label's value, in upper or lower case. */
  readonly search?: string;
  /** true: only root runs. */
  readonly roots?: boolean;
}

export interface RunPage {
  readonly runs: readonly RunSummary[];
  /** Pass as `after` for the next page. null: this was the last page. */
  readonly next: string | null;
}

export async function listRuns(
  database: Database,
  tenant: string,
  filter: RunFilter = {},
  page: { readonly after?: string; readonly limit?: number } = {},
): Promise<RunPage> {
  const limit = Math.min(page.limit ?? 50, 500);
  const ids = filter.idPart === undefined ? undefined : await idsWith(database, "runs", tenant, filter.idPart);
  if (ids?.length === 0) return { runs: [], next: null };
  const values: unknown[] = [];
  const p = (value: unknown) => `$${values.push(value)}`;
  const wanted = [`r.tenant = ${p(tenant)}`, ...conditions(filter, p), ...after(page.after, p)];
  if (ids !== undefined) wanted.push(`r.id = any(${p(ids)}::text[])`);
  const rows = await queryDatabase<SummaryRow & { readonly micros: string }>(
    database,
    "Listing runs",
    `select ${summaryColumns}, (extract(epoch from r.created_at) * 1000000)::bigint::text as micros
     from runs r where ${wanted.join(" and ")} order by r.created_at desc, r.id desc limit ${p(limit + 1)}`,
    values,
  );
  const found = rows.slice(0, limit);
  const last = rows.length > limit ? found.at(-1) : undefined;
  return {
    runs: found.map(({ micros: _, ...row }) => toSummary(row)),
    next: last === undefined ? null : `${last.micros}-${last.id}`,
  };
}

/** Adds a value to the statement's parameters and returns its placeholder. */
type Parameter = (value: unknown) => string;

function conditions(filter: RunFilter, p: Parameter): string[] {
  const found: string[] = [];
  if (filter.status !== undefined) found.push(`r.status = any(${p([...filter.status])}::text[])`);
  if (filter.definitionHash !== undefined) found.push(`r.definition_hash = ${p(filter.definitionHash)}`);
  if (filter.name !== undefined) found.push(`r.name = ${p(filter.name)}`);
  if (filter.labels !== undefined && Object.keys(filter.labels).length > 0) {
    // The second condition matches the one of the index.
    found.push(`r.labels @> ${p(JSON.stringify(filter.labels))}::jsonb and r.labels <> '{}'`);
  }
  if (filter.search !== undefined && filter.search !== "") {
    const part = `lower(${p(filter.search)}::text)`;
    found.push(
      `(position(${part} in lower(r.name)) > 0 or position(${part} in r.id) > 0
        or (r.labels <> '{}' and exists (
          select 1 from jsonb_each_text(r.labels) l where position(${part} in lower(l.value)) > 0)))`,
    );
  }
  if (filter.createdFrom !== undefined) found.push(`r.created_at >= ${p(filter.createdFrom)}::timestamptz`);
  if (filter.createdBefore !== undefined) found.push(`r.created_at < ${p(filter.createdBefore)}::timestamptz`);
  if (filter.roots === true) found.push("r.id = r.root_id");
  for (const [name, value] of Object.entries(filter.variables ?? {})) {
    const [named, wanted] = [p(name), `${p(value)}::text`];
    // Variables of ended runs are indexed by value, those of open runs are scanned.
    found.push(
      `r.id in (
        select v.run_id from variables v
        where v.name = ${named} and left(v.value, 64) = left(${wanted}, 64) and v.value = ${wanted} and v.final
        union all
        ${openRunsWith(p, name, value)})`,
    );
  }
  return found;
}

/** Key of the previous page: the time of its last run, to the microsecond, and its id. That run may be deleted by now. */
function after(key: string | undefined, p: Parameter): string[] {
  if (key === undefined) return [];
  const [, micros, id] = /^(\d{1,17})-(.+)$/.exec(key) ?? [];
  if (micros === undefined || id === undefined)
    throw new StoreError("STORE_PAGE_KEY", `${JSON.stringify(key)} is not a page key of this list.`);
  const time = `timestamptz 'epoch' + ${p(micros)}::bigint * interval '1 microsecond'`;
  return [`(r.created_at, r.id) < (${time}, ${p(id)}::text)`];
}
