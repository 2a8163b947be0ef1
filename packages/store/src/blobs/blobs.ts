/**
 * Blobs: bytes by their SHA-256, stored once per tenant and never changed. A row of `blobs` names the bytes and their place: on the row
 * itself, if they are few, or in an object (blob-port.ts).
 *
 * P1  An object is listed in `loose_objects` before its first byte is written. The statement that creates the blob's row removes it from
 *     the list. kill -9 in between: the object stays loose and is deleted when its time is over.
 * P2  One statement deletes a blob's row and makes its object loose again (delete-orphans.ts). kill -9 before the object is deleted: the
 *     next cycle deletes it.
 * P3  Storing bytes again, or naming them in a new run, resets the age of their blob. An unused blob is deleted by its age, and the age is
 *     checked under the same lock.
 * P4  Object names are random: deleting an object can never hit bytes that are being stored again.
 */
import { createHash, randomUUID } from "node:crypto";
import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import { StoreError } from "../database/store-error.ts";
import type { BlobContent, BlobPlace, BlobStore } from "./blob-port.ts";
import { createPostgresBlobs } from "./postgres-blobs.ts";
import { createS3Blobs, type S3Settings } from "./s3-blobs.ts";

export interface BlobSettings {
  /** Where new blobs are stored. */
  readonly kind: "postgres" | "s3";
  /** Also used for reading blobs that were stored there before. */
  readonly s3: S3Settings | null;
}

export interface BlobInfo {
  readonly hash: string;
  readonly size: number;
  readonly createdAt: Date;
}

/** In bytes: `from` is included, `to` is not. */
export interface BlobPart {
  readonly from?: number;
  readonly to?: number;
}

export interface Blobs {
  save(tenant: string, content: BlobContent, mostBytes?: number): Promise<BlobInfo>;
  find(tenant: string, hash: string): Promise<BlobInfo | null>;
  /** The whole blob, in memory, compared with its hash. */
  load(tenant: string, hash: string): Promise<Buffer | null>;
  stream(tenant: string, hash: string, part?: BlobPart): Promise<AsyncIterable<Uint8Array> | null>;
  /** Deletes loose objects whose time is over. Returns their number. */
  deleteLoose(limit?: number): Promise<number>;
  close(): Promise<void>;
}

/** Up to this many bytes are stored on the row: one statement instead of three. */
const rowBytes = 1024 * 1024;
/** An upload takes no longer. */
const looseFor = "interval '1 day'";
/** The time between two attempts to delete an object. */
const againAfter = "interval '5 minutes'";

