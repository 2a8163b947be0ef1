import type { Database } from "./database.ts";
import { translate } from "./store-error.ts";
import { inTransaction } from "./transaction.ts";

/** One statement beside the hot path; its failure is told as a failure of `doing`. */
export async function askDatabase<Row extends object>(
  database: Database,
  doing: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  try {
    return (await database.calm.query<Row>(text, [...values])).rows;
  } catch (error) {
    throw translate(error, doing);
  }
}

export type Ask = <Row extends object>(text: string, values?: readonly unknown[]) => Promise<Row[]>;

/** Several statements that see the same moment. */
export async function askAtOnce<Result>(
  database: Database,
  doing: string,
  ask: (ask: Ask) => Promise<Result>,
): Promise<Result> {
  try {
    return await inTransaction(
      database.calm,
      (client) => ask(async (text, values = []) => (await client.query(text, [...values])).rows),
      "isolation level repeatable read read only",
    );
  } catch (error) {
    throw translate(error, doing);
  }
}
