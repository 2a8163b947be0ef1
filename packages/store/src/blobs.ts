/** Bytes by their SHA-256: stored once, never changed. */
import { createHash } from "node:crypto";
import { askDatabase } from "./ask-database.ts";
import type { Database } from "./database.ts";

/** Returns the hash. */
export async function saveBlob(database: Database, bytes: Buffer): Promise<string> {
  const hash = createHash("sha256").update(bytes).digest("hex");
  await askDatabase(
    database,
    "Storing a blob",
    "insert into blobs (hash, bytes, size) values ($1, $2, $3) on conflict do nothing",
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
