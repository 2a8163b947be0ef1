/**
 * npm run db:generate -- what-changes
 *
 * Writes the migration that brings a database to what packages/store/src/schema says, by drizzle-kit, and with it the list of columns that
 * hand-written statements take theirs from. What drizzle does not know (views, functions, triggers, storage parameters, data) is
 * written into the migration by hand. Without a name only the list and the snapshot are written: after a migration written by hand.
 * tests/integration/schema-drift.test.ts compares a migrated database with the schema.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { generateDrizzleJson, generateMigration } from "drizzle-kit/api";
import { schema } from "../packages/store/src/schema/all-tables.ts";
import { writeColumns } from "../packages/store/src/schema/write-columns.ts";

const directory = new URL("../packages/store/migrations/", import.meta.url);
const snapshot = new URL("snapshot.json", directory);
const [name] = process.argv.slice(2);

const before = JSON.parse(readFileSync(snapshot, "utf8"));
const now = generateDrizzleJson(schema, before.id, ["markmill"]);
const statements = await generateMigration(before, now);
if (name !== undefined) {
  const files = readdirSync(directory).filter((file) => file.endsWith(".sql"));
  const last = Math.max(...files.map((file) => Number.parseInt(file, 10)));
  const file = `${String(last + 1).padStart(4, "0")}-${name}.sql`;
  if (statements.length === 0) throw new Error("The schema is what it was: there is nothing to migrate.");
  writeFileSync(new URL(file, directory), `${statements.join("\n").replaceAll("--> statement-breakpoint", "")}\n`, {
    flag: "wx",
  });
  console.log(`packages/store/migrations/${file}`);
} else if (statements.length > 0) console.log(`taken as migrated:\n${statements.join("\n")}`);
if (statements.length > 0) writeFileSync(snapshot, `${JSON.stringify(now, null, 2)}\n`);
writeFileSync(new URL("../src/schema/columns.ts", directory), writeColumns());
