/**
 * The changes that people make to a batch. Each change is one statement or one transaction on the batch's row. The consequences for its
 * runs follow run by run. After a kill in between, the supervisor does the rest (admit.ts), and repeating a change is harmless.
 */
import type { JobSpec } from "@markmill/engine";
import type { Rubric } from "@markmill/grading";
import type { PoolClient } from "pg";
import type { Database } from "../database/database.ts";
import type { DatabaseClock } from "../database/database-clock.ts";
import { neutral, neutralText, toJson } from "../database/neutral.ts";
import { queryDatabase } from "../database/query-database.ts";
import { StoreError, translate } from "../database/store-error.ts";
import { inTransaction } from "../database/transaction.ts";
import { uuidv7 } from "../database/uuidv7.ts";
import type { Definition } from "../definitions/definitions.ts";
import { cancelRun, type Outside } from "../runs/apply-event.ts";
import { type Resumed, resumeTree } from "../runs/resume-run.ts";
import type { BatchSettings, Retried, TryReason } from "./batch.ts";
import { noBatch } from "./read-batches.ts";
import { type Restarted, restartUnpaid } from "./restart-unpaid.ts";
import { checkConcurrency } from "./save-batch.ts";
import { lookBefore, noteEnd } from "./settle-batch.ts";
import { type GradedBy, isReworded, rubricOfDefinition } from "./standing-marks.ts";
import { proposalOfWork, standing, worksWithRuns } from "./standing-sql.ts";

async function change(database: Database, tenant: string, id: string, set: string, values: readonly unknown[] = []) {
  const rows = await queryDatabase(
    database,
    "Changing a batch",
    `update batches set ${set} where tenant = $1 and id = $2 returning pg_notify('markmill_batches', '')`,
    [tenant, id, ...values],
  );
  if (rows.length === 0) throw noBatch(id);
}

/** A cancelled batch stays cancelled. */
export async function pauseBatch(database: Database, tenant: string, id: string, reason: string): Promise<void> {
  await change(
    database,
    tenant,
    id,
    `state = case when state = 'cancelled' then state else 'paused' end, paused_by = 'person',
     reason = case when state = 'cancelled' then batches.reason else $3 end`,
    [neutralText(reason)],
  );
}

export async function setConcurrency(database: Database, tenant: string, id: string, runs: number): Promise<void> {
  checkConcurrency(runs);
  await change(database, tenant, id, "concurrency = $3", [runs]);
}

const together = 8;

/** For an attempt `t`: no newer one replaced it. */
const isLastTry =
  "not exists (select 1 from batch_runs n where n.batch_id = t.batch_id and n.work = t.work and n.try > t.try)";

/**
 * Resumes the open runs of a batch that wait: stopped, or in trouble. The statement that opens the batch also finds them. So a fast
 * supervisor that sees the batch open cannot remove any of them from the count.
 */
export async function resumeBatch(outside: Outside, tenant: string, id: string): Promise<Resumed> {
  const { database } = outside;
  const opened = await queryDatabase<{ waiting: readonly string[] }>(
    database,
    "Opening a batch",
    `update batches b set state = 'open', paused_by = null, reason = '', deleting_at = null where b.tenant = $1 and b.id = $2
     returning pg_notify('markmill_batches', ''), array(
       select r.id from batch_runs t join runs r on r.id = t.run_id
       where t.batch_id = b.id and t.admitted_at is not null and t.end_seen_at is null and r.ended_at is null and ${isLastTry}
         and (r.status = 'stopped' or exists (
           select 1 from activities a where a.root_id = r.id and a.trouble is not null and a.state in ('ready', 'claimed', 'waiting')))
     ) as waiting`,
    [tenant, id],
  );
  const waiting = opened[0]?.waiting;
  if (waiting === undefined) throw noBatch(id);
  const jobs: JobSpec[] = [];
  await eachOf(waiting, async (runId) => {
    jobs.push(...(await resumeTree(outside, runId)).jobs);
  });
  return { runs: waiting.length, jobs };
}

/**
 * Changes the settings for runs that start from now on, and for submissions without a paid reply. One transaction: kill -9 leaves all of it
 * or nothing.
 */
