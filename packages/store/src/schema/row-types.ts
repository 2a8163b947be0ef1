/** Types of rows in statements, with the names of the database. Types only: importing this costs nothing. */
import type { Table } from "drizzle-orm";
import type { runs } from "./runs.ts";

type RowOf<From extends Table> = {
  readonly [Key in keyof From["_"]["columns"] as From["_"]["columns"][Key]["_"]["name"]]: Key extends keyof From["$inferSelect"]
    ? Frozen<From["$inferSelect"][Key]>
    : never;
};
type Frozen<Value> = Value extends readonly (infer Item)[] ? readonly Item[] : Value;

export type RunRow = RowOf<typeof runs>;
