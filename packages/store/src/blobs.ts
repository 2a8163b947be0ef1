/** Bytes by their SHA-256: stored once, never changed. Storing them again makes them young: they are about to be named (deleteOrphans). */
import { createHash } from "node:crypto";
import { askDatabase } from "./ask-database.ts";
import type { Database } from "./database.ts";

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
