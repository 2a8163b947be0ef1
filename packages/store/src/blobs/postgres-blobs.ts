/** Stores objects in Postgres, in parts of the same length: no statement and no process ever holds a whole object. */

import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import { StoreError } from "../database/store-error.ts";
import type { BlobStore } from "./blob-port.ts";
import { inParts } from "./parts.ts";

const partBytes = 1024 * 1024;

export function createPostgresBlobs(database: Database): BlobStore {
  return {
    place: "parts",
    async write(object, content) {
      let part = 0;
      for await (const bytes of inParts(content, partBytes)) {
        await queryDatabase(
          database,
          "Storing a blob",
          "insert into blob_parts (object, part, bytes) values ($1, $2, $3)",
          [object, part, bytes],
        );
        part += 1;
      }
    },
    async *read(object, from, to) {
      for (let at = from; at < to; ) {
        const part = Math.floor(at / partBytes);
        const rows = await queryDatabase<{ bytes: Buffer }>(
          database,
          "Reading a blob",
          "select bytes from blob_parts where object = $1 and part = $2",
          [object, part],
        );
        const begin = at - part * partBytes;
        const bytes = rows[0]?.bytes.subarray(begin, Math.min(partBytes, begin + to - at));
        if (bytes === undefined || bytes.length === 0) {
          throw new StoreError("STORE_BLOB_LOST", `The bytes of ${object} end at ${at}, before ${to}.`);
        }
        at += bytes.length;
        yield bytes;
      }
    },
    async exists(object) {
      const rows = await queryDatabase(
        database,
        "Looking for a blob",
        "select 1 from blob_parts where object = $1 and part = 0",
        [object],
      );
      return rows.length > 0;
    },
    async delete(object) {
      await queryDatabase(database, "Deleting a blob", "delete from blob_parts where object = $1", [object]);
    },
    close: async () => undefined,
  };
}
