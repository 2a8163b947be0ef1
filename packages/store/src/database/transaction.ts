import { patiently } from "@markmill/base";
import type { Pool, PoolClient } from "pg";
import { isContention } from "./store-error.ts";

/**
 * Runs a transaction: all of it or nothing. On any error, the connection is closed, so that it never returns to the
 * pool with an open transaction.
 */
export async function inTransaction<Result>(
  pool: Pool,
  act: (client: PoolClient) => Promise<Result>,
  mode = "",
): Promise<Result> {
  const client = await pool.connect();
  try {
    await client.query(`begin ${mode}`);
    const result = await act(client);
    await client.query("commit");
    client.release();
    return result;
  } catch (error) {
    client.release(true);
    throw error;
  }
}

/** How often a transaction is tried again after a conflict with another one. */
const contendedAttempts = 5;

/**
 * The same, started again after a conflict with another transaction in which waiting is impossible: nothing of it was
 * written.
 */
export async function inContendedTransaction<Result>(
  pool: Pool,
  act: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  return await patiently(
    () => inTransaction(pool, act),
    (error, { tries }) => (tries < contendedAttempts && isContention(error) ? 0 : null),
  );
}
