/** What happened in a run, and the activities it happened to. */
import type { Event, Work, WorkKind } from "@markmill/engine";
import { askAtOnce } from "../ask-database.ts";
import { type LightColumn, type LightKind, workOf } from "../commit/light-activity.ts";
import { columnToItem } from "../commit/run-row.ts";
import type { Database } from "../database.ts";

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
  /** The event that ended it: `outcome` or `failure` stand there. */
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

/**
 * `after`: only what came later, for whoever follows a run. Read as of one moment: a light activity goes from the run's row to an event.
 */
export async function getHistory(database: Database, runId: string, after = 0): Promise<History> {
  const { entries, open, activities } = await askAtOnce(database, "Reading a history", async (ask) => ({
    entries: await ask<EventRow>(
      `select seq, part, at, body::json as body, activity_id, kind, asked_at from events where run_id = $1 and seq > $2 order by seq, part`,
      [runId, after],
    ),
    open: await ask<{ light: readonly LightColumn[]; state: "ready" | "void" }>(
      "select light, case status when 'stopped' then 'void' else 'ready' end as state from runs where id = $1 and light is not null",
      [runId],
    ),
    activities: await ask<HistoryActivity & { item: number }>(
      `select id, node, generation, item, attempt, kind, state, work, seq, claimed_by as "claimedBy", takeovers,
         created_at as "createdAt", ended_at as "endedAt"
       from activities where run_id = $1 and (seq is null or seq > $2) order by id`,
      [runId, after],
    ),
  }));
  return {
    entries: entries.map(toEntry),
    activities: [
      ...activities.map((row) => ({ ...row, item: columnToItem(row.item) })),
      ...entries.flatMap((row) => doneLight(row) ?? []),
      ...open.flatMap(({ light, state }) => light.map((one) => openLight(one, state))),
    ].sort(byEnd),
  };
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

interface EventRow extends EventColumns {
  readonly activity_id: number | null;
  readonly kind: LightKind | null;
  readonly asked_at: Date | null;
}

/** Of a light activity that is done, its event is the row. */
function doneLight({ seq, at, body, activity_id, kind, asked_at }: EventRow): HistoryActivity | null {
  if (activity_id === null || kind === null || !("activity" in body)) return null;
  return {
    ...{ id: activity_id, kind, seq, work: workOf(kind), ...body.activity },
    ...{ state: "done", claimedBy: null, takeovers: 0, createdAt: asked_at ?? at, endedAt: at },
  };
}

function openLight(
  { id, node, generation, item, attempt, kind, at }: LightColumn,
  state: "ready" | "void",
): HistoryActivity {
  return {
    ...{ id, node, generation, item, attempt, kind, work: workOf(kind), seq: null },
    ...{ state, claimedBy: null, takeovers: 0, createdAt: new Date(at), endedAt: null },
  };
}