export function createBlobs(database: Database, settings: BlobSettings = { kind: "postgres", s3: null }): Blobs {
  const parts = createPostgresBlobs(database);
  const s3 = settings.s3 === null ? null : createS3Blobs(settings.s3);
  if (settings.kind === "s3" && s3 === null)
    throw new StoreError("STORE_BUCKET_REFUSED", "The settings of the bucket are missing.");
  const into = settings.kind === "s3" && s3 !== null ? s3 : parts;

  function at(place: BlobPlace): BlobStore {
    const store = place === "s3" ? s3 : parts;
    if (store !== null) return store;
    throw new StoreError(
      "STORE_BUCKET_REFUSED",
      "The blob is in a bucket, but the settings of the bucket are missing.",
    );
  }

  async function saveObject(tenant: string, content: AsyncIterable<Uint8Array>, mostBytes: number): Promise<BlobInfo> {
    const object = `${tenant}/${randomUUID()}`;
    const counted = counting(content, mostBytes);
    await queryDatabase(
      database,
      "Storing a blob",
      `insert into loose_objects (object, place, due) values ($1, $2, clock_timestamp() + ${looseFor})`,
      [object, into.place],
    );
    try {
      await into.write(object, counted.content);
    } catch (error) {
      // This only deletes it sooner: P1 finds it in any case.
      await queryDatabase(
        database,
        "Storing a blob",
        "update loose_objects set due = clock_timestamp() where object = $1",
        [object],
      ).catch(() => undefined);
      throw error;
    }
    const { hash, size } = counted.told();
    const rows = await queryDatabase<BlobInfo>(database, "Naming a blob", nameText, [
      tenant,
      hash,
      size,
      into.place,
      object,
    ]);
    const [named] = rows;
    if (named === undefined) throw new StoreError("STORE_BUSY", "Storing a blob took too long and was stopped.");
    return named;
  }

  async function stream(
    tenant: string,
    hash: string,
    { from = 0, to }: BlobPart = {},
  ): Promise<AsyncIterable<Uint8Array> | null> {
    const rows = await queryDatabase<{ size: number; place: BlobPlace | "row"; object: string; bytes: Buffer | null }>(
      database,
      "Reading a blob",
      `select size, place, object, case when size <= ${rowBytes} then bytes end as bytes from blobs where tenant = $1 and hash = $2`,
      [tenant, hash],
    );
    const [row] = rows;
    if (row === undefined) return null;
    const end = Math.min(to ?? row.size, row.size);
    const begin = Math.min(Math.max(0, from), end);
    if (row.place !== "row") return at(row.place).read(row.object, begin, end);
    if (row.bytes === null) return longRow(database, tenant, hash, begin, end);
    return once(row.bytes.subarray(begin, end));
  }

  return {
    async save(tenant, content, mostBytes = Number.MAX_SAFE_INTEGER) {
      const { head, rest } = await beginning(content, mostBytes);
      if (rest === null) {
        const bytes = Buffer.concat(head);
        const hash = createHash("sha256").update(bytes).digest("hex");
        if (into === parts) return await saveOnRow(database, tenant, hash, bytes);
        const known = await queryDatabase<BlobInfo>(
          database,
          "Storing a blob",
          `update blobs set created_at = clock_timestamp() where tenant = $1 and hash = $2 returning ${infoColumns}`,
          [tenant, hash],
        );
        if (known[0] !== undefined) return known[0];
      }
      return await saveObject(tenant, both(head, rest), mostBytes);
    },
    find: (tenant, hash) => findBlob(database, tenant, hash),
    async load(tenant, hash) {
      const content = await stream(tenant, hash);
      if (content === null) return null;
      const pieces: Uint8Array[] = [];
      for await (const piece of content) pieces.push(piece);
      const bytes = Buffer.concat(pieces);
      if (createHash("sha256").update(bytes).digest("hex") === hash) return bytes;
      throw new StoreError("STORE_BLOB_LOST", `The bytes of blob ${hash} have changed since they were stored.`);
    },
    stream,
    async deleteLoose(limit = 100) {
      const places = s3 === null ? ["row", "parts"] : ["row", "parts", "s3"];
      const doomed = await queryDatabase<{ object: string; place: BlobPlace }>(
        database,
        "Looking for loose objects",
        `update loose_objects set doomed = true, due = clock_timestamp() + ${againAfter} where object in (
           select object from loose_objects where due <= clock_timestamp() and place = any($1) order by due limit $2
           for update skip locked)
         returning object, place`,
        [places, limit],
      );
      let deleted = 0;
      for (const { object, place } of doomed) {
        await at(place).delete(object);
        await queryDatabase(database, "Forgetting an object", "delete from loose_objects where object = $1", [object]);
        deleted += 1;
      }
      return deleted;
    },
    async close() {
      await Promise.all([parts.close(), s3?.close()]);
    },
  };
}

const infoColumns = `hash, size, created_at as "createdAt"`;

