import type { Pool, PoolClient } from "pg";

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
