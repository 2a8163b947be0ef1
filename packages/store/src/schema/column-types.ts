/** How the tables define their columns. */
import { sql } from "drizzle-orm";
import { bigint, customType, timestamp } from "drizzle-orm/pg-core";

export const at = (name: string) => timestamp(name, { withTimezone: true });
/** When the row was created, by the database's clock. */
export const now = (name: string) => at(name).notNull().default(sql`clock_timestamp()`);
export const counter = (name: string) => bigint(name, { mode: "number" });
export const bytea = customType<{ data: Buffer }>({ dataType: () => "bytea" });
