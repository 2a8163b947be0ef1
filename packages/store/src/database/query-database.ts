import type { Database } from "./database.ts";
import { translate } from "./store-error.ts";
import { inTransaction } from "./transaction.ts";

/** One statement beside the hot path; its failure is told as a failure of `doing`. */
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

/** The same for what is read all the time: each connection reads the statement once, and knows it by its name. */
export const queryNamed = named("calm");

/** The same for statements by key, which every call of a model makes: planned once per connection, whatever the tables hold. */
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

/** Several statements that see the same moment. */
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
