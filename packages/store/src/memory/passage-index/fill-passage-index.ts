/**
 * Copies passages of large scopes into the passage index after they were inserted. Inserts do not know the index and are not slowed by it.
 *
 * F1  `up_to` of a scope: every passage of it with this id or a lower one is in the index. Ids are taken from the sequence before they are
 *     committed, so the target id is read while no writer of passages is active: later writers get higher ids. Passages beyond `up_to` are
 *     scanned (../passages.ts), so a search misses none of them.
 * F2  A scope that one scan reads at once gets no index.
 *
 * kill -9 between any two lines: the next process continues at `up_to`. Two processes at once copy the same passages.
 */
import type { Database } from "../../database/database.ts";
import { queryDatabase } from "../../database/query-database.ts";
import { translate } from "../../database/store-error.ts";
import { inTransaction } from "../../database/transaction.ts";
import { floatsOf, mostIndexed, passageSearchOf, vectorText } from "./passage-index.ts";

/** See F2. */
const largeScope = 4_000;
/** An indexed scope is continued when a scan would read this many passages beside the index. */
const longTail = 1_000;
/** Passages in one statement. With HNSW it takes about a tenth of a second. */
const copiedTogether = 100;

export interface FillOptions {
  readonly largeScope?: number;
  readonly longTail?: number;
  /** Called after each piece. false: stop for now. */
  readonly onCopied?: (copied: number) => Promise<boolean>;
}

interface DueScope {
  readonly tenant: string;
  readonly scope: string;
  readonly embedder: string;
}

