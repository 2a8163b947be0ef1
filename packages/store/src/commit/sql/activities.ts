/** Activities that have rows: requested, retried, finished, or taken back. */

import type { Shape } from "../../throughput/statement-shape.ts";
import { waitsForAnswer } from "../kinds-sql.ts";

/**
 * The activity that `x` names, of the run `g`. With a plain join, Postgres looks it up without its run while the tables are new, and so
 * walks through the activities of all runs. `lateral` and `offset 0` prevent this.
 */
export const visited = (columns: string) => `
  select ${columns} from activities t
  where t.run_id = g.id and t.node = x.node and t.generation = x.generation and t.item = x.item offset 0`;

const due = "coalesce(to_timestamp(x.not_before / 1000), clock_timestamp())";

export const settled = `
settled as (
  update activities a set state = 'done', seq = g.rev, ended_at = clock_timestamp(), lease_until = null
  from gate g where a.id = g.settled
)`;

export const next = (p: string, { queued }: Shape) => `
next as (
  insert into activities (run_id, root_id, node, generation, item, attempt, kind, queue, epoch, state, not_before, enqueued_at, work,
    claim, claimed_by, claimed_at, lease_until)
  select g.id, g.root_id, x.node, x.generation, x.item, x.attempt, x.kind, x.queue, x.epoch, x.state,
    to_timestamp(x.not_before / 1000), ${queued ? `case when x.queued then 'infinity' else ${due} end` : due}, x.work,
    case when x.state = 'claimed' then 1 else 0 end, x.claimed_by, case when x.state = 'claimed' then clock_timestamp() end,
    clock_timestamp() + x.lease_ms * interval '1 millisecond'
  from json_to_recordset(${p}::json)
      as x(n integer, node text, generation integer, item integer, attempt integer, kind text, queue text, epoch integer,
        state text, not_before float8, work json, claimed_by text, lease_ms integer${queued ? ", queued boolean" : ""})
    join gate g on g.n = x.n
  on conflict (run_id, node, generation, item) do update set
    attempt = excluded.attempt, epoch = excluded.epoch, state = excluded.state, not_before = excluded.not_before,
    enqueued_at = excluded.enqueued_at, work = excluded.work, enqueues = activities.enqueues + 1, takeovers = 0, outcome = null, usage = null,
    trouble = null, claim = activities.claim + excluded.claim, claimed_at = coalesce(excluded.claimed_at, activities.claimed_at),
    claimed_by = excluded.claimed_by, lease_until = excluded.lease_until, ended_at = null, ready_at = clock_timestamp()
  returning id, run_id, node, generation, item, attempt, kind, epoch, enqueues, claim, work, extract(epoch from created_at)::float8 * 1000 as asked_at
)`;

/** A question that is asked again was taken back while its run was stopped. That time does not count for the question. */
export const retries = (p: string) => `
again as (
  update activities a set
    attempt = x.attempt, epoch = g.epoch, trouble = x.trouble,
    state = case when ${waitsForAnswer("a")} or (x.trouble ->> 'held')::boolean or x.awaits then 'waiting' else 'ready' end,
    not_before = to_timestamp(x.not_before / 1000), enqueued_at = coalesce(to_timestamp(x.not_before / 1000), clock_timestamp()),
    enqueues = a.enqueues + 1, takeovers = 0, outcome = null, usage = null, claimed_by = null, lease_until = null, ended_at = null,
    ready_at = clock_timestamp()
  from json_to_recordset(${p}::json)
      as x(n integer, node text, generation integer, item integer, attempt integer, not_before float8, trouble json,
        awaits boolean)
    join gate g on g.n = x.n cross join lateral (${visited("t.id")}) t
  where a.id = t.id
  returning a.id, a.run_id, a.node, a.generation, a.item, a.kind, a.attempt, a.epoch, a.enqueues, a.claim, a.state
), reasked as (
  update asks k set state = 'open', expires_at = k.expires_at + (clock_timestamp() - k.closed_at), closed_at = null
  from again n where ${waitsForAnswer("n")} and k.activity_id = n.id
)`;

export const voids = (p: string) => `
unwanted as (
  update activities a set state = 'void', ended_at = clock_timestamp(), lease_until = null
  from json_to_recordset(${p}::json) as x(n integer, node text, generation integer, item integer) join gate g on g.n = x.n
    cross join lateral (${visited("t.id")}) t
  where a.id = t.id and a.state in ('ready', 'claimed', 'waiting')
  returning a.id, a.kind
), withdrawn as (
  update asks k set state = 'void', closed_at = clock_timestamp() from unwanted u where ${waitsForAnswer("u")} and k.activity_id = u.id
)`;

export const returns = (p: string) => `
returned as (
  update activities a set state = 'ready', outcome = x.outcome, usage = x.usage, enqueues = a.enqueues + 1, enqueued_at = clock_timestamp(),
    ready_at = clock_timestamp()
  from json_to_recordset(${p}::json)
      as x(n integer, activity_id bigint, attempt integer, epoch integer, outcome json, usage json)
    join gate g on g.n = x.n, runs p
  where a.id = x.activity_id and p.id = a.run_id and a.state = 'waiting' and a.attempt = x.attempt and a.epoch = x.epoch
  returning a.id, a.run_id, a.attempt, a.enqueues, a.epoch, p.parent_job
)`;

/** The snapshot of the statement does not contain its own new rows. The row that the event settles is not changed twice (C2). */
export const aborts = (nextParameter: string, { settles }: Shape) => `
voided as (
  update activities a set state = 'void', ended_at = clock_timestamp(), lease_until = null
  from gate g
  where g.aborts and a.run_id = g.id and a.state in ('ready', 'claimed', 'waiting') ${settles ? "and a.id is distinct from g.settled" : ""}
    and not exists (
      select 1 from json_to_recordset(${nextParameter}::json) as x(n integer, node text, generation integer, item integer)
      where x.n = g.n and x.node = a.node and x.generation = a.generation and x.item = a.item)
  returning a.id, a.kind
), unasked as (
  update asks k set state = 'void', closed_at = clock_timestamp()
  from voided v where ${waitsForAnswer("v")} and k.activity_id = v.id
)`;
