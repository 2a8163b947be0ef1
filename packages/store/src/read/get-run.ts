/** One run, for people. */
import type { Failure, Json, Usage } from "@markmill/engine";
import { askDatabase } from "../ask-database.ts";
import { type Spent, spentColumn } from "../charges.ts";
import type { Database } from "../database.ts";

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
  /** With what it called; calls, tokens and cost are those of the account (charges.ts). */
  readonly spent: Omit<Usage, "characters"> & Pick<Spent, "unsure"> & { readonly steps: number };
  readonly result: string | null;
  readonly reason: Failure | null;
  readonly options: Json;
  readonly createdAt: Date;
  readonly endedAt: Date | null;
  readonly deadline: Date | null;
}
export type RunStatus = "created" | "doing" | "stopped" | "success" | "failed" | "cancelled";

export interface RunDetail extends RunSummary {
  readonly variables: Readonly<Record<string, string>>;
  readonly hits: Readonly<Record<string, number>>;
}

export interface SummaryRow {
  readonly id: string;
  readonly root_id: string;
  readonly parent_activity_id: number | null;
  readonly definition_hash: string;
  readonly program: string;
  readonly name: string;
  readonly status: RunStatus;
  readonly phase: string;
  readonly word: string | null;
  readonly epoch: number;
  readonly rev: number;
  readonly depth: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly steps: number;
  readonly spent: Spent;
  readonly result: string | null;
  readonly reason: Failure | null;
  readonly options: Json;
  readonly created_at: Date;
  readonly ended_at: Date | null;
  readonly deadline: Date | null;
}

const summaryColumns = `r.id, r.root_id, r.parent_activity_id, r.definition_hash, r.program, r.name, r.status, r.phase, r.word,
  r.epoch, r.rev, r.depth, r.labels, r.steps, ${spentColumn("r.id", "r.root_id")} as spent, r.result, r.reason,
  r.options, r.created_at, r.ended_at, r.deadline`;

export function toSummary(row: SummaryRow): RunSummary {
  return {
    id: row.id,
    rootId: row.root_id,
    parentActivityId: row.parent_activity_id,
    definitionHash: row.definition_hash,
    program: row.program,
    name: row.name,
    status: row.status,
    phase: row.phase,
    word: row.word,
    epoch: row.epoch,
    rev: row.rev,
    depth: row.depth,
    labels: row.labels,
    spent: { steps: row.steps, ...withoutCharacters(row.spent) },
    result: row.result,
    reason: row.reason,
    options: row.options,
    createdAt: row.created_at,
    endedAt: row.ended_at,
    deadline: row.deadline,
  };
}

function withoutCharacters({ characters: _, ...spent }: Spent): Omit<Spent, "characters"> {
  return spent;
}

export async function getRun(database: Database, id: string): Promise<RunDetail | null> {
  const rows = await askDatabase<SummaryRow & Pick<RunDetail, "variables" | "hits">>(
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

/** Runs called by a run, in the order of their calls. */
export async function childRuns(database: Database, runId: string): Promise<readonly RunSummary[]> {
  const rows = await askDatabase<SummaryRow>(
    database,
    "Reading called runs",
    `select ${summaryColumns} from runs r join activities a on a.id = r.parent_activity_id where a.run_id = $1 order by r.created_at, r.id`,
    [runId],
  );
  return rows.map(toSummary);
}

/** The blob that holds what was handed in, or null. */
export async function submissionOf(database: Database, rootId: string): Promise<string | null> {
  const rows = await askDatabase<{ blob: string | null }>(
    database,
    "Reading a submission",
    "select submission ->> 'blob' as blob from runs where id = $1",
    [rootId],
  );
  return rows[0]?.blob ?? null;
}
