/**
 * Refuses at start a server that would fail later, in the middle of a run.
 *
 * S1  Leases, prepared statements, advisory locks and LISTEN belong to a session. A pooler in transaction mode gives each transaction another
 *     session. Two connections that ask three times each, in turn, notice this: either they share a session, or one of them has several.
 * S2  The settings of a connection (search_path) must arrive. A pooler may drop them silently.
 * S3  The check only reads. It uses the first connection of each pool, which the process needs anyway.
 */
import type { PoolClient } from "pg";
import type { Database } from "./database.ts";
import { StoreError, translate } from "./store-error.ts";

export interface ServerFacts {
  /** server_version_num. */
  readonly version: number;
  readonly standby: boolean;
  readonly readOnly: boolean;
  readonly searchPath: string;
  /** Server processes that answered, per connection, in the order of the questions. */
  readonly processes: readonly [readonly number[], readonly number[]];
}

const oldest = 14;

export function unfitServer({ version, standby, readOnly, searchPath, processes }: ServerFacts): StoreError | null {
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
      "DATABASE_URL leads to a connection pooler in transaction mode (such as PgBouncer): a connection does not keep its session.",
    );
  }
  if (searchPath.replaceAll(/[\s"]/g, "") !== "markmill,public") {
    return new StoreError(
      "STORE_POOLER",
      `The settings of a connection do not reach Postgres (search_path is ${searchPath}): a connection pooler drops them.`,
    );
  }
  if (standby) return new StoreError("STORE_READ_ONLY", "The Postgres server is a standby: it takes no writes.");
  if (readOnly) {
    return new StoreError(
      "STORE_READ_ONLY_SETTING",
      "Sessions on this Postgres server are read-only: default_transaction_read_only is on.",
    );
  }
  return null;
}

/** Throws the fault of the server, if it has one. */
export async function refuseUnfitServer({ calm, hot }: Pick<Database, "calm" | "hot">): Promise<void> {
  const clients: PoolClient[] = [];
  try {
    const one = await calm.connect();
    clients.push(one);
    const other = await hot.connect();
    clients.push(other);
    const processes: [number[], number[]] = [[], []];
    for (let round = 0; round < 3; round += 1) {
      processes[0].push(await processOf(one));
      processes[1].push(await processOf(other));
    }
    const { rows } = await one.query<Omit<ServerFacts, "processes">>(
      `select current_setting('server_version_num')::int as version, pg_is_in_recovery() as standby,
         current_setting('transaction_read_only') = 'on' as "readOnly", current_setting('search_path') as "searchPath"`,
    );
    const [facts] = rows;
    const fault = facts === undefined ? null : unfitServer({ ...facts, processes });
    if (fault !== null) throw fault;
  } catch (error) {
    throw translate(error, "Connecting to Postgres");
  } finally {
    for (const client of clients) client.release();
  }
}

async function processOf(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]?.pid ?? 0;
}
