import type { Database } from "./database.ts";
import { translate } from "./store-error.ts";
import { inTransaction } from "./transaction.ts";

/** One statement outside the hot path. Its failure is reported as a failure of `doing`. */
export async function queryDatabase<Row extends object>(
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

/** The same for frequent queries: each connection prepares the statement once under its name. */
export const queryNamed = named("calm");

/** The same for statements by key, which every model call runs: planned once per connection, whatever the tables contain. */
export const queryHot = named("hot");

function named(pool: "calm" | "hot") {
  return async <Row extends object>(
    database: Database,
    doing: string,
    name: string,
    text: string,
    values: readonly unknown[],
  ): Promise<Row[]> => {
    try {
      return (await database[pool].query<Row>({ name, text, values: [...values] })).rows;
    } catch (error) {
      throw translate(error, doing);
    }
  };
}

export type Query = <Row extends object>(text: string, values?: readonly unknown[]) => Promise<Row[]>;

/** Several statements on the same snapshot. */
export async function queryAtOnce<Result>(
  database: Database,
  doing: string,
  read: (query: Query) => Promise<Result>,
): Promise<Result> {
  try {
    return await inTransaction(
      database.calm,
      (client) => read(async (text, values = []) => (await client.query(text, [...values])).rows),
      "isolation level repeatable read read only",
    );
  } catch (error) {
    throw translate(error, doing);
  }
}
