/**
 * Settings of a connection. They are made by a statement once the connection is open. Connection poolers refuse or drop settings that come
 * with the start of a connection.
 */
import type { ClientBase } from "pg";

/** Values by the names that Postgres has for them. */
export type SessionSettings = Readonly<Record<string, string>>;

export async function applySettings(client: ClientBase, settings: SessionSettings): Promise<void> {
  const pairs = Object.entries(settings);
  const calls = pairs.map((_, index) => `set_config($${2 * index + 1}, $${2 * index + 2}, false)`);
  await client.query(`select ${calls.join(", ")}`, pairs.flat());
}
