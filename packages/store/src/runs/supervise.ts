/**
 * The duties of the supervisor: deadlines, expired questions to people, and deletion of old runs. All of them use the database's clock and
 * work in bounded sets, and repeating them is harmless. For lost jobs and expired leases see commit/lost-jobs.ts.
 */

import { deadlineWith, type JobSpec } from "@markmill/engine";
import { expireAsk } from "../calls/asks.ts";
import { waitsForCallee } from "../commit/kinds-sql.ts";
import type { LoadedRun } from "../commit/run-row.ts";
import { waitsBelow } from "../commit/waits-below.ts";
import { queryDatabase } from "../database/query-database.ts";
import { type StoreError, translate } from "../database/store-error.ts";
import { applyEvent, type Outside } from "./apply-event.ts";

/** Called for a run that cannot be handled. The others are handled. */
export type OnSkipped = (error: StoreError, about: { readonly run?: string; readonly activity?: number }) => void;

/** Limits the runs whose deadline has passed. Returns the jobs to enqueue. */
export async function enforceDeadlines(
  outside: Outside,
  onSkipped: OnSkipped = rethrow,
  limit = 100,
): Promise<readonly JobSpec[]> {
  const { database } = outside;
  const due = await queryDatabase<{ id: string; deadline: string; calls: boolean }>(
    database,
    "Looking for deadlines",
    // If a run waits for a called run whose time is also over, the called run is limited first: so every level gets its ON_FAILED.
    `select id, deadline::text, exists (
         select 1 from activities a where a.run_id = r.id and ${waitsForCallee("a")} and (a.state = 'waiting' or a.outcome is not null)) as calls
     from runs r where deadline < clock_timestamp() and status = 'doing'
       and not exists (
         select 1 from activities a join runs c on c.parent_activity_id = a.id
         where a.run_id = r.id and ${waitsForCallee("a")} and a.state = 'waiting' and c.ended_at is null
           and c.deadline < clock_timestamp() + interval '1 second')
     order by deadline limit $1`,
    [limit],
  );
  const jobs: JobSpec[] = [];
  for (const { id, deadline, calls } of due) {
    try {
      let timeless = false;
      let held = false;
      let later: number | null = null;
      const committed = await applyEvent(outside, id, async (run, happened) => {
        later = calls ? await laterDeadline(outside, run, happened.at) : null;
        if (later !== null) return null;
        timeless = run.state.phase.is === "handling" && run.state.phase.until === null;
        held = Object.values(run.state.active).some(({ parked }) => parked?.held === true);
        return {
          type: "run.limited",
          ...happened,
          epoch: run.state.epoch,
          code: "LIMIT_TIME",
          message: `The run's time is over (${run.state.limits.timeMs ?? 0} ms).`,
        };
      });
      jobs.push(...committed.jobs);
      if (later !== null) {
        // Check again when the time would be over if the run waited no longer.
        await queryDatabase(
          database,
          "Moving a deadline",
          "update runs set deadline = to_timestamp($3::float8 / 1000) where id = $1 and deadline = $2::timestamptz",
          [id, deadline, Math.max(later, outside.clock.now() + 1_000)],
        );
        continue;
      }
      // This deadline has served its purpose, unless the event set another one. If the event was dropped, the next cycle tries it again.
      // There are two exceptions. A handler without a time of its own ignores the run's deadline. A run that waits for a resume beside
      // other work is checked again after a while.
      await queryDatabase(
        database,
        "Clearing a deadline",
        `update runs set deadline = case when $3 or ended_at is not null then null else clock_timestamp() + interval '1 minute' end
         where id = $1 and deadline = $2::timestamptz and ($3 or $4 or ended_at is not null)`,
        [id, deadline, committed.kind === "committed" || timeless, held],
      );
    } catch (error) {
      survive(error, onSkipped, { run: id });
    }
  }
  return jobs;
}

/** The later end of the run's time, if the runs it called only waited. null: the time is over. */
async function laterDeadline({ database, definitions }: Outside, run: LoadedRun, at: number): Promise<number | null> {
  const { spans } = await waitsBelow(database.calm, definitions, run.id, at);
  const deadline = deadlineWith(run.state, at, spans);
  return deadline === null || deadline <= at ? null : deadline;
}

/** If the server is unreachable, the run itself is not at fault. */
function survive(error: unknown, onSkipped: OnSkipped, about: Parameters<OnSkipped>[1]): void {
  const known = translate(error, "Supervising");
  if (known.code === "STORE_UNREACHABLE") throw known;
  onSkipped(known, about);
}

const rethrow: OnSkipped = (error) => {
  throw error;
};

/** Returns the jobs to enqueue. */
export async function expireAsks(
  outside: Outside,
  onSkipped: OnSkipped = rethrow,
  limit = 100,
): Promise<readonly JobSpec[]> {
  const due = await queryDatabase<{ activity_id: number }>(
    outside.database,
    "Looking for unanswered questions",
    `select k.activity_id from asks k join runs r on r.id = k.run_id
     where k.state = 'open' and k.expires_at < clock_timestamp() and r.ended_at is null order by k.expires_at limit $1`,
    [limit],
  );
  const jobs: JobSpec[] = [];
  for (const { activity_id } of due) {
    try {
      jobs.push(...(await expireAsk(outside, activity_id)).jobs);
    } catch (error) {
      survive(error, onSkipped, { activity: activity_id });
    }
  }
  return jobs;
}
