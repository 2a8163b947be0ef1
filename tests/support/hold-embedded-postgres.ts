// A process that uses the embedded Postgres of a directory (first argument), for tests that kill it or run it as another user.
// Prints one line of JSON when it is up or has failed. On SIGINT it does some last work on the server, then stops it.

import { EmbeddedPostgresError, startEmbeddedPostgres } from "@markmill/embedded-postgres";
import pg from "pg";

const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);

try {
  const server = await startEmbeddedPostgres({ directory: process.argv[2] ?? "" });
  const keepAlive = setInterval(() => undefined, 60_000);
  process.once("SIGINT", async () => {
    const client = new pg.Client(server.poolConfig);
    await client.connect();
    const { rows } = await client.query("select pg_sleep(0.3), 'drained' as work");
    await client.end();
    say({ work: rows[0]?.work, outcome: await server.stop() });
    clearInterval(keepAlive);
  });
  say({ pid: server.pid, started: server.started, url: server.url });
} catch (error) {
  if (!(error instanceof EmbeddedPostgresError)) throw error;
  say({ code: error.code, message: error.message, fix: error.fix });
}
