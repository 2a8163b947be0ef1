/**
 * Tool calls of activities: one row per attempt, begun before the tool is performed, and ended before its result is used.
 *
 * X1  A row is begun by one claim at a time, and only by the claim that holds its activity.
 * X2  An ended call is never performed again under its attempt: a repeated activity finds its result or failure. It finds only calls of the
 *     same reply: a reply to another request (another model, another definition) makes other calls.
 * X3  A call that was begun and has not ended may have happened. It is performed again only if the tool is safe to repeat.
 * X4  A fork that asks the model anew has the earlier results of tools, without a claim (`ofAnotherReply`). Such a result counts only if
 *     the new reply makes exactly the same call and the tool is not safe to repeat. All other calls are performed.
 *
 * kill -9 before the begin: nothing happened. Between begin and end: X3. After the end: X2.
 */
import type { Failure } from "@markmill/engine";
import type { Database } from "../database/database.ts";
import { neutralText, toJson } from "../database/neutral.ts";
import { queryDatabase } from "../database/query-database.ts";

export interface ToolCallKey {
  readonly activityId: number;
  /** The model call that asked for it. -1: no model did. -2: the listing of an MCP server. -3: the file from which a prompt was read. */
  readonly callIndex: number;
  /** The hash of the request whose reply asked for the call. Without a model: the hash of the name and the arguments. */
  readonly requestHash: string;
  readonly position: number;
  readonly attempt: number;
  readonly claim: number;
}

/** passing: the same call may succeed later. */
export type ToolCallFailure = Failure & { readonly passing?: boolean };

export interface BegunToolCall {
  readonly name: string;
  readonly arguments: string;
  /**
   * X3. Also set for calls in a session: the session's mark shows whether anything has begun, and lets it be restored to the state before
   * (checkpoints.ts).
   */
  readonly safe: boolean;
  /** The call acts in the session of its run. */
  readonly inSession?: boolean;
  /** Retry a failure of an earlier attempt. Otherwise the failure is the result of the call. */
  readonly again: boolean;
  /** This same begin was sent before, and its answer was lost: a row of this claim is its own. */
  readonly retried?: boolean;
}

export type ToolCallBegin =
  | { readonly is: "begun" }
  | { readonly is: "done"; readonly result: string; readonly note?: string }
  | { readonly is: "failed"; readonly failure: ToolCallFailure }
  /** The call was interrupted while it ran, and must not be repeated. */
  | { readonly is: "unknown" }
  /** Another worker has the activity. */
  | { readonly is: "overtaken" };

export type ToolCallEnd =
  /** `note`: information about the result, for people. */
  | { readonly result: string; readonly ms: number; readonly note?: string }
  | { readonly failure: ToolCallFailure; readonly ms: number };

export async function beginToolCall(
  database: Database,
  run: { readonly id: string; readonly rootId: string; readonly tenant: string },
  key: ToolCallKey,
  call: BegunToolCall,
): Promise<ToolCallBegin> {
  const known = await latest(database, key);
  const decided = known === null ? "insert" : decide(known, key, call);
  if (typeof decided === "object") return decided;
  if (decided === "take over") {
    const taken = await queryDatabase(
      database,
      "Repeating a tool call",
      `update tool_calls t set claim = $5, attempt = $4 from activities a
       where a.id = $1 and a.claim = $5 and a.state = 'claimed'
         and t.activity_id = $1 and t.call_index = $2 and t.position = $3 and t.request_hash = $7
         and t.state = 'begun' and t.claim = $6 returning 1`,
      [key.activityId, key.callIndex, key.position, key.attempt, key.claim, known?.claim, key.requestHash],
    );
    return { is: taken.length === 1 ? "begun" : "overtaken" };
  }
  const begun = await queryDatabase(
    database,
    "Beginning a tool call",
    `with held as (select id from activities where id = $1 and claim = $5 and state = 'claimed' for share)
     insert into tool_calls (activity_id, call_index, position, attempt, claim, run_id, root_id, tenant, name, arguments, request_hash, in_session, state)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'begun' from held
     on conflict do nothing returning 1`,
    [
      ...[key.activityId, key.callIndex, key.position, key.attempt, key.claim],
      ...[run.id, run.rootId, run.tenant, neutralText(call.name), neutralText(call.arguments), key.requestHash],
      call.inSession === true,
    ],
  );
  return { is: begun.length === 1 ? "begun" : "overtaken" };
}