export async function setRun(
  { database, clock }: TryParts,
  tenant: string,
  id: string,
  run: BatchSettings["run"],
): Promise<Restarted> {
  try {
    return await inTransaction(database.calm, async (client) => {
      // save-batch.ts, V1.
      const { rows } = await client.query<{ settings: BatchSettings; definitionHash: string }>(
        `select settings, definition_hash as "definitionHash" from batches where tenant = $1 and id = $2 for update`,
        [tenant, id],
      );
      const [found] = rows;
      if (found === undefined) throw noBatch(id);
      const settings = neutral({ ...found.settings, run });
      await client.query("update batches set settings = $2 where id = $1", [id, toJson(settings)]);
      const restarted = await restartUnpaid(client, clock, {
        id,
        definitionHash: found.definitionHash,
        run: settings.run,
      });
      await client.query("select pg_notify('markmill_batches', '')");
      return restarted;
    });
  } catch (error) {
    throw translate(error, "Changing how runs of a batch begin");
  }
}

/** No submission starts once the state is written. The supervisor ends runs that were being started at that moment. */
export async function cancelBatch(outside: Outside, tenant: string, id: string, reason: string): Promise<number> {
  const { database } = outside;
  await writeCancelled(database, tenant, id, neutralText(reason));
  const open = await queryDatabase<{ id: string }>(
    database,
    "Looking for open runs",
    `select r.id from batch_runs t join runs r on r.id = t.run_id
     where t.batch_id = $1 and t.admitted_at is not null and t.end_seen_at is null and r.ended_at is null`,
    [id],
  );
  let ended = 0;
  await eachOf(open, async ({ id: runId }) => {
    const committed = await cancelRun(outside, runId, neutralText(reason));
    if (committed.kind === "committed") ended += 1;
  });
  return ended;
}

/** Without a run under way, the batch ends at once, even without any submission. */
async function writeCancelled(database: Database, tenant: string, id: string, reason: string): Promise<void> {
  try {
    await inTransaction(database.calm, async (client) => {
      const { rows } = await client.query("select 1 from batches where tenant = $1 and id = $2 for update", [
        tenant,
        id,
      ]);
      if (rows.length === 0) throw noBatch(id);
      const before = await lookBefore(client, id);
      await client.query("update batches set state = 'cancelled', paused_by = null, reason = $2 where id = $1", [
        ...[id, reason],
      ]);
      await noteEnd(client, id, before, { empty: true });
      await client.query("select pg_notify('markmill_batches', '')");
    });
  } catch (error) {
    throw translate(error, "Cancelling a batch");
  }
}

export async function eachOf<Item>(items: readonly Item[], act: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items];
  await Promise.all(
    Array.from({ length: together }, async () => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await act(item);
    }),
  );
}

/** `of`: which of the submissions that could be retried. */
const retryText = (of: string) => `
with chosen as (
  select w.key, w.hash, w.content -> 'start' ->> 'definition' as definition, coalesce(l.try, 0) + 1 as try, l.criterion, row_number() over (order by w.key) as position
  from ${worksWithRuns}
  where w.batch_id = $1 and w.hash is not null and w.counts and ($2::text[] is null or w.key = any($2)) and (${of})
)
insert into batch_runs (batch_id, work, try, run_id, definition_hash, rubric_hash, hash, why, criterion)
select $1, c.key, c.try, d.id, coalesce($4::text, c.definition, b.definition_hash), b.rubric_hash, c.hash, $5,
  case when $5 = 'retry' then c.criterion else $6 end
from chosen c join json_array_elements_text($3::json) with ordinality as d(id, position) on d.position = c.position
  join batches b on b.id = $1
order by c.key
returning work`;

/**
 * The attempt failed, or ended with a grader error. The cause is ours, so the student gets another attempt. Existing grades are not
 * repeated.
 */
const failed = `${standing} in ('failed', 'refused') and not exists (${proposalOfWork})
  or ${standing} in ('succeeded', 'failed') and (
    select p.grade -> 'outcome' ->> 'is' from (${proposalOfWork}) p) = 'grader error'`;
const settled = `${standing} not in ('waiting', 'running')`;

export interface TryParts {
  readonly database: Database;
  readonly clock: DatabaseClock;
}

/** Whether a run of the definition grades by this rubric. A definition without a rubric does. */
async function gradesBy(definition: Definition | null, rubric: Rubric): Promise<boolean> {
  const { rubricHash } = await import("@markmill/grading");
  const said = definition === null ? null : rubricOfDefinition(definition);
  return said === null || rubricHash(said) === rubricHash(rubric);
}

