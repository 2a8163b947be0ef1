/** Builds the text of columns.ts: the part of the schema that hand-written statements need, without the 0.5 s for importing drizzle. */
import { getTableColumns, getTableName, is } from "drizzle-orm";
import { PgTable } from "drizzle-orm/pg-core";
import { schema } from "./all-tables.ts";

export function writeColumns(): string {
  const lines = [
    "// Written by `npm run db:generate` from the tables beside it. Names and types in the database, by the name in the code.",
    "export const columns = {",
  ];
  const tables = Object.values<unknown>(schema).filter((value) => is(value, PgTable));
  for (const table of tables.sort((one, other) => (getTableName(one) < getTableName(other) ? -1 : 1))) {
    lines.push(`  ${getTableName(table)}: {`);
    for (const [key, column] of Object.entries(getTableColumns(table))) {
      lines.push(`    ${key}: { name: "${column.name}", type: "${column.getSQLType()}" },`);
    }
    lines.push("  },");
  }
  return `${[...lines, "} as const;"].join("\n")}\n`;
}
