/**
 * Postgres with pgvector where nobody has to install it: PGlite, Postgres compiled to WebAssembly, behind a socket for the pg client. All
 * connections share one session, and two that speak at once disturb each other: one is open, and nothing that two transactions do at once can
 * be tested.
 */
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import { type Database, openDatabase } from "../../packages/store/src/database.ts";

export interface VectorPostgres {
  readonly database: Database;
  stop(): Promise<void>;
}

export async function startVectorPostgres(): Promise<VectorPostgres> {
  const postgres = await PGlite.create({ extensions: { vector } });
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