/** For the submissions to be retried: how each was graded, and how many have no grade to keep. */
const marksText = `
select m.definition_hash as "definitionHash", m.rubric_hash as "rubricHash", p.grade -> 'outcome' ->> 'is' as outcome, count(*)::integer as works
from ${worksWithRuns}
  left join lateral (${proposalOfWork}) p on true
  left join batch_runs m on m.batch_id = w.batch_id and m.work = w.key and m.try = p.try
where w.batch_id = $1 and w.hash is not null and w.counts and ($2::text[] is null or w.key = any($2)) and (${standing} not in ('waiting', 'running'))
group by 1, 2, 3`;

/** Allows judging one criterion again only if all other marks stay valid (standing-marks.ts), for all submissions or for none. */
async function checkMarks(
  client: PoolClient,
  tenant: string,
  id: string,
  keys: readonly string[] | null,
  criterion: string,
  now: GradedBy,
): Promise<void> {
  const { rows } = await client.query<GradedBy & { outcome: string | null; works: number }>(marksText, [id, keys]);
  const bare = rows.filter(({ outcome }) => outcome !== "graded" && outcome !== "needs human");
  if (bare.length > 0) {
    const count = bare.reduce((sum, { works }) => sum + works, 0);
    throw new StoreError(
      "STORE_BATCH_REFUSED",
      `${count} of the submissions have no marks that could be kept with ${criterion}. Regrade these submissions as a whole.`,
    );
  }
  const read = async (hash: string) => {
    const found = await client.query<Pick<Definition, "programs" | "root">>(
      "select root, programs from definitions where tenant = $1 and hash = $2",
      [tenant, hash],
    );
    return found.rows[0] ?? null;
  };
  for (const before of rows) await isReworded(criterion, before, now, read);
}

function checkCriterion({ criteria }: Rubric, id: string): void {
  const found = criteria.find((one) => one.id === id);
  if (found === undefined) {
    const known = criteria.map((one) => one.id).join(", ");
    throw new StoreError("STORE_BATCH_REFUSED", `The rubric has no criterion ${JSON.stringify(id)}; it has ${known}.`);
  }
  if (found.source.is === "human")
    throw new StoreError("STORE_BATCH_REFUSED", `${id} is graded by a person, so it cannot be regraded.`);
}

/** `keys` null: the whole batch. */
export async function tryAgain(
  { database, clock }: TryParts,
  tenant: string,
  id: string,
  request: {
    readonly keys: readonly string[] | null;
    readonly why: TryReason & ("retry" | "regrade");
    readonly criterion?: string;
  },
  definition: Definition | null = null,
): Promise<Retried> {
  const { keys, why, criterion = null } = request;
  try {
    return await inTransaction(database.calm, async (client) => {
      // save-batch.ts, V1.
      const { rows: found } = await client.query<{
        works: number;
        rubric_hash: string;
        rubric: Rubric;
        definition_hash: string;
      }>(
        `select b.rubric_hash, b.rubric, b.definition_hash, (select count(*)::integer from batch_works w where w.batch_id = b.id) as works
         from batches b where b.tenant = $1 and b.id = $2 for update of b`,
        [tenant, id],
      );
      if (found[0] === undefined) throw noBatch(id);
      if (!(await gradesBy(definition, found[0].rubric))) {
        throw new StoreError(
          "STORE_BATCH_REFUSED",
          "The workflow has another rubric than the batch. Save the batch with that rubric first, then regrade.",
        );
      }
      if (criterion !== null) {
        checkCriterion(found[0].rubric, criterion);
        const definitionHash = definition?.hash ?? found[0].definition_hash;
        await checkMarks(client, tenant, id, keys, criterion, { rubricHash: found[0].rubric_hash, definitionHash });
      }
      const ids = Array.from({ length: found[0].works }, () => uuidv7(clock.now()));
      const { rows } = await client.query<{ work: string }>(retryText(why === "retry" ? failed : settled), [
        ...[id, keys, toJson(ids), definition?.hash ?? null, why, criterion],
      ]);
      await client.query("select pg_notify('markmill_batches', '')");
      return { works: rows.map(({ work }) => work).sort() };
    });
  } catch (error) {
    throw translate(error, "Trying works again");
  }
}
