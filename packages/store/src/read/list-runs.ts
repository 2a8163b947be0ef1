/**
 * Runs by status, definition, label, time and variable value, newest first, paged by key. The query is composed with drizzle, whose
 * import takes 0.4 to 0.6 s: index.ts loads this file on first use, so that workers never pay for it.
 */
import { and, desc, eq, gte, inArray, lt, type SQL, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { type Spent, spentColumn } from "../charges.ts";
import type { Database } from "../database.ts";
import { runs, runVariables } from "../schema/runs.ts";
import { StoreError, translate } from "../store-error.ts";
import { type RunStatus, type RunSummary, type SummaryRow, summaryKeys, toSummary } from "./get-run.ts";

export interface RunFilter {
  readonly status?: readonly RunStatus[];
  readonly definitionHash?: string;
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly createdFrom?: Date;
  readonly createdBefore?: Date;
  readonly variables?: Readonly<Record<string, string>>;
  /** Part of the name, of the id or of a label's value, in any case. */
  readonly search?: string;
  /** true: only runs that nobody called. */
  readonly roots?: boolean;
}

export interface RunPage {
  readonly runs: readonly RunSummary[];
  /** Pass as `after` for the next page; null: this was the last. */
  readonly next: string | null;
}

export async function listRuns(
  database: Database,
  tenant: string,
  filter: RunFilter = {},
  page: { readonly after?: string; readonly limit?: number } = {},
): Promise<RunPage> {
  const limit = Math.min(page.limit ?? 50, 500);
  const query = drizzle(database.calm)
    .select({
      ...(Object.fromEntries(summaryKeys.map((key) => [key, runs[key]])) as Pick<
        typeof runs,
        (typeof summaryKeys)[number]
      >),
      micros: sql<string>`(extract(epoch from ${runs.createdAt}) * 1000000)::bigint::text`,
      spent: sql<Spent>`${sql.raw(spentColumn("runs.id", "runs.root_id"))}`,
    })
    .from(runs)
    .where(and(eq(runs.tenant, tenant), ...conditions(filter), after(page.after)))
    .orderBy(desc(runs.createdAt), desc(runs.id))
    .limit(limit + 1);
  try {
    const rows = (await query) as unknown as (SummaryRow & { readonly micros: string })[];
    const found = rows.slice(0, limit);
    const last = rows.length > limit ? found.at(-1) : undefined;
    return {
      runs: found.map(({ micros: _, ...row }) => toSummary(row)),
      next: last === undefined ? null : `${last.micros}-${last.id}`,
    };
  } catch (error) {
    throw translate(error instanceof Error && error.cause !== undefined ? error.cause : error, "Listing runs");
  }
}

function conditions(filter: RunFilter): SQL[] {
  const found: SQL[] = [];
  if (filter.status !== undefined) found.push(inArray(runs.status, [...filter.status]));
  if (filter.definitionHash !== undefined) found.push(eq(runs.definitionHash, filter.definitionHash));
  if (filter.name !== undefined) found.push(eq(runs.name, filter.name));
  if (filter.labels !== undefined && Object.keys(filter.labels).length > 0) {
    // The second condition is the index's own.
    found.push(sql`${runs.labels} @> ${JSON.stringify(filter.labels)}::jsonb and ${runs.labels} <> '{}'`);
  }
  if (filter.search !== undefined && filter.search !== "") {
    const part = sql`lower(${filter.search})`;
    found.push(
      sql`(position(${part} in lower(${runs.name})) > 0 or position(${part} in ${runs.id}) > 0
        or (${runs.labels} <> '{}' and exists (
          select 1 from jsonb_each_text(${runs.labels}) l where position(${part} in lower(l.value)) > 0)))`,
    );
  }
  if (filter.createdFrom !== undefined) found.push(gte(runs.createdAt, filter.createdFrom));
  if (filter.createdBefore !== undefined) found.push(lt(runs.createdAt, filter.createdBefore));
  if (filter.roots === true) found.push(eq(runs.id, runs.rootId));
  for (const [name, value] of Object.entries(filter.variables ?? {})) {
    // Those of ended runs are indexed by value, those of open ones are looked through.
    found.push(
      sql`${runs.id} in (
        select v.run_id from markmill.variables v
        where v.name = ${name} and left(v.value, 64) = left(${value}, 64) and v.value = ${value} and v.final
        union all
        select o.run_id from ${runVariables} o
        where o.status in ('created', 'doing', 'stopped') and o.name = ${name} and o.value = ${value})`,
    );
  }
  return found;
}

/** Key of the page before: the time of its last run, to the microsecond, and its id. That run may be gone by now. */
function after(key: string | undefined): SQL | undefined {
  if (key === undefined) return undefined;
  const [, micros, id] = /^(\d{1,17})-(.+)$/.exec(key) ?? [];
  if (micros === undefined || id === undefined)
    throw new StoreError("STORE_PAGE_KEY", `${JSON.stringify(key)} is no key of a page here.`);
  const time = sql`timestamptz 'epoch' + ${micros}::bigint * interval '1 microsecond'`;
  return sql`(${runs.createdAt}, ${runs.id}) < (${time}, ${id}::text)`;
}
