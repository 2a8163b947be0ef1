/**
 * Passages: texts with their vectors, found by cosine similarity.
 *
 * G1  An activity inserts each of its passages once, by its position: whoever repeats it changes nothing. Only the claim that holds the
 *     activity inserts.
 * G2  Vectors are of length one, so the sum of products is the cosine. They are compared by us, exactly, over all passages of a scope: the
 *     same passages come in the same order on every Postgres, the highest first, ties in the order of insertion.
 *
 * kill -9 between two pieces of an insert: the rest is inserted by whoever repeats the activity.
 */
import type { Database } from "./database.ts";
import { neutralText } from "./neutral.ts";
import { queryDatabase } from "./query-database.ts";

export interface PassageScope {
  readonly tenant: string;
  readonly scope: string;
  /** Of the run that inserts: its passages go with it, whatever their scope. */
  readonly rootId: string;
  readonly embedder: string;
}

export interface NewPassage {
  readonly text: string;
  readonly vector: Uint8Array;
}

/** In one statement, so that a long text does not make a long one. */
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

/** Read at a time: some megabytes. */
const readTogether = 4_000;

export async function nearestPassages(
  database: Database,
  { tenant, scope, embedder }: Omit<PassageScope, "rootId">,
  vector: Uint8Array,
  top: number,
): Promise<readonly FoundPassage[]> {
  const sought = floatsOf(vector);
  let best: { readonly id: number; readonly similarity: number }[] = [];
  for (let after = 0; ; ) {
    const rows = await queryDatabase<{ id: number; vector: Buffer }>(
      database,
      "Searching passages",
      `select id, vector from passages where tenant = $1 and scope = $2 and embedder = $3 and id > $4 order by id limit $5`,
      [tenant, scope, embedder, after, readTogether],
    );
    for (const row of rows) {
      const similarity = dot(sought, row.vector);
      const worst = best.length < top ? Number.NEGATIVE_INFINITY : (best.at(-1)?.similarity ?? 0);
      if (similarity <= worst) continue;
      const place = best.findIndex((one) => one.similarity < similarity);
      best.splice(place === -1 ? best.length : place, 0, { id: row.id, similarity });
      best = best.slice(0, top);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < readTogether) break;
    after = last.id;
  }
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

function floatsOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(bytes.slice().buffer);
}

function dot(sought: Float32Array, bytes: Buffer): number {
  // Aligned where it lies, else copied.
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : Buffer.from(bytes);
  const at = new Float32Array(aligned.buffer, aligned.byteOffset, Math.min(aligned.byteLength >> 2, sought.length));
  let sum = 0;
  for (let index = 0; index < at.length; index += 1) sum += (at[index] ?? 0) * (sought[index] ?? 0);
  return sum;
}
