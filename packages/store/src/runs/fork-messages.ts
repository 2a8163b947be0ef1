/**
 * The conversations of a fork: the messages in the threads of the forked runs before the fork point, in the same order. They include the
 * messages of called runs that had returned.
 */
import type { PoolClient } from "pg";
import { heardRuns, type TakenRun } from "./fork-workspace.ts";
import { renameThread } from "./thread-names.ts";

const text = `
with recursive ${heardRuns}
select m.id, m.thread, t.run_id as owner, t.agent, m.role, m.text from messages m
  join heard h on h.run_id = m.run_id and m.seq <= h.until join threads t on t.id = m.thread
where t.run_id in (select old from forked) or m.run_id in (select old from forked)
order by m.id`;

interface MessageRow {
  readonly thread: string;
  readonly owner: string;
  readonly agent: string;
  readonly role: string;
  readonly text: string;
}

export async function copyMessages(client: PoolClient, runs: readonly TakenRun[]): Promise<void> {
  const ids = new Map(runs.map(({ old, id }) => [old, id]));
  const { rows } = await client.query<MessageRow>(text, [JSON.stringify(runs)]);
  const copied = rows
    .filter(({ thread }) => renameThread(thread, ids) !== thread)
    .map((row, position) => ({
      position,
      thread: renameThread(row.thread, ids),
      agent: row.agent,
      role: row.role,
      text: row.text,
      owner: ids.get(row.owner) ?? runs[0]?.id,
    }));
  if (copied.length === 0) return;
  // Numbered before the events of the fork itself: seq 0.
  await client.query(
    `with said as materialized (
       select * from json_to_recordset($1::json) as x(position integer, thread text, agent text, role text, text text, owner text)
     ), opened as (
       insert into threads (id, run_id, agent) select distinct on (thread) thread, owner, agent from said on conflict do nothing
     )
     insert into messages (run_id, seq, position, thread, role, text)
     select owner, 0, position, thread, role, text from said order by position`,
    [JSON.stringify(copied)],
  );
}
