/**
 * Refuses, at start, a server that would fail later, in the middle of a run.
 *
 * S1  Leases, prepared statements, advisory locks and LISTEN belong to a session. A pooler in transaction or statement mode shares sessions
 *     among connections. Two connections that ask by turns, twice each, detect this: either both get the same session, or one of them gets
 *     two.
 * S2  The check only reads. It changes no setting, because the setting would stay in a session that belongs to other clients, too.
 */
import { Client } from "pg";
import { StoreError, translate } from "./store-error.ts";

export interface ServerFacts {
  /** server_version_num. */
  readonly version: number;
  readonly standby: boolean;
  readonly readOnly: boolean;
  readonly encoding: string;
  /** The server processes that answered, per connection, in the order of the queries. */
  readonly processes: readonly [readonly number[], readonly number[]];
}

const oldest = 14;

export function unfitServer({ version, standby, readOnly, encoding, processes }: ServerFacts): StoreError | null {
  const major = Math.floor(version / 10_000);
  if (major < oldest) {
    const minor = major < 10 ? Math.floor(version / 100) % 100 : version % 10_000;
    return new StoreError("STORE_VERSION", `The Postgres server has version ${major}.${minor}; ${oldest} is needed.`);
  }
  const [one, other] = processes;
  const keepTheirs = [one, other].every((pids) => new Set(pids).size === 1);
  if (!keepTheirs || one.some((pid) => other.includes(pid))) {
    return new StoreError(
      "STORE_POOLER",
      "DATABASE_URL leads to a connection pooler (such as PgBouncer) in transaction or statement mode: a connection does not keep its session.",
    );
  }
  if (standby) return new StoreError("STORE_READ_ONLY", "The Postgres server is a standby and refuses writes.");
  if (readOnly) {
    return new StoreError(
      "STORE_READ_ONLY_SETTING",
      "Sessions on this Postgres server are read-only: default_transaction_read_only is on.",
    );
  }
  if (encoding !== "UTF8") {
    return new StoreError("STORE_ENCODING", `The database has the encoding ${encoding}; UTF8 is needed.`);
  }
  return null;
}

const connectMs = 10_000;
const queryMs = 15_000;
const rounds = 3;

/** Throws the fault of the server, if it has one. */
export async function refuseUnfitServer(url: string): Promise<void> {
  const one = plainClient(url);
  const other = plainClient(url);
  try {
    await Promise.all([one.connect(), other.connect()]);
    const processes: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      processes[0].push(await processOf(one), await processOf(one));
      processes[1].push(await processOf(other), await processOf(other));
    }
    const { rows } = await one.query<Omit<ServerFacts, "processes">>(
      `select current_setting('server_version_num')::int as version, pg_is_in_recovery() as standby,
         current_setting('transaction_read_only') = 'on' as "readOnly", current_setting('server_encoding') as encoding`,
    );
    const [facts] = rows;
    const fault = facts === undefined ? null : unfitServer({ ...facts, processes });
    if (fault !== null) throw fault;
    await Promise.all([one.end(), other.end()]);
  } catch (error) {
    // Do not wait for these: the end of a connection that was never established may never arrive.
    for (const client of [one, other]) client.end().catch(() => undefined);
    throw translate(error, "Connecting to Postgres");
  }
}

function plainClient(url: string): Client {
  const client = new Client({
    connectionString: url,
    application_name: "markmill",
    connectionTimeoutMillis: connectMs,
    query_timeout: queryMs,
  });
  // Without a listener, a connection that breaks between two queries would end the process.
  client.on("error", () => undefined);
  return client;
}

async function processOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]?.pid ?? 0;
}
