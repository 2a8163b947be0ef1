// A migrated database equals the schema files: tables, columns, types, nullability, defaults, indexes, constraints, sequences. Postgres
// compares: one database is migrated, the other is created from the schema, and both describe themselves.
import { readFileSync } from "node:fs";
import { generateDrizzleJson, generateMigration } from "drizzle-kit/api";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { migrate } from "../../packages/store/src/database/migrate.ts";
import { schema } from "../../packages/store/src/schema/all-tables.ts";
import { writeColumns } from "../../packages/store/src/schema/write-columns.ts";
import { freshDatabase, type TestDatabase } from "../support/postgres.ts";

const beside = (path: string) => readFileSync(new URL(`../../packages/store/${path}`, import.meta.url), "utf8");

let migrated: TestDatabase;
let described: TestDatabase;

beforeAll(async () => {
  [migrated, described] = await Promise.all([freshDatabase(), freshDatabase()]);
  const pool = new pg.Pool({ connectionString: migrated.url, max: 1 });
  await migrate(pool);
  await pool.end();
  const statements = await generateMigration(
    generateDrizzleJson({}, undefined, ["markmill"]),
    generateDrizzleJson(schema, undefined, ["markmill"]),
  );
  await ask(described, statements.join("\n"));
});
afterAll(async () => {
  await migrated?.drop();
  await described?.drop();
});

async function ask(database: TestDatabase, text: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    const { rows } = await client.query<{ line: string }>(text);
    return (rows ?? []).map(({ line }) => line);
  } finally {
    await client.end();
  }
}

const ours = "c.relnamespace = 'markmill'::regnamespace and c.relname <> 'migrations'";
const questions = {
  "tables and columns": `select c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
      || case when a.attnotnull then ' not null' else '' end || case a.attidentity when '' then '' else ' identity' end
      || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') as line
    from pg_attribute a join pg_class c on c.oid = a.attrelid left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where ${ours} and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped order by 1`,
  indexes: `select indexdef as line from pg_indexes where schemaname = 'markmill' and tablename <> 'migrations' order by 1`,
  constraints: `select c.relname || ' ' || k.conname || ' ' || pg_get_constraintdef(k.oid) as line
    from pg_constraint k join pg_class c on c.oid = k.conrelid where ${ours} and k.contype <> 'n' order by 1`,
  sequences: `select sequencename || ' ' || start_value || ' ' || increment_by as line from pg_sequences where schemaname = 'markmill' order by 1`,
};

it.each(Object.entries(questions))(
  "a migrated database has the %s that the schema files define",
  async (_, question) => {
    const [here, there] = await Promise.all([ask(migrated, question), ask(described, question)]);
    expect(here.length).toBeGreaterThan(0);
    expect(here).toEqual(there);
  },
);

it("the list of columns equals the schema files (npm run db:generate writes it)", () => {
  expect(beside("src/schema/columns.ts")).toBe(writeColumns());
});

it("the snapshot equals the schema files, so that the next migration contains only changes", async () => {
  const snapshot = JSON.parse(beside("migrations/snapshot.json"));
  expect(await generateMigration(snapshot, generateDrizzleJson(schema, snapshot.id, ["markmill"]))).toEqual([]);
});
