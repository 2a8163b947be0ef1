/**
 * Paid calls, memoised (I3): a reply is stored under (activity, call index, request hash) before anything is made of it; its
 * reservation is settled and its line in the account (charges.ts) written in the same statement. Whoever repeats the activity finds the
 * reply instead of paying again.
 */
import type { Json } from "@markmill/engine";
import { type CallRef, endingReservations } from "./budgets.ts";
import type { CallUsage } from "./charges.ts";
import type { Database } from "./database.ts";
import { toJson } from "./neutral.ts";
import { queryDatabase, queryHot } from "./query-database.ts";

export interface CallKey extends CallRef {
  readonly requestHash: string;
}

export interface StoredCall {
  readonly key: CallKey;
  /** The attempt of the activity that got the reply; absent: the first. */
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

/** Twice is once: the first reply stays. Each claim's reservation is settled once, also where another's reply was first: both were paid. */
export async function saveCall(
  database: Database,
  run: { readonly id: string; readonly rootId: string; readonly tenant: string },
  call: StoredCall,
): Promise<void> {
  const { key, usage } = call;
  await queryHot(database, "Storing a reply", "save-call", saveText, [
    key.activityId,
    key.callIndex,
    key.requestHash,
    run.id,
    run.rootId,
    call.model,
    toJson(call.request),
    toJson(call.reply),
    usage.promptTokens,
    usage.completionTokens,
    usage.characters,
    usage.nanodollars,
    key.claim ?? null,
    call.attempt ?? 1,
    run.tenant,
  ]);
}

const ofClaim = "activity_id = $1 and call_index = $2 and claim = coalesce($13::integer, claim)";
const saveText = `
with stored as (
  insert into calls (activity_id, call_index, request_hash, run_id, root_id, model, request, reply,
    prompt_tokens, completion_tokens, characters, nanodollars, attempt)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9::bigint, $10::bigint, $11::bigint, $12::bigint, $14)
  on conflict do nothing returning 1
), ${endingReservations(ofClaim, { nanodollars: "$12::bigint", tokens: "$9::bigint + $10::bigint" })}, charged as (
  update charges set state = 'paid', model = $6, prompt_tokens = $9::bigint, completion_tokens = $10::bigint,
    characters = $11::bigint, nanodollars = $12::bigint
  where ${ofClaim} and state = 'open'
), unforeseen as (
  insert into charges (tenant, activity_id, call_index, claim, run_id, root_id, model, state,
    prompt_tokens, completion_tokens, characters, nanodollars)
  select $15, $1, $2, coalesce($13::integer, 0), $4, $5, $6, 'paid', $9::bigint, $10::bigint, $11::bigint, $12::bigint
  from stored where not exists (select 1 from charges where run_id = $4 and ${ofClaim})
) select 1`;

/** In the order in which they were made. */
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
