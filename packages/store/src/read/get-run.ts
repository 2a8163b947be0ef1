/** Reads one run, for people. */
import type { Failure, Json, Usage } from "@markmill/engine";
import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import { type Spent, spentColumn } from "../money/charges.ts";
import { columns } from "../schema/columns.ts";
import { queuedSql } from "../shares/places-sql.ts";

export interface RunSummary {
  readonly id: string;
  readonly rootId: string;
  readonly parentActivityId: number | null;
  readonly definitionHash: string;
  readonly program: string;
  readonly name: string;
  readonly status: RunStatus;
  readonly phase: string;
  readonly word: string | null;
  readonly epoch: number;
  readonly rev: number;
  readonly depth: number;
  readonly labels: Readonly<Record<string, string>>;
  /** Includes the runs it called. Calls, tokens and cost come from the account (charges.ts). */
  readonly spent: Omit<Usage, "characters"> & Pick<Spent, "unsure"> & { readonly steps: number };
  readonly result: string | null;
  readonly reason: Failure | null;
  readonly options: Json;
  readonly createdAt: Date;
  readonly endedAt: Date | null;
  readonly deadline: Date | null;
  /** It starts when its tenant has a slot for it (shares/admit-runs.ts). */
  readonly queued: boolean;
}
export type RunStatus = "created" | "doing" | "stopped" | "success" | "failed" | "cancelled";

export interface RunDetail extends RunSummary {
  readonly variables: Readonly<Record<string, string>>;
  readonly hits: Readonly<Record<string, number>>;
}

/** The columns of a run's row in a summary, by their names in the schema. `steps` is within `spent`. */
const summaryKeys = [
  "id",
  "rootId",
  "parentActivityId",
  "definitionHash",
  "program",
  "name",
  "status",
  "phase",
  "word",
  "epoch",
  "rev",
  "depth",
  "labels",
  "steps",
  "result",
  "reason",
  "options",
  "createdAt",
  "endedAt",
  "deadline",
] as const satisfies readonly (keyof typeof columns.runs)[];

/** Checks at compile time that exactly the keys of a summary are read. */
type Read = Record<(typeof summaryKeys)[number], unknown>;
type Wanted = Record<Exclude<keyof RunSummary, "spent" | "queued"> | "steps", unknown>;
export interface SummaryRow extends Omit<RunSummary, "spent"> {
  readonly steps: Read extends Wanted ? (Wanted extends Read ? number : never) : never;
  readonly spent: Spent;
}

/** Columns of a run `r`. */
export const summaryColumns = `${summaryKeys.map((key) => `r.${columns.runs[key].name} as "${key}"`).join(", ")},
  ${queuedSql("r")} as queued, ${spentColumn("r.id", "r.root_id")} as spent`;

export function toSummary({ steps, spent: { characters: _, ...spent }, ...row }: SummaryRow): RunSummary {
  return { ...row, spent: { steps, ...spent } };
}

export async function getRun(database: Database, id: string): Promise<RunDetail | null> {
  const rows = await queryDatabase<SummaryRow & Pick<RunDetail, "variables" | "hits">>(
    database,
    "Reading a run",
    `select ${summaryColumns},
       (select coalesce(json_object_agg(h.node, h.hits), '{}') from hits h where h.run_id = r.id) as hits,
       (select coalesce(json_object_agg(v.name, v.value), '{}') from run_variables v where v.run_id = r.id) as variables
     from runs r where r.id = $1`,
    [id],
  );
  const row = rows[0];
  return row === undefined ? null : { ...toSummary(row), variables: row.variables, hits: row.hits };
}

/** The runs that a run called, in the order of their calls. */
export async function childRuns(database: Database, runId: string): Promise<readonly RunSummary[]> {
  const rows = await queryDatabase<SummaryRow>(
    database,
    "Reading called runs",
    `select ${summaryColumns} from runs r join activities a on a.id = r.parent_activity_id where a.run_id = $1 order by r.created_at, r.id`,
    [runId],
  );
  return rows.map(toSummary);
}

/** The blob of the submission, or null. */
export async function submissionOf(database: Database, rootId: string): Promise<string | null> {
  const rows = await queryDatabase<{ blob: string | null }>(
    database,
    "Reading a submission",
    "select submission ->> 'blob' as blob from runs where id = $1",
    [rootId],
  );
  return rows[0]?.blob ?? null;
}
