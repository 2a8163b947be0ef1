/** hand-over.ts on Postgres: one statement for all hand-overs of one turn. */
import type { Pool } from "pg";
import type { HandOverAct } from "./hand-over.ts";

/**
 * $1 queue, $2 now, $3 ms of a lock, then by the column: from, to, token, data. Returns the ids of the jobs that were handed over now or
 * before. A job that another transaction has locked is refused, because waiting could cause a deadlock: BullMQ's stalled check locks all
 * jobs of a queue, in an order of its own. The next job's key decides between this hand-over and a concurrent enqueue of the same job. If
 * the enqueue wins, the current job stays as it is.
 */
const statement = `
with wanted as materialized (
  select * from unnest($4::text[], $5::text[], $6::text[], $7::text[]) as w(from_id, to_id, token, data)
), held as materialized (
  select w.* from wanted w join job j on j.queue = $1 and j.id = w.from_id
  where j.state = 'active' and j.lock_token = w.token
    and not exists (select 1 from meta m where m.queue = $1 and (m.field = 'paused' and m.value = '1' or m.field = 'max'))
    and not exists (select 1 from job_dependency d where d.parent_queue = $1 and d.parent_id = w.from_id)
    and not exists (select 1 from job n where n.queue = $1 and n.id = w.to_id)
  for update of j skip locked
), made as (
  insert into job (queue, id, seq, name, state, data, opts, max_attempts, attempts_started, added_at_ms, processed_at_ms, lock_token, locked_until_ms)
  select $1, to_id, nextval('job_seq'), 'activity', 'active', data::jsonb, jsonb_build_object('jobId', to_id, 'attempts', 0), 0, 1, $2::bigint,
    $2::bigint, token, $2::bigint + $3::bigint
  from held
  on conflict do nothing
  returning id
), gone as (
  delete from job j using held h join made m on m.id = h.to_id where j.queue = $1 and j.id = h.from_id
)
select id from made
union all
select n.id from wanted w join job n on n.queue = $1 and n.id = w.to_id and n.state = 'active' and n.lock_token = w.token`;

export function handOverOnPostgres(pool: Pool, queue: string, lockDuration: number): HandOverAct {
  return async (handOvers, now) => {
    const column = (name: "from" | "to" | "token" | "data") => handOvers.map((one) => one[name]);
    const { rows } = await pool.query<{ id: string }>({
      name: "hand-over",
      text: statement,
      values: [queue, now, lockDuration, column("from"), column("to"), column("token"), column("data")],
    });
    const handed = new Set(rows.map(({ id }) => id));
    return handOvers.map(({ to }) => handed.has(to));
  };
}
