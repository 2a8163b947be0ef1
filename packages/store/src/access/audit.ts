/**
 * The audit log is append-only: the database refuses everything else. The request is written before the change, and the outcome after it.
 * So the log knows of every change. kill -9 in between leaves an entry without an outcome.
 *
 * Entries that arrive together are written by one statement. The start of a run adds its entry, with the outcome, to the statement that
 * creates the run (commit/sql/creations.ts): both are in the log if and only if the run exists.
 */

import type { Database } from "../database/database.ts";
import { toJson } from "../database/neutral.ts";
import { queryDatabase, queryNamed } from "../database/query-database.ts";
import { gathered } from "../throughput/gathered.ts";

export interface AuditAsked {
  readonly tenant: string;
  readonly actor: string;
  readonly actorName: string;
  readonly action: string;
  readonly target: string | null;
  readonly requestId: string;
  readonly address: string;
  readonly details: { readonly [name: string]: string | number | boolean | null };
}

interface AuditEntry extends AuditAsked {
  readonly id: number;
  readonly at: Date;
  /** null: not known. */
  readonly outcome: number | null;
}

export interface AuditLog {
  /** Resolves with the entry's number once it is stored. */
  asked(entry: AuditAsked): Promise<number>;
  /** `target`: the created object. */
  done(id: number, status: number, target?: string): Promise<void>;
}

export function openAuditLog(database: Database): AuditLog {
  const asking = gathered<AuditAsked, number>(async (entries) => {
    const rows = await queryNamed<{ id: number; position: number }>(
      database,
      "Writing the audit log",
      "audit-asked",
      `with given as materialized (
         select nextval(pg_get_serial_sequence('markmill.audit', 'id')) as id, e.value as entry, e.ordinality::integer - 1 as position
         from json_array_elements($1::json) with ordinality e
       ), written as (
         insert into audit (id, tenant, actor, actor_name, action, target, request_id, address, details) overriding system value
         select id, entry ->> 'tenant', entry ->> 'actor', entry ->> 'actorName', entry ->> 'action', entry ->> 'target',
           entry ->> 'requestId', entry ->> 'address', entry -> 'details' from given
       ) select id, position from given`,
      [toJson(entries)],
    );
    const ids = new Map(rows.map(({ id, position }) => [position, id]));
    return entries.map((_, position) => ids.get(position) ?? 0);
  }, database);
  const ending = gathered<{ id: number; status: number; target: string | null }, void>(async (outcomes) => {
    await queryNamed(
      database,
      "Writing the audit log",
      "audit-done",
      `insert into audit_outcomes (audit_id, status, target)
       select (o ->> 'id')::bigint, (o ->> 'status')::integer, o ->> 'target' from json_array_elements($1::json) o
       on conflict do nothing`,
      [toJson(outcomes)],
    );
    return outcomes.map(() => undefined);
  }, database);
  return {
    asked: asking,
    done: (id, status, target) => ending({ id, status, target: target ?? null }),
  };
}

export interface AuditFilter {
  readonly action?: string;
  readonly actor?: string;
  readonly target?: string;
  readonly from?: Date;
  readonly before?: Date;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** Pass as `before` of the next page. null: this was the last page. */
  readonly next: number | null;
}

/** Newest first. */
export async function readAudit(
  database: Database,
  tenant: string,
  filter: AuditFilter = {},
  page: { readonly beforeId?: number; readonly limit?: number } = {},
): Promise<AuditPage> {
  const limit = Math.max(1, Math.min(page.limit ?? 50, 500));
  const rows = await queryDatabase<AuditEntry>(
    database,
    "Reading the audit log",
    `select a.id, a.tenant, a.at, a.actor, a.actor_name as "actorName", a.action, coalesce(o.target, a.target) as target,
       a.request_id as "requestId", a.address, a.details, o.status as outcome
     from audit a left join audit_outcomes o on o.audit_id = a.id
     where a.tenant = $1 and ($2::bigint is null or a.id < $2) and ($3::text is null or a.action = $3)
       and ($4::text is null or a.actor = $4) and ($5::text is null or $5 in (a.target, o.target))
       and ($6::timestamptz is null or a.at >= $6) and ($7::timestamptz is null or a.at < $7)
     order by a.id desc limit $8`,
    [
      ...[tenant, page.beforeId ?? null, filter.action ?? null, filter.actor ?? null, filter.target ?? null],
      ...[filter.from ?? null, filter.before ?? null, limit + 1],
    ],
  );
  const entries = rows.slice(0, limit);
  return { entries, next: rows.length > limit ? (entries.at(-1)?.id ?? null) : null };
}