/** P1. If the same bytes were stored meanwhile, this object stays loose and is deleted. */
const nameText = `
with held as (
  select object from loose_objects where object = $5 and not doomed for update
), named as (
  insert into blobs (tenant, hash, size, place, object) select $1, $2, $3, $4, object from held
  on conflict (tenant, hash) do update set created_at = clock_timestamp()
  returning *
), taken as (
  delete from loose_objects l using named n where l.object = $5 and n.object = l.object
), twin as (
  update loose_objects l set due = clock_timestamp() from named n where l.object = $5 and n.object is distinct from l.object
)
select ${infoColumns} from named`;

async function saveOnRow(database: Database, tenant: string, hash: string, bytes: Buffer): Promise<BlobInfo> {
  const rows = await queryDatabase<BlobInfo>(
    database,
    "Storing a blob",
    `insert into blobs (tenant, hash, bytes, size) values ($1, $2, $3, $4)
     on conflict (tenant, hash) do update set created_at = clock_timestamp() returning ${infoColumns}`,
    [tenant, hash, bytes, bytes.length],
  );
  const [saved] = rows;
  if (saved === undefined) throw new StoreError("STORE_BUG", `Blob ${hash} was not stored.`);
  return saved;
}

async function findBlob(database: Database, tenant: string, hash: string): Promise<BlobInfo | null> {
  const rows = await queryDatabase<BlobInfo>(
    database,
    "Looking for a blob",
    `select ${infoColumns} from blobs where tenant = $1 and hash = $2`,
    [tenant, hash],
  );
  return rows[0] ?? null;
}

/** The first pieces, as long as they fit on a row. `rest` is null if there are no more. */
async function beginning(
  content: BlobContent,
  mostBytes: number,
): Promise<{ readonly head: readonly Uint8Array[]; readonly rest: AsyncIterator<Uint8Array> | null }> {
  if (content instanceof Uint8Array) {
    if (content.length > mostBytes) throw tooLarge(mostBytes);
    return content.length <= rowBytes
      ? { head: [content], rest: null }
      : { head: [content], rest: once(new Uint8Array())[Symbol.asyncIterator]() };
  }
  const pieces = content[Symbol.asyncIterator]();
  const head: Uint8Array[] = [];
  let size = 0;
  while (size <= rowBytes) {
    const next = await pieces.next();
    if (next.done === true) return { head, rest: null };
    head.push(next.value);
    size += next.value.length;
    if (size > mostBytes) {
      await pieces.return?.();
      throw tooLarge(mostBytes);
    }
  }
  return { head, rest: pieces };
}

async function* both(head: readonly Uint8Array[], rest: AsyncIterator<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  yield* head;
  if (rest !== null) yield* { [Symbol.asyncIterator]: () => rest };
}

/** Passes the content on, and afterwards reports its length and hash. */
function counting(content: AsyncIterable<Uint8Array>, mostBytes: number) {
  const digest = createHash("sha256");
  let size = 0;
  return {
    content: (async function* counted() {
      for await (const piece of content) {
        size += piece.length;
        if (size > mostBytes) throw tooLarge(mostBytes);
        digest.update(piece);
        yield piece;
      }
    })(),
    told: () => ({ hash: digest.digest("hex"), size }),
  };
}

function tooLarge(mostBytes: number): StoreError {
  return new StoreError("STORE_TOO_LARGE", `The content has more than ${mostBytes} bytes.`);
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}

/** Long content on a row comes from a version without parts. */
async function* longRow(
  database: Database,
  tenant: string,
  hash: string,
  from: number,
  to: number,
): AsyncGenerator<Uint8Array> {
  const most = 8 * rowBytes;
  for (let at = from; at < to; at += most) {
    const rows = await queryDatabase<{ bytes: Buffer }>(
      database,
      "Reading a blob",
      "select substring(bytes from $3::integer for $4::integer) as bytes from blobs where tenant = $1 and hash = $2",
      [tenant, hash, at + 1, Math.min(most, to - at)],
    );
    const [row] = rows;
    if (row === undefined) throw new StoreError("STORE_BLOB_LOST", `Blob ${hash} was deleted while it was read.`);
    yield row.bytes;
  }
}
