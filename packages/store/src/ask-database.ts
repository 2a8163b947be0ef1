import type { Database } from "./database.ts";
import { translate } from "./store-error.ts";

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
