/**
 * The events of one run after a sequence number, in their order and without gaps. Events of a run are committed one by one, so no event is
 * ever added below a number that was read. A client that polls passes `last` as the next `after`.
 *
 * `waitMs` is for long polling: if there is nothing new, the answer waits until the run has a new event, at most this long.
 */

import type { Database } from "../database/database.ts";
import { queryAtOnce } from "../database/query-database.ts";
import type { Movements } from "../watch/movements.ts";
import { type EventColumns, type HistoryEntry, toEntry } from "./get-history.ts";
import type { RunStatus } from "./get-run.ts";

export interface EventsRequest {
  /** Events with a higher number. 0: from the start. */
  readonly after?: number;
  /** Events, with all their warnings; at most 1,000. */
  readonly limit?: number;
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

export interface EventPage {
  readonly entries: readonly HistoryEntry[];
  /** The number of the last event read so far. */
  readonly last: number;
  /** The number of events of the run: more than `last` while there are further pages. */
  readonly rev: number;
  readonly status: RunStatus;
  /** The run has ended and its last event has been read. */
  readonly ended: boolean;
}

const pollMs = 500;
const mostEvents = 1_000;
/** Limit of a page. The first event is complete, whatever its length. */
const mostBytes = 16 * 1024 * 1024;

/** null: the run does not exist. */
export async function eventsAfter(
  database: Database,
  movements: Movements,
  runId: string,
  { after = 0, limit = mostEvents, waitMs = 0, signal }: EventsRequest = {},
): Promise<EventPage | null> {
  const until = performance.now() + waitMs;
  const most = Math.max(1, Math.min(limit, mostEvents));
  for (;;) {
    const left = until - performance.now();
    // Start listening before the read: a change in between then wakes this call.
    const moved = left > 0 && signal?.aborted !== true ? movements.next(runId, Math.min(left, pollMs), signal) : null;
    const page = await readEvents(database, runId, Math.max(0, after), most).catch((error: unknown) => {
      moved?.cancel();
      throw error;
    });
    if (page === null || page.entries.length > 0 || page.ended || moved === null) {
      moved?.cancel();
      return page;
    }
    await moved.happened;
    if (signal?.aborted === true) return page;
  }
}

/** One page of the current state. Warnings come with their event, which has the same number. */
export async function readEvents(
  database: Database,
  runId: string,
  after: number,
  limit: number,
): Promise<EventPage | null> {
  const { run, rows } = await queryAtOnce(database, "Reading events", async (query) => ({
    run: await query<{ rev: number; status: RunStatus; over: boolean }>(
      "select rev, status, ended_at is not null as over from runs where id = $1",
      [runId],
    ),
    rows: await query<EventColumns>(
      `select seq, part, at, body::json as body from (
         select seq, part, at, body, sum(octet_length(body)) over (order by seq) as bytes, min(seq) over () as first
         from events where run_id = $1 and seq > $2 and seq <= $3
       ) e where bytes <= $4 or seq = first order by seq, part`,
      [runId, after, after + Math.min(limit, mostEvents), mostBytes],
    ),
  }));
  const [found] = run;
  if (found === undefined) return null;
  const { rev, status, over } = found;
  const last = rows.at(-1)?.seq ?? after;
  return { entries: rows.map(toEntry), last, rev, status, ended: over && last >= rev };
}
