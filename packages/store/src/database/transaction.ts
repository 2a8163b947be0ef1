import { patiently } from "@markmill/base";
import type { Pool, PoolClient } from "pg";
import { isContention } from "./store-error.ts";

/** All of it or nothing. Whatever goes wrong, the connection is closed and not given back with an open transaction. */
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

/** So often two transactions may stand in each other's way. */
const contendedAttempts = 5;

/** The same, begun anew where it met another one that it cannot wait for: nothing of it was written. */
export async function inContendedTransaction<Result>(
  pool: Pool,
  act: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  return await patiently(
    () => inTransaction(pool, act),
    (error, { tries }) => (tries < contendedAttempts && isContention(error) ? 0 : null),
  );
}
