/**
 * Tests whether Postgres works at this moment. The test has a connection of its own, opened at the first test: healthy pools may be busy
 * for a while. A connection that fails or does not answer is closed, and the next test opens another one.
 */
import { Client } from "pg";
import { applySettings } from "./session-settings.ts";
import { StoreError, translate } from "./store-error.ts";

const answerMs = 2_000;

export interface DatabaseProbe {
  /** Rejects with a StoreError that gives the cause. */
  ask(): Promise<void>;
  close(): Promise<void>;
}

export function createDatabaseProbe(url: string): DatabaseProbe {
  let client: Client | null = null;
  let closed = false;

  async function connected(): Promise<Client> {
    if (client !== null) return client;
    const next = new Client({
      connectionString: url,
      application_name: "markmill health",
      keepAlive: true,
      connectionTimeoutMillis: answerMs,
      query_timeout: answerMs,
    });
    next.on("error", () => drop(next));
    try {
      await next.connect();
      await applySettings(next, { statement_timeout: String(answerMs) });
    } catch (error) {
      drop(next);
      throw error;
    }
    if (closed || client !== null) {
      await next.end();
      if (client === null) throw new StoreError("STORE_UNREACHABLE", "The store is closed.");
      return client;
    }
    client = next;
    return next;
  }

  function drop(broken: Client): void {
    if (client === broken) client = null;
    broken.end().catch(() => undefined);
  }

  return {
    async ask() {
      let asked: Client | null = null;
      try {
        asked = await connected();
        const { rows } = await asked.query<{ standby: boolean; readOnly: boolean }>(
          `select pg_is_in_recovery() as standby, current_setting('default_transaction_read_only') = 'on' as "readOnly"`,
        );
        if (rows[0]?.standby === true) throw new StoreError("STORE_READ_ONLY", "The server is a standby.");
        if (rows[0]?.readOnly === true)
          throw new StoreError("STORE_READ_ONLY_SETTING", "default_transaction_read_only is on.");
      } catch (error) {
        // Only new connections see a changed setting of the server.
        if (asked !== null) drop(asked);
        throw translate(error, "Asking Postgres");
      }
    },
    async close() {
      closed = true;
      await client?.end().catch(() => undefined);
    },
  };
}
