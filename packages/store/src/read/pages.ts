/**
 * The record of a run, page by page. Entries that existed when the first page was read are listed exactly once, whatever happens meanwhile.
 * Newer entries may be listed. A page of more than `mostBytes` is cut short, but has at least one entry.
 */

import { type CallRow, callColumns, type StoredCall, toCall } from "../calls/calls.ts";
import { type StoredToolCall, toolCallColumns, toolCallOrder } from "../calls/tool-calls.ts";
import type { Database } from "../database/database.ts";
import { queryDatabase } from "../database/query-database.ts";
import { StoreError } from "../database/store-error.ts";
import { type ActivityRow, activityColumns, type HistoryActivity, toActivity } from "./get-history.ts";
import type { ThreadMessage } from "./get-messages.ts";
import type { PageRequest } from "./list-definitions.ts";

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Pass as `after` for the next page. null: this was the last page. */
  readonly next: string | null;
}

export interface TalkMessage extends ThreadMessage {
  readonly thread: string;
  readonly agent: string;
}

/**
 * In the order in which they ended, the open ones last. The key has a letter, an event number and an activity id. Letter e: the next
 * activities ended after that event, or by it with a higher id. Letter o: among those that were open after that event, the next ones have
 * higher ids, even if they ended since.
 */
export async function activityPage(
  database: Database,
  runId: string,
  { after = "e0-0", limit = 50 }: PageRequest = {},
  mostBytes = Number.MAX_SAFE_INTEGER,
): Promise<Page<HistoryActivity>> {
  const [, part, seq = 0, id] = keyOf(after, /^([eo])(\d{1,15})-(\d{1,15})$/);
  const [among, order] =
    part === "e"
      ? ["(seq is null or seq > $2 or (seq = $2 and id > $3))", "seq nulls last, id"]
      : ["(seq is null or seq > $2) and id > $3", "id"];
  const rows = await queryDatabase<ActivityRow & Place>(
    database,
    "Reading activities",
    `select ${activityColumns}, place < found as more from (
       select *, ${placed("octet_length(coalesce(work::text, ''))", order)}
       from (select * from run_activities where run_id = $1 and ${among} order by ${order} limit $4) a
     ) p where place < $4 and (place = 1 or bytes <= $5) order by place`,
    [runId, seq, id, limit + 1, mostBytes],
  );
  const items = rows.map(({ more: _, ...row }) => row);
  const last = rows.at(-1)?.more === true ? items.at(-1) : undefined;
  const ended = part === "o" ? seq : (items.findLast((item) => item.seq !== null)?.seq ?? seq);
  const open = part === "o" || last?.seq === null;
  return {
    items: items.map(toActivity),
    next: last === undefined ? null : `${open ? "o" : "e"}${ended}-${last.id}`,
  };
}

const callOrder = "created_at, activity_id, call_index, request_hash";

/** In the order of their creation. */
export async function callPage(
  database: Database,
  runId: string,
  { after = "0-0-0-", limit = 50 }: PageRequest = {},
  mostBytes = Number.MAX_SAFE_INTEGER,
): Promise<Page<StoredCall>> {
  const [, ...key] = keyOf(after, /^(\d{1,17})-(\d{1,15})-(\d{1,9})-([0-9a-zA-Z]{0,128})$/);
  const rows = await queryDatabase<CallRow & Place & { readonly micros: string }>(
    database,
    "Reading calls",
    `select ${callColumns}, (extract(epoch from created_at) * 1000000)::bigint::text as micros, place < found as more from (
       select *, ${placed("octet_length(request::text) + octet_length(reply::text)", callOrder)} from (
         select * from calls where run_id = $1 and (created_at, activity_id, call_index, request_hash)
           > (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::bigint, $4::integer, $5::text)
         order by ${callOrder} limit $6
       ) c
     ) p where place < $6 and (place = 1 or bytes <= $7) order by place`,
    [runId, ...key, limit + 1, mostBytes],
  );
  const items = rows.map(({ more: _, ...row }) => row);
  const last = rows.at(-1)?.more === true ? items.at(-1) : undefined;
  return {
    items: items.map(toCall),
    next: last === undefined ? null : `${last.micros}-${last.activity_id}-${last.call_index}-${last.request_hash}`,
  };
}

/** In the order in which they were requested. */
export async function toolCallPage(
  database: Database,
  runId: string,
  { after = "0-0--0-0", limit = 50 }: PageRequest = {},
): Promise<Page<StoredToolCall>> {
  // The index of a call may be below 0, the other numbers not.
  const [, ...key] = keyOf(after, /^(\d{1,15})-(-?\d{1,9})-([0-9a-f]{0,64})-(\d{1,9})-(\d{1,9})$/);
  const rows = await queryDatabase<StoredToolCall & { readonly requestHash: string }>(
    database,
    "Reading tool calls",
    `select ${toolCallColumns}, request_hash as "requestHash" from tool_calls
     where run_id = $1 and (${toolCallOrder}) > ($2::bigint, $3::integer, $4::text, $5::integer, $6::integer)
     order by ${toolCallOrder} limit $7`,
    [runId, ...key, limit + 1],
  );
  const items = rows.slice(0, limit).map(({ requestHash: _, ...row }) => row);
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  if (last === undefined) return { items, next: null };
  const { activityId, callIndex, requestHash, position, attempt } = last;
  return { items, next: [activityId, callIndex, requestHash, position, attempt].join("-") };
}

/** The messages of all conversations that a run opened, oldest first. */
export async function messagePage(
  database: Database,
  runId: string,
  { after = "0", limit = 50 }: PageRequest = {},
  mostBytes = Number.MAX_SAFE_INTEGER,
): Promise<Page<TalkMessage>> {
  const [, id] = keyOf(after, /^(\d{1,15})$/);
  const rows = await queryDatabase<TalkMessage & { readonly more: boolean }>(
    database,
    "Reading conversations",
    `select m.id, m.role, m.text, m.run_id as "runId", m.activity_id as "activityId", m.thread, p.agent, p.place < p.found as more
     from (
       select n.id, t.agent, row_number() over (order by n.id) as place, count(*) over () as found,
         sum(octet_length(n.text)) over (order by n.id) as bytes
       from threads t cross join lateral (
         select id, text from messages where thread = t.id and id > $2 order by id limit $3
       ) n
       where t.run_id = $1
     ) p join messages m on m.id = p.id
     where p.place < $3 and (p.place = 1 or p.bytes <= $4) order by m.id`,
    [runId, id, limit + 1, mostBytes],
  );
  const last = rows.at(-1);
  return { items: rows.map(({ more: _, ...row }) => row), next: last?.more === true ? String(last.id) : null };
}

interface Place {
  /** There are further entries. */
  readonly more: boolean;
}

/** Columns for cutting a page: the position of a row in it, the number of rows, and the bytes up to it. */
function placed(size: string, order: string): string {
  return `row_number() over (order by ${order}) as place, count(*) over () as found, sum(${size}) over (order by ${order}) as bytes`;
}

/** Parses the key from which a page continues. */
export function keyOf(key: string, pattern: RegExp): RegExpExecArray {
  const parts = pattern.exec(key);
  if (parts === null) throw new StoreError("STORE_PAGE_KEY", `${JSON.stringify(key)} is not a page key of this list.`);
  return parts;
}
