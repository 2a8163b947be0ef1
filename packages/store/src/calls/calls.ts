/**
 * Paid calls, memoised (I3). A reply is stored under (activity, call index, request hash) before it is used. The same statement settles its
 * reservation and writes its line in the account (charges.ts). A repeated activity finds the reply instead of paying again. Replies that
 * arrive together are stored by one statement: kill -9 leaves all of them or none.
 *
 * A reply of a deleted run is not stored, but its cost is booked in the batch's budget. The statement locks the rows of the root runs first
 * (KEY SHARE, in the order of their ids, as load-runs.ts does). A deletion locks them too (delete-runs.ts). So either the deletion removes
 * the stored reply, or the statement finds no run.
 */
import type { Json } from "@markmill/engine";
import type { Database } from "../database/database.ts";
import { toJson } from "../database/neutral.ts";
import { queryDatabase, queryHot } from "../database/query-database.ts";
import { type CallRef, endingReservations } from "../money/budgets.ts";
import type { CallUsage } from "../money/charges.ts";
import { gathered, promptLingerMs } from "../throughput/gathered.ts";

export interface CallKey extends CallRef {
  readonly requestHash: string;
}

export interface StoredCall {
  readonly key: CallKey;
  /** The attempt of the activity that got the reply. Absent: the first. */
  readonly attempt?: number;
  readonly model: string;
  readonly request: Json;
  readonly reply: Json;
  readonly usage: CallUsage;
}

export async function findCall(database: Database, key: CallKey): Promise<StoredCall | null> {
  const rows = await queryHot<CallRow>(
    database,
    "Looking for a call",
    "find-call",
    `select ${callColumns} from calls where activity_id = $1 and call_index = $2 and request_hash = $3`,
    [key.activityId, key.callIndex, key.requestHash],
  );
  return rows[0] === undefined ? null : toCall(rows[0]);
}

interface CallToSave {
  readonly run: { readonly id: string; readonly rootId: string; readonly tenant: string };
  readonly call: StoredCall;
}

/** there: an earlier reply exists under the same key, or the run was deleted and nothing is stored. */
export type SavedCall = "stored" | "there";

/**
 * A repeated save changes nothing: the first reply stays. Each claim's reservation is settled once, even if another claim's reply was
 * first: both were paid.
 */
export type SaveCall = (saved: CallToSave) => Promise<SavedCall>;

/** Replies that arrive together are stored by one statement. */
export function createSaveCall(database: Database): SaveCall {
  const save = gathered(
    async (group: readonly Paid[]) => {
      // Always in the same order, so that two groups with the same calls do not deadlock.
      const rows = group.toSorted((one, other) => one.activityId - other.activityId || one.callIndex - other.callIndex);
      const paid = `[${rows.map(({ json }) => json).join(",")}]`;
      const activities = rows.map(({ activityId }) => activityId);
      const stored = await queryHot<StoredKey>(database, "Storing a reply", "save-call", saveText, [paid, activities]);
      const keys = new Set(
        stored.map(({ activity_id, call_index, request_hash }) => keyText(activity_id, call_index, request_hash)),
      );
      return group.map(
        ({ activityId, callIndex, requestHash }): SavedCall =>
          keys.has(keyText(activityId, callIndex, requestHash)) ? "stored" : "there",
      );
    },
    {
      keyOf: ({ tenant }) => tenant,
      sizeOf: ({ json }) => json.length,
      lingerMs: promptLingerMs,
      plain: database.plain,
    },
  );
  return (saved) => save(toPaid(saved));
}

interface StoredKey {
  readonly activity_id: number;
  readonly call_index: number;
  readonly request_hash: string;
}

const keyText = (activityId: number, callIndex: number, requestHash: string) =>
  `${activityId} ${callIndex} ${requestHash}`;

/** A row of `paid`. */
interface Paid {
  readonly tenant: string;
  readonly activityId: number;
  readonly callIndex: number;
  readonly requestHash: string;
  readonly json: string;
}

