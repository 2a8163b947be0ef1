/** Candidates from the passage index. It is approximate: whoever asks compares them himself, and scans what is not indexed yet. */
import type { Database } from "../database.ts";
import { queryDatabase } from "../query-database.ts";
import { translate } from "../store-error.ts";
import { inTransaction } from "../transaction.ts";
import { mostIndexed, passageSearchOf, vectorText } from "./passage-index.ts";

/** At least so many are compared, and four for each that is wanted: what the index takes for nearest need not be. */
const fewestCandidates = 200;
const candidatesFor = (top: number) => Math.max(fewestCandidates, 4 * top);

export interface Candidates {
  readonly ids: readonly number[];
  /** Passages with a higher id may be missing. */
  readonly upTo: number;
}

/** null: there is no index of this scope, or none that fits the vector. */
export async function findCandidates(
  database: Database,
  { tenant, scope, embedder }: { readonly tenant: string; readonly scope: string; readonly embedder: string },
  vector: Uint8Array,
  top: number,
): Promise<Candidates | null> {
  const search = await passageSearchOf(database);
  if (search.by === "scan") return null;
  const [indexed] = await queryDatabase<{ id: number; upTo: number }>(
    database,
    "Asking for an indexed scope",
    `select id, up_to as "upTo" from markmill_index.indexed_scopes
     where tenant = $1 and scope = $2 and embedder = $3 and dimensions = $4 and dimensions <= $5`,
    [tenant, scope, embedder, vector.byteLength / 4, mostIndexed],
  );
  if (indexed === undefined) return null;
  const { extensionSchema: at } = search;
  const dimensions = vector.byteLength / 4;
  const limit = candidatesFor(top);
  try {
    return await inTransaction(database.calm, async (client) => {
      await client.query(
        "select set_config('hnsw.ef_search', $1, true), set_config('hnsw.iterative_scan', 'relaxed_order', true)",
        [String(limit)],
      );
      const { rows } = await client.query<{ id: number }>(
        `select passage_id as id from markmill_index.indexed_passages where scope_id = $1 and dimensions = ${dimensions}
         order by vector::${at}.vector(${dimensions}) operator(${at}.<#>) $2::${at}.vector(${dimensions}) limit $3`,
        [indexed.id, vectorText(vector), limit],
      );
      // What was indexed since is beyond `upTo`, and comes by the scan.
      return { ids: rows.map(({ id }) => id).filter((id) => id <= indexed.upTo), upTo: indexed.upTo };
    });
  } catch (error) {
    throw translate(error, "Searching the passage index");
  }
}
