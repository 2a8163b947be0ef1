/** The history of a run: its events and activities. */
import { type Event, type InlineKind, inlineWork, type Work, type WorkKind } from "@markmill/engine";
import { columnToItem } from "../commit/run-row.ts";
import type { Database } from "../database/database.ts";
import { queryAtOnce, queryDatabase } from "../database/query-database.ts";

export interface Warning {
  readonly code: string;
  readonly message: string;
  readonly node: string | null;
}

export type HistoryEntry =
  | { readonly kind: "event"; readonly seq: number; readonly at: Date; readonly event: Event }
  | { readonly kind: "warning"; readonly seq: number; readonly at: Date; readonly warning: Warning };

export interface HistoryActivity {
  readonly id: number;
  readonly node: string;
  readonly generation: number;
  readonly item: number | null;
  readonly attempt: number;
  readonly kind: WorkKind;
  readonly state: "ready" | "claimed" | "waiting" | "done" | "void";
  readonly work: Work;
  /** The number of the event that ended it and has its `outcome` or `failure`. */
  readonly seq: number | null;
  readonly claimedBy: string | null;
  readonly takeovers: number;
  readonly createdAt: Date;
  readonly endedAt: Date | null;
}

export interface History {
  readonly entries: readonly HistoryEntry[];
  /** In the order in which they ended; the open ones last. */
  readonly activities: readonly HistoryActivity[];
}

export const activityColumns = `id, node, generation, item, attempt, kind, state, work, seq, claimed_by as "claimedBy", takeovers,
  created_at as "createdAt", ended_at as "endedAt"`;

/** `after`: only newer events, for clients that follow a run. Read in one snapshot: the end of an activity is an event. */
export async function getHistory(database: Database, runId: string, after = 0): Promise<History> {
  const { entries, activities } = await queryAtOnce(database, "Reading a history", async (query) => ({
    entries: await query<EventColumns>(
      "select seq, part, at, body::json as body from events where run_id = $1 and seq > $2 order by seq, part",
      [runId, after],
    ),
    activities: await query<ActivityRow>(
      `select ${activityColumns} from run_activities where run_id = $1 and seq > $2
       union all select ${activityColumns} from run_activities where run_id = $1 and seq is null`,
      [runId, after],
    ),
  }));
  return {
    entries: entries.map(toEntry),
    activities: activities.map(toActivity).sort(byEnd),
  };
}

export interface ActivityRow extends Omit<HistoryActivity, "item" | "work"> {
  readonly item: number;
  /** null: it has nothing but its kind. */
  readonly work: Work | null;
}

export function toActivity(row: ActivityRow): HistoryActivity {
  return { ...row, item: columnToItem(row.item), work: row.work ?? inlineWork(row.kind as InlineKind) };
}

/** The open activities of a run, for clients that read it often without its history. */
export async function openActivities(
  database: Database,
  runId: string,
  limit = 100,
): Promise<readonly Omit<HistoryActivity, "work">[]> {
  const rows = await queryDatabase<Omit<ActivityRow, "work">>(
    database,
    "Reading what a run does",
    `select id, node, generation, item, attempt, kind, state, seq, claimed_by as "claimedBy", takeovers,
       created_at as "createdAt", ended_at as "endedAt"
     from run_activities where run_id = $1 and seq is null and state in ('ready', 'claimed', 'waiting') order by id limit $2`,
    [runId, limit],
  );
  return rows.map((row) => ({ ...row, item: columnToItem(row.item) }));
}

function byEnd(one: HistoryActivity, other: HistoryActivity): number {
  if (one.seq !== other.seq) return (one.seq ?? Number.POSITIVE_INFINITY) - (other.seq ?? Number.POSITIVE_INFINITY);
  return one.createdAt.getTime() - other.createdAt.getTime() || one.id - other.id;
}

export interface EventColumns {
  readonly seq: number;
  readonly part: number;
  readonly at: Date;
  readonly body: Event | Warning;
}

export function toEntry({ seq, part, at, body }: EventColumns): HistoryEntry {
  return part === 0
    ? { kind: "event", seq, at, event: body as Event }
    : { kind: "warning", seq, at, warning: body as Warning };
}