function toPaid({ run, call }: CallToSave): Paid {
  const { key, usage } = call;
  const json = toJson({
    activity_id: key.activityId,
    call_index: key.callIndex,
    request_hash: key.requestHash,
    claim: key.claim ?? null,
    attempt: call.attempt ?? 1,
    tenant: run.tenant,
    run_id: run.id,
    root_id: run.rootId,
    model: call.model,
    request: call.request,
    reply: call.reply,
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    characters: usage.characters,
    nanodollars: usage.nanodollars,
  });
  const { activityId, callIndex, requestHash } = key;
  return { tenant: run.tenant, activityId, callIndex, requestHash, json };
}

const ofPaid = (row: string) =>
  `${row}.activity_id = p.activity_id and ${row}.call_index = p.call_index and ${row}.claim = coalesce(p.claim, ${row}.claim)`;
const spentFor = (what: string) =>
  `(select ${what} from paid p where p.activity_id = s.activity_id and p.call_index = s.call_index)`;
/** The ids are also in $2: so Postgres looks up only these, whatever its planner assumes about a new table. */
const saveText = `
with given as materialized (
  select x.* from json_to_recordset($1::json) as x(activity_id bigint, call_index integer, request_hash text, claim integer, attempt integer,
    tenant text, run_id text, root_id text, model text, request json, reply json,
    prompt_tokens bigint, completion_tokens bigint, characters bigint, nanodollars bigint)
), paid as materialized (
  select g.*, r.id is not null as has_run
  from (select * from given order by root_id) g left join lateral (select r.id from runs r where r.id = g.root_id for key share) r on true
), stored as (
  insert into calls (activity_id, call_index, request_hash, run_id, root_id, model, request, reply,
    prompt_tokens, completion_tokens, characters, nanodollars, attempt)
  select activity_id, call_index, request_hash, run_id, root_id, model, coalesce(request, 'null'), coalesce(reply, 'null'),
    prompt_tokens, completion_tokens, characters, nanodollars, attempt
  from paid where has_run on conflict do nothing returning activity_id, call_index, request_hash
), ${endingReservations(`where activity_id = any($2) and exists (select 1 from paid p where ${ofPaid("v")})`, {
  nanodollars: spentFor("p.nanodollars"),
  tokens: spentFor("p.prompt_tokens + p.completion_tokens"),
  characters: spentFor("p.characters"),
})}, charged as (
  update charges c set state = 'paid', model = p.model, prompt_tokens = p.prompt_tokens, completion_tokens = p.completion_tokens,
    characters = p.characters, nanodollars = p.nanodollars
  from paid p where c.activity_id = any($2) and ${ofPaid("c")} and c.state = 'open'
), unforeseen as (
  insert into charges (tenant, activity_id, call_index, claim, run_id, root_id, model, state,
    prompt_tokens, completion_tokens, characters, nanodollars)
  select p.tenant, p.activity_id, p.call_index, coalesce(p.claim, 0), p.run_id, p.root_id, p.model, 'paid',
    p.prompt_tokens, p.completion_tokens, p.characters, p.nanodollars
  from paid p join stored using (activity_id, call_index, request_hash)
  where (select true from charges c where c.run_id = p.run_id and ${ofPaid("c")} limit 1) is null
) select activity_id, call_index, request_hash from stored`;

/** In the order of their creation. */
export async function callsOfRun(database: Database, runId: string): Promise<readonly StoredCall[]> {
  const rows = await queryDatabase<CallRow>(
    database,
    "Reading calls",
    `select ${callColumns} from calls where run_id = $1 order by created_at, activity_id, call_index`,
    [runId],
  );
  return rows.map(toCall);
}

export interface CallRow {
  readonly activity_id: number;
  readonly call_index: number;
  readonly request_hash: string;
  readonly attempt: number;
  readonly model: string;
  readonly request: Json;
  readonly reply: Json;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly characters: number;
  readonly nanodollars: number;
}

export const callColumns =
  "activity_id, call_index, request_hash, attempt, model, request, reply, prompt_tokens, completion_tokens, characters, nanodollars";

export function toCall(row: CallRow): StoredCall {
  return {
    key: { activityId: row.activity_id, callIndex: row.call_index, requestHash: row.request_hash },
    attempt: row.attempt,
    model: row.model,
    request: row.request,
    reply: row.reply,
    usage: {
      promptTokens: row.prompt_tokens,
      completionTokens: row.completion_tokens,
      characters: row.characters,
      nanodollars: row.nanodollars,
    },
  };
}
