/** Of several supervisors, one acts: the one that holds the advisory lock, which ends with its connection. */
import type { Database } from "../database/database.ts";
import { translate } from "../database/store-error.ts";

/** "mill" in ASCII. */
const lockKey = 0x6d696c6c;

/** Runs `act` if no other process leads, and leads until it ends. The signal aborts when the connection, and with it the lock, is lost. */
export async function withLeadership(
  database: Database,
  act: (signal: AbortSignal) => Promise<void>,
): Promise<"led" | "another leads"> {
  const client = await database.calm.connect().catch((error: unknown) => {
    throw translate(error, "Asking for leadership");
  });
  const lost = new AbortController();
  const onError = (error: Error) => lost.abort(translate(error, "Leading"));
  client.on("error", onError);
  let leads = false;
  try {
    const { rows } = await client.query<{ led: boolean }>("select pg_try_advisory_lock($1) as led", [lockKey]);
    leads = rows[0]?.led === true;
    if (!leads) return "another leads";
    await act(lost.signal);
    return "led";
  } catch (error) {
    lost.abort(error);
    throw error;
  } finally {
    client.removeListener("error", onError);
    // The leader's connection is closed, not returned: that releases the lock in every case.
    client.release(leads || lost.signal.aborted);
  }
}
