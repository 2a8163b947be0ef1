/**
 * Passages: texts with their vectors, found by cosine similarity.
 *
 * G1  An activity inserts each of its passages once, by its position: a repeated insert changes nothing. Only the claim that holds the
 *     activity inserts.
 * G2  Vectors have length one, so the sum of products is the cosine. Our code compares all passages of a scope. If the scope is large and
 *     the server has pgvector, it compares only the nearest ones by the index and all that are not indexed yet. The order is the same on
 *     every Postgres: the highest similarity first, ties in the order of insertion. An index may miss a passage, a scan never does.
 *
 * kill -9 between two pieces of an insert: the repeated activity inserts the rest.
 */
import type { Database } from "../database/database.ts";
import { neutralText } from "../database/neutral.ts";
import { queryDatabase } from "../database/query-database.ts";
import { floatsOf } from "./passage-index/passage-index.ts";
import { findCandidates } from "./passage-index/search-passage-index.ts";

export interface PassageScope {
  readonly tenant: string;
  readonly scope: string;
  /** The root run that inserts. Its passages are deleted with it, whatever their scope. */
  readonly rootId: string;
  readonly embedder: string;
}

export interface NewPassage {
  readonly text: string;
  readonly vector: Uint8Array;
}

/** Passages in one statement, so that a long text does not make a long statement. */
const insertedTogether = 500;

/** Returns whether the claim still held the activity. */
export async function insertPassages(
  database: Database,
  { tenant, scope, rootId, embedder }: PassageScope,
  { id, claim }: { readonly id: number; readonly claim: number },
  passages: readonly NewPassage[],
): Promise<boolean> {
  for (let from = 0; from < passages.length; from += insertedTogether) {
    const some = passages.slice(from, from + insertedTogether);
    const held = await queryDatabase(
      database,
      "Inserting passages",
      `with held as (select id from activities where id = $5 and claim = $6 and state = 'claimed' for share), put as (
         insert into passages (tenant, scope, root_id, embedder, activity_id, position, text, vector)
         select $1, $2, $3, $4, held.id, $7::integer + x.n - 1, x.text, x.vector
         from held, unnest($8::text[], $9::bytea[]) with ordinality as x(text, vector, n) order by x.n
         on conflict do nothing
       ) select 1 from held`,
      [
        ...[tenant, scope, rootId, embedder, id, claim, from],
        some.map(({ text }) => neutralText(text)),
        some.map(({ vector }) => Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)),
      ],
    );
    if (held.length === 0) return false;
  }
  return true;
}

export interface FoundPassage {
  readonly text: string;
  /** Cosine, from -1 to 1. */
  readonly similarity: number;
}

/** Passages read at a time: some megabytes. */
const readTogether = 4_000;

type Searched = Omit<PassageScope, "rootId">;

export async function nearestPassages(
  database: Database,
  scope: Searched,
  vector: Uint8Array,
  top: number,
): Promise<readonly FoundPassage[]> {
  const sought = floatsOf(vector);
  const indexed = await nearestIndexed(database, scope, vector, top);
  const best = await scan(database, scope, sought, indexed ?? { best: [], upTo: 0 }, top);
  const texts = await queryDatabase<{ id: number; text: string }>(
    database,
    "Reading passages",
    "select id, text from passages where id = any($1)",
    [best.map(({ id }) => id)],
  );
  const textOf = new Map(texts.map(({ id, text }) => [id, text]));
  return best.flatMap(({ id, similarity }) => {
    const text = textOf.get(id);
    return text === undefined ? [] : [{ text, similarity: Math.max(-1, Math.min(1, similarity)) }];
  });
}

interface Ranked {
  readonly id: number;
  readonly similarity: number;
}

interface VectorRow {
  readonly id: number;
  readonly vector: Buffer;
}

/** null: the whole scope must be scanned. */
async function nearestIndexed(database: Database, scope: Searched, vector: Uint8Array, top: number) {
  const candidates = await findCandidates(database, scope, vector, top);
  if (candidates === null) return null;
  const { tenant, scope: name, embedder } = scope;
  const rows = await queryDatabase<VectorRow>(
    database,
    "Comparing passages",
    "select id, vector from passages where id = any($1) and tenant = $2 and scope = $3 and embedder = $4 order by id",
    [candidates.ids, tenant, name, embedder],
  );
  return rows.length < top ? null : { best: rank([], rows, floatsOf(vector), top), upTo: candidates.upTo };
}

async function scan(
  database: Database,
  { tenant, scope, embedder }: Searched,
  sought: Float32Array,
  from: { readonly best: readonly Ranked[]; readonly upTo: number },
  top: number,
): Promise<readonly Ranked[]> {
  let { best, upTo: after } = from;
  for (;;) {
    const rows = await queryDatabase<VectorRow>(
      database,
      "Searching passages",
      "select id, vector from passages where tenant = $1 and scope = $2 and embedder = $3 and id > $4 order by id limit $5",
      [tenant, scope, embedder, after, readTogether],
    );
    best = rank(best, rows, sought, top);
    const last = rows.at(-1);
    if (last === undefined || rows.length < readTogether) return best;
    after = last.id;
  }
}

/** `rows` are in the order of insertion, and were inserted after those in `best`. */
function rank(best: readonly Ranked[], rows: readonly VectorRow[], sought: Float32Array, top: number): Ranked[] {
  const ranked = [...best];
  for (const { id, vector } of rows) {
    const similarity = dot(sought, floatsOf(vector));
    const worst = ranked.length < top ? Number.NEGATIVE_INFINITY : (ranked.at(-1)?.similarity ?? 0);
    // NaN is never similar.
    if (!(similarity > worst)) continue;
    const place = ranked.findIndex((one) => one.similarity < similarity);
    ranked.splice(place === -1 ? ranked.length : place, 0, { id, similarity });
    ranked.length = Math.min(ranked.length, top);
  }
  return ranked;
}

function dot(sought: Float32Array, at: Float32Array): number {
  const length = Math.min(at.length, sought.length);
  let sum = 0;
  for (let index = 0; index < length; index += 1) sum += (at[index] ?? 0) * (sought[index] ?? 0);
  return sum;
}
