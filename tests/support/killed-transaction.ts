/**
 * Lets a process die between two statements of a transaction. Its connection is cut: the database sees the same as after kill -9, and this
 * process sees an error.
 */
import type { Pool, PoolClient } from "pg";

/** `at`: the number of the statement, from 1 (`begin`). `when`: it dies before the statement is sent, or after it was carried out. */
export async function killedAtStatement(
  pool: Pool,
  at: number,
  when: "before" | "after",
  act: () => Promise<unknown>,
): Promise<{ readonly died: boolean; readonly statement: string }> {
  const connect = pool.connect;
  let count = 0;
  let statement = "";
  let died = false;
  const die = (client: PoolClient): never => {
    died = true;
    (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    throw new Error("killed");
  };
  const own = async (): Promise<PoolClient> => {
    const client = await (connect as () => Promise<PoolClient>).call(pool);
    // Cutting the connection is no failure of the pool.
    client.on("error", () => undefined);
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
    const counted = async (...args: unknown[]) => {
      count += 1;
      const isLast = count === at;
      if (isLast) statement = String(args[0]).trim().slice(0, 80);
      if (died || (isLast && when === "before")) die(client);
      const result = await query(...args);
      if (isLast) die(client);
      return result;
    };
    return Object.assign(Object.create(client), { query: counted, release: client.release.bind(client) });
  };
  // A single statement takes its connection with a callback, and is no part of a transaction.
  pool.connect = ((callback?: Parameters<Pool["connect"]>[0]) =>
    callback === undefined ? own() : connect.call(pool, callback)) as Pool["connect"];
  try {
    await act().catch((error: unknown) => {
      if (!died) throw error;
    });
  } finally {
    pool.connect = connect;
  }
  return { died, statement };
}
