/** The record of a run: events and warnings, variables, and messages. */
import type { Shape } from "../../throughput/statement-shape.ts";
import { visited } from "./activities.ts";

export const logged = ({ inline }: Shape) => `
logged as (
  insert into events (run_id, seq, part, type, at, body ${inline ? ", activity_id, kind, asked_at" : ""})
  select g.id, g.rev, 0, g.type, to_timestamp(g.at / 1000), g.body
    ${inline ? ", g.inline_id, g.inline_kind, to_timestamp(g.asked_at / 1000)" : ""}
  from gate g
)`;

export const warnings = (p: string) => `
warned as (
  insert into events (run_id, seq, part, type, at, body)
  select g.id, x.seq, x.part, 'warning', to_timestamp(x.at / 1000), x.body::text
  from json_to_recordset(${p}::json) as x(n integer, seq bigint, part smallint, at float8, body json)
    join gate g on g.n = x.n
)`;

export const variables = (p: string) => `
assigned as (
  insert into variables (run_id, name, value, final)
  select g.id, x.name, x.value, coalesce(x.final, false)
  from json_to_recordset(${p}::json) as x(n integer, name text, value text, final boolean) join gate g on g.n = x.n
  on conflict (run_id, name) do update set value = excluded.value, final = excluded.final
)`;

/** The variables of an ended run that its last event did not assign (C2). */
export const finished = (variablesParameter: string | null) => `
finished as (
  update variables v set final = true from gate g
  where g.ended and v.run_id = g.id
    ${
      variablesParameter === null
        ? ""
        : `and not exists (
      select 1 from json_to_recordset(${variablesParameter}::json) as x(n integer, name text) where x.n = g.n and x.name = v.name)`
    }
)`;

export const messages = (p: string) => `
said as materialized (
  select g.id as run_id, x.seq, x.position, x.thread, x.agent, x.role, a.id as activity_id, coalesce(x.text, a.work ->> 'text', '') as text
  from json_to_recordset(${p}::json)
      as x(n integer, seq bigint, position integer, thread text, agent text, role text, text text,
        node text, generation integer, item integer)
    join gate g on g.n = x.n
    left join lateral (${visited("t.id, t.work")}) a on true
), opened as (
  insert into threads (id, run_id, agent) select distinct on (thread) thread, run_id, agent from said on conflict do nothing
), told as (
  insert into messages (run_id, seq, position, thread, role, text, activity_id)
  select run_id, seq, position, thread, role, text, activity_id from said order by run_id, position
)`;