/** Returns the number of copied passages. */
export async function fillPassageIndex(database: Database, options: FillOptions = {}): Promise<number> {
  const search = await passageSearchOf(database);
  if (search.by === "scan") return 0;
  await forgetEmptyScopes(database);
  let copied = 0;
  const failures: unknown[] = [];
  for (const due of await dueScopes(database, options)) {
    try {
      const begun = await beginScope(database, search.extensionSchema, due);
      if (begun.dimensions < 1 || begun.dimensions > mostIndexed) continue;
      for (let at = begun.upTo; at < begun.goal; ) {
        const piece = await copyPiece(database, search.extensionSchema, due, { ...begun, upTo: at });
        at = piece.upTo;
        copied += piece.copied;
        if ((await options.onCopied?.(piece.copied)) === false) return copied;
      }
    } catch (error) {
      // A scope that cannot be indexed now does not block the others.
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return copied;
}

async function forgetEmptyScopes(database: Database): Promise<void> {
  await queryDatabase(
    database,
    "Forgetting indexed scopes",
    `delete from markmill_index.indexed_scopes s where not exists (
       select 1 from passages p where (p.tenant, p.scope, p.embedder) = (s.tenant, s.scope, s.embedder))`,
  );
}

function dueScopes(database: Database, options: FillOptions): Promise<DueScope[]> {
  return queryDatabase<DueScope>(
    database,
    "Looking for scopes to index",
    `select p.tenant, p.scope, p.embedder
     from passages p left join markmill_index.indexed_scopes s on (s.tenant, s.scope, s.embedder) = (p.tenant, p.scope, p.embedder)
     where s.id is null or (p.id > s.up_to and s.dimensions between 1 and $3)
     group by p.tenant, p.scope, p.embedder, s.id
     having count(*) > case when s.id is null then $1::bigint else $2::bigint end`,
    [options.largeScope ?? largeScope, options.longTail ?? longTail, mostIndexed],
  );
}

interface BegunScope {
  readonly id: number;
  readonly dimensions: number;
  readonly upTo: number;
  readonly goal: number;
}

/**
 * F1: the target id, read under a lock that no writer of passages holds. If the lock is not available within a second, it tries again
 * later.
 */
async function beginScope(
  database: Database,
  extensionSchema: string,
  { tenant, scope, embedder }: DueScope,
): Promise<BegunScope> {
  const of = [tenant, scope, embedder];
  try {
    const goal = await inTransaction(database.calm, async (client) => {
      await client.query("set local lock_timeout = '1s'");
      await client.query("lock table passages in share mode");
      const { rows } = await client.query<{ goal: number | null }>(
        "select max(id) as goal from passages where tenant = $1 and scope = $2 and embedder = $3",
        of,
      );
      return rows[0]?.goal ?? 0;
    });
    return await inTransaction(database.calm, async (client) => {
      await client.query("set local lock_timeout = '1s'");
      await client.query(
        `insert into markmill_index.indexed_scopes (tenant, scope, embedder, dimensions)
         select tenant, scope, embedder, octet_length(vector) / 4 from passages
         where tenant = $1 and scope = $2 and embedder = $3 order by id limit 1 on conflict do nothing`,
        of,
      );
      const { rows } = await client.query<Omit<BegunScope, "goal">>(
        `select id, dimensions, up_to as "upTo" from markmill_index.indexed_scopes
         where tenant = $1 and scope = $2 and embedder = $3`,
        of,
      );
      const [row = { id: 0, dimensions: 0, upTo: 0 }] = rows;
      if (row.dimensions >= 1 && row.dimensions <= mostIndexed) {
        await client.query(hnswIndex(extensionSchema, row.dimensions));
      }
      return { ...row, goal };
    });
  } catch (error) {
    throw translate(error, "Indexing a scope");
  }
}

/**
 * The index is created before the first passage with these dimensions is copied. Created later, it would block deletions while it is built.
 */
function hnswIndex(extensionSchema: string, dimensions: number): string {
  return `create index if not exists indexed_passages_near_${dimensions} on markmill_index.indexed_passages
    using hnsw ((vector::${extensionSchema}.vector(${dimensions})) ${extensionSchema}.vector_ip_ops) where dimensions = ${dimensions}`;
}

async function copyPiece(
  database: Database,
  extensionSchema: string,
  { tenant, scope, embedder }: DueScope,
  { id, dimensions, upTo, goal }: BegunScope,
): Promise<{ readonly upTo: number; readonly copied: number }> {
  const rows = await queryDatabase<{ id: number; vector: Buffer }>(
    database,
    "Reading passages to index",
    `select id, vector from passages where tenant = $1 and scope = $2 and embedder = $3 and id > $4 and id <= $5
     order by id limit $6`,
    [tenant, scope, embedder, upTo, goal, copiedTogether],
  );
  const reached = rows.length < copiedTogether ? goal : (rows.at(-1)?.id ?? goal);
  // A stored value that is not a vector is similar to none (../passages.ts).
  const comparable = rows.filter(
    ({ vector }) => vector.byteLength === 4 * dimensions && floatsOf(vector).every(Number.isFinite),
  );
  // A passage that is deleted meanwhile is left out, or its deletion waits until the copy exists and can be deleted with it. If the index
  // was created anew meanwhile, its `up_to` does not match the start of this piece.
  await queryDatabase(
    database,
    "Indexing passages",
    `with place as (
       select id from markmill_index.indexed_scopes
       where id = $3 and (tenant, scope, embedder) = ($6, $7, $8) and up_to >= $9 for update
     ), alive as (
       select p.id, x.vector from unnest($1::bigint[], $2::text[]) as x(id, vector) join passages p on p.id = x.id for key share of p
     ), put as (
       insert into markmill_index.indexed_passages (passage_id, scope_id, dimensions, vector)
       select alive.id, place.id, $4, alive.vector::${extensionSchema}.vector from place, alive on conflict do nothing
     ) update markmill_index.indexed_scopes s set up_to = greatest(up_to, $5) from place where s.id = place.id`,
    [
      ...[comparable.map((row) => row.id), comparable.map(({ vector }) => vectorText(vector))],
      ...[id, dimensions, reached, tenant, scope, embedder, upTo],
    ],
  );
  return { upTo: reached, copied: comparable.length };
}
