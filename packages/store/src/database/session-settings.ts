/**
 * Settings of a connection. A statement applies them once the connection is open: connection poolers refuse or drop settings that are sent
 * at the start of a connection.
 */
import type { ClientBase } from "pg";

/** Values by their names in Postgres. */
export type SessionSettings = Readonly<Record<string, string>>;

export async function applySettings(client: ClientBase, settings: SessionSettings): Promise<void> {
  const pairs = Object.entries(settings);
  const calls = pairs.map((_, index) => `set_config($${2 * index + 1}, $${2 * index + 2}, false)`);
  await client.query(`select ${calls.join(", ")}`, pairs.flat());
}
