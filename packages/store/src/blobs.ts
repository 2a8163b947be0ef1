/** Bytes by their SHA-256: stored once, never changed. Storing them again makes them young: they are about to be named (deleteOrphans). */
import { createHash } from "node:crypto";
import { askDatabase } from "./ask-database.ts";
import type { Database } from "./database.ts";
import { StoreError } from "./store-error.ts";

/** Returns the hash. */
export async function saveBlob(database: Database, bytes: Buffer): Promise<string> {
  const hash = createHash("sha256").update(bytes).digest("hex");
  await askDatabase(
    database,
    "Storing a blob",
    "insert into blobs (hash, bytes, size) values ($1, $2, $3) on conflict (hash) do update set created_at = clock_timestamp()",
    [hash, bytes, bytes.length],
  );
  return hash;
}

export async function loadBlob(database: Database, hash: string): Promise<Buffer | null> {
  const rows = await askDatabase<{ bytes: Buffer }>(
    database,
    "Reading a blob",
    "select bytes from blobs where hash = $1",
    [hash],
  );
  return rows[0]?.bytes ?? null;
}

export type BlobContent = Uint8Array | AsyncIterable<Uint8Array>;

export interface BlobInfo {
  readonly hash: string;
  readonly size: number;
  readonly createdAt: Date;
}

export async function saveContent(
  database: Database,
  content: BlobContent,
  mostBytes = Number.MAX_SAFE_INTEGER,
): Promise<BlobInfo> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of content instanceof Uint8Array ? [content] : content) {
    size += piece.length;
    if (size > mostBytes) throw new StoreError("STORE_TOO_LARGE", `The content has more than ${mostBytes} bytes.`);
    pieces.push(piece);
  }
  const hash = await saveBlob(database, Buffer.concat(pieces));
  return (await findBlob(database, hash)) ?? { hash, size, createdAt: new Date() };
}

export async function findBlob(database: Database, hash: string): Promise<BlobInfo | null> {
  const rows = await askDatabase<BlobInfo>(
    database,
    "Looking for a blob",
    `select hash, size, created_at as "createdAt" from blobs where hash = $1`,
    [hash],
  );
  return rows[0] ?? null;
}

export async function streamBlob(
  database: Database,
  hash: string,
  { from = 0, to }: { readonly from?: number; readonly to?: number } = {},
): Promise<AsyncIterable<Uint8Array> | null> {
  const bytes = await loadBlob(database, hash);
  if (bytes === null) return null;
  return (async function* pieces() {
    yield bytes.subarray(from, to);
  })();
}
