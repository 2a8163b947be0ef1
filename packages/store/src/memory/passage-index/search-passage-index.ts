/**
 * Candidates from the passage index. The index is approximate: the caller compares the candidates itself, and scans the passages that are
 * not indexed yet.
 */
import type { PoolClient } from "pg";
import type { Database } from "../../database/database.ts";
import { inTransaction } from "../../database/transaction.ts";
import { mostIndexed, passageSearchOf, vectorText } from "./passage-index.ts";

/** At least this number is compared, and four for each wanted passage: the index may be wrong about the nearest ones. */
const fewestCandidates = 200;
const candidatesFor = (top: number) => Math.max(fewestCandidates, 4 * top);

export interface Candidates {
  readonly ids: readonly number[];
  /** Passages with a higher id may be missing. */
  readonly upTo: number;
}

interface Asked {
  readonly tenant: string;
  readonly scope: string;
  readonly embedder: string;
}

/**
 * null: there is no index for this scope, none that fits the vector, or none that answers (it was just dropped, or the role may not read
 * all of it). An index never makes a search fail. If the database is unreachable, the scan reports it.
 */
export async function findCandidates(
  database: Database,
  asked: Asked,
  vector: Uint8Array,
  top: number,
): Promise<Candidates | null> {
  const search = await passageSearchOf(database);
  if (search.by === "scan") return null;
  try {
    return await inTransaction(database.calm, (client) =>
      readCandidates(client, search.extensionSchema, asked, vector, top),
    );
  } catch {
    return null;
  }
}

async function readCandidates(
  client: PoolClient,
  at: string,
  { tenant, scope, embedder }: Asked,
  vector: Uint8Array,
  top: number,
): Promise<Candidates | null> {
  const dimensions = vector.byteLength / 4;
  const scopes = await client.query<{ id: number; upTo: number }>(
    `select id, up_to as "upTo" from markmill_index.indexed_scopes
     where tenant = $1 and scope = $2 and embedder = $3 and dimensions = $4 and dimensions <= $5`,
    [tenant, scope, embedder, dimensions, mostIndexed],
  );
  const [indexed] = scopes.rows;
  if (indexed === undefined) return null;
  const limit = candidatesFor(top);
  await client.query(
    "select set_config('hnsw.ef_search', $1, true), set_config('hnsw.iterative_scan', 'relaxed_order', true)",
    [String(limit)],
  );
  const { rows } = await client.query<{ id: number }>(
    `select passage_id as id from markmill_index.indexed_passages where scope_id = $1 and dimensions = ${dimensions}
     order by vector::${at}.vector(${dimensions}) operator(${at}.<#>) $2::${at}.vector(${dimensions}) limit $3`,
    [indexed.id, vectorText(vector), limit],
  );
  // Passages that were indexed since are beyond `upTo`, and the scan finds them.
  return { ids: rows.map(({ id }) => id).filter((id) => id <= indexed.upTo), upTo: indexed.upTo };
}