/** Only the claim that began the call can end it. The end is stored whatever the state of the run. */
export async function endToolCall(database: Database, key: ToolCallKey, end: ToolCallEnd): Promise<void> {
  await queryDatabase(
    database,
    "Storing what a tool gave",
    `update tool_calls set state = $6, result = $7, failure = $8, ms = $9, note = $11
     where activity_id = $1 and call_index = $2 and position = $3 and attempt = $4 and claim = $5 and request_hash = $10 and state = 'begun'`,
    [
      ...[key.activityId, key.callIndex, key.position, key.attempt, key.claim],
      ...("result" in end ? ["done", neutralText(end.result), null] : ["failed", null, toJson(end.failure)]),
      Math.min(Math.round(end.ms), 2 ** 31 - 1),
      key.requestHash,
      "result" in end && end.note !== undefined ? neutralText(end.note) : null,
    ],
  );
}

interface Latest {
  readonly state: "begun" | "done" | "failed";
  readonly attempt: number;
  readonly claim: number;
  readonly result: string | null;
  readonly failure: ToolCallFailure | null;
  readonly note: string | null;
  readonly name: string;
  readonly arguments: string;
}

/** Stored in place of a claim: X4. */
export const ofAnotherReply = -1;

async function latest(database: Database, key: ToolCallKey): Promise<Latest | null> {
  const rows = await queryDatabase<Latest>(
    database,
    "Looking for a tool call",
    `select state, attempt, claim, result, failure, note, name, arguments from tool_calls
     where activity_id = $1 and call_index = $2 and position = $3 and request_hash = $4 order by attempt desc limit 1`,
    [key.activityId, key.callIndex, key.position, key.requestHash],
  );
  return rows[0] ?? null;
}

function decide(known: Latest, key: ToolCallKey, call: BegunToolCall): ToolCallBegin | "insert" | "take over" {
  if (known.claim === ofAnotherReply) {
    const same = known.name === neutralText(call.name) && known.arguments === neutralText(call.arguments);
    if (call.safe || !same) return "insert";
  }
  switch (known.state) {
    case "done":
      return { is: "done", result: known.result ?? "", ...(known.note === null ? {} : { note: known.note }) };
    case "failed":
      if (call.again && known.attempt < key.attempt) return "insert";
      return { is: "failed", failure: known.failure ?? { code: "TOOL_FAILED", message: "" } };
    case "begun":
      if (call.retried === true && known.claim === key.claim && known.attempt === key.attempt) return { is: "begun" };
      return call.safe ? "take over" : { is: "unknown" };
  }
}

export interface StoredToolCall {
  readonly activityId: number;
  readonly callIndex: number;
  readonly position: number;
  readonly attempt: number;
  readonly name: string;
  /** As the model wrote them. */
  readonly arguments: string;
  readonly state: "begun" | "done" | "failed";
  readonly result: string | null;
  readonly failure: ToolCallFailure | null;
  readonly ms: number | null;
  readonly createdAt: Date;
}

export const toolCallColumns = `activity_id as "activityId", call_index as "callIndex", position, attempt, name, arguments, state, result,
  failure, ms, created_at as "createdAt"`;

/** The order in which they were requested, reply by reply. */
export const toolCallOrder = "activity_id, call_index, request_hash, position, attempt";

export async function toolCallsOfRun(database: Database, runId: string): Promise<readonly StoredToolCall[]> {
  return await queryDatabase<StoredToolCall>(
    database,
    "Reading tool calls",
    `select ${toolCallColumns} from tool_calls where run_id = $1 order by ${toolCallOrder}`,
    [runId],
  );
}
