/**
 * Postgres with pgvector where nobody has to install it: PGlite, Postgres compiled to WebAssembly, behind a socket for the pg client. All
 * connections share one session, and two that speak at once disturb each other: one is open, and nothing that two transactions do at once can
 * be tested.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import { type Database, openDatabase } from "../../packages/store/src/database/database.ts";

export interface VectorPostgres {
  readonly database: Database;
  stop(): Promise<void>;
}

export async function startVectorPostgres(): Promise<VectorPostgres> {
  const postgres = await startEmpty();
  // The settings of a connection are not heard.
  await postgres.exec("set search_path = markmill, public");
  const server = new PGLiteSocketServer({ db: postgres, host: "127.0.0.1", port: 0, maxConnections: 16 });
  await server.start();
  const database = openDatabase({ url: `postgres://postgres@${server.getServerConn()}/postgres`, connections: 1 });
  return {
    database,
    async stop() {
      await database.close();
      await server.stop();
      await postgres.close();
    },
  };
}

/** Its first start makes a cluster, at seven times the cost of all others: what it has made is kept in `.cache/`. */
async function startEmpty(): Promise<PGlite> {
  const require = createRequire(import.meta.url);
  const { version } = require(join(require.resolve("@electric-sql/pglite"), "../../package.json")) as {
    version: string;
  };
  const cache = join(import.meta.dirname, "../../.cache");
  const kept = join(cache, `pglite-${version}.tar`);
  const extensions = { vector };
  if (existsSync(kept)) return await PGlite.create({ extensions, loadDataDir: new Blob([readFileSync(kept)]) });
  const postgres = await PGlite.create({ extensions });
  const made = await postgres.dumpDataDir("none");
  mkdirSync(cache, { recursive: true });
  const writing = join(cache, `pglite-${process.pid}`);
  writeFileSync(writing, Buffer.from(await made.arrayBuffer()));
  renameSync(writing, kept);
  return postgres;
}
