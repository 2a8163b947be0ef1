/**
 * The connections. `hot` is for the statements of every step. They use only keyed access, so the planner must use indexes and nested loops,
 * whatever the statistics of a new table are. Otherwise a plan cached while a table was empty would scan the table when it has grown.
 * `calm` is for everything else.
 *
 * T1  No query waits for ever. After `queryTimeoutMs` without an answer (a socket that never answers), its connection is closed and the
 *     query fails as transient. The server gives up a little earlier, so that it runs no abandoned query. It also ends a transaction whose
 *     client is silent, because others wait for its locks.
 */
import { Pool, type PoolConfig, types } from "pg";
import { applySettings, type SessionSettings } from "./session-settings.ts";
import { translate } from "./store-error.ts";

export interface DatabaseOptions {
  readonly url: string;
  /** Connections for everything but the hot path. */
  readonly connections?: number;
  readonly applicationName?: string;
  /** See T1. Default: 15 s. */
  readonly queryTimeoutMs?: number;
  /** Called for connections that break while idle. The pool replaces them. */
  readonly onError?: (error: Error) => void;
  /** Tests only: the code of throughput/ is not used. */
  readonly plain?: boolean;
}

export interface Database {
  readonly url: string;
  readonly hot: Pool;
  readonly calm: Pool;
  readonly plain: boolean;
  close(): Promise<void>;
}

/** For statements that use only keyed access. */
export const keyedAccess: SessionSettings = {
  search_path: "markmill,public",
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  jit: "off",
};

const int8 = 20;
/** Ids and counters stay far below 2^53. */
const parsers: PoolConfig["types"] = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    oid === int8 && format !== "binary" ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
};

export function openDatabase(options: DatabaseOptions): Database {
  const { queryTimeoutMs = 15_000 } = options;
  const common: PoolConfig = {
    connectionString: options.url,
    types: parsers,
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 60_000,
    query_timeout: queryTimeoutMs,
    application_name: options.applicationName ?? "markmill",
  };
  const bounds: SessionSettings = {
    statement_timeout: String(Math.ceil(queryTimeoutMs * 0.9)),
    idle_in_transaction_session_timeout: String(queryTimeoutMs),
  };
  const poolWith = (max: number, settings: SessionSettings) =>
    new Pool({ ...common, max, onConnect: (client) => applySettings(client, { ...bounds, ...settings }) });
  const calm = poolWith(options.connections ?? 6, { search_path: "markmill,public" });
  const hot = poolWith(6, keyedAccess);
  const report = (error: Error) => options.onError?.(translate(error, "A database connection broke"));
  for (const pool of [calm, hot]) {
    pool.on("error", report);
    // A connection can break while it is in use, between two queries. Only this event reports it, and the next query fails.
    pool.on("connect", (client) => client.on("error", () => undefined));
  }
  let closing: Promise<void> | null = null;
  return {
    url: options.url,
    hot,
    calm,
    plain: options.plain ?? false,
    close: () => {
      closing ??= Promise.all([hot.end(), calm.end()]).then(() => undefined);
      return closing;
    },
  };
}
