/** Lists definitions for people: the latest version of each name, and the versions of one name. */

import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";

export interface DefinitionSummary {
  readonly hash: string;
  readonly dialect: string;
  readonly name: string;
  readonly root: string;
  readonly createdAt: Date;
}

interface ListedDefinition extends DefinitionSummary {
  /** The number of definitions with this name; this one is the latest. */
  readonly versions: number;
}

export interface DefinitionPage {
  readonly definitions: readonly ListedDefinition[];
  /** Pass as `after` for the next page. null: this was the last page. */
  readonly next: string | null;
}

export interface DefinitionFilter {
  /** Part of the name, in upper or lower case. */
  readonly search?: string;
}

export interface PageRequest {
  readonly after?: string;
  readonly limit?: number;
}

const columns = `d.hash, d.dialect, d.name, d.root, d.created_at as "createdAt"`;

/** Sorted by name. */
export async function listDefinitions(
  database: Database,
  tenant: string,
  { search }: DefinitionFilter = {},
  page: PageRequest = {},
): Promise<DefinitionPage> {
  const limit = Math.max(1, Math.min(page.limit ?? 50, 500));
  const rows = await queryDatabase<ListedDefinition>(
    database,
    "Listing definitions",
    `select distinct on (d.name) ${columns}, count(*) over (partition by d.name)::integer as versions
     from definitions d
     where d.tenant = $4 and ($1::text is null or d.name > $1) and ($2::text is null or position(lower($2) in lower(d.name)) > 0)
     order by d.name, d.created_at desc, d.hash limit $3`,
    [page.after ?? null, search ?? null, limit + 1, tenant],
  );
  const definitions = rows.slice(0, limit);
  return { definitions, next: rows.length > limit ? (definitions.at(-1)?.name ?? null) : null };
}

/** Latest first. */
export async function versionsOf(
  database: Database,
  tenant: string,
  name: string,
): Promise<readonly DefinitionSummary[]> {
  return queryDatabase<DefinitionSummary>(
    database,
    "Listing versions",
    `select ${columns} from definitions d where d.tenant = $2 and d.name = $1 order by d.created_at desc, d.hash`,
    [name, tenant],
  );
}
