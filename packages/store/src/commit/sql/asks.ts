/** Questions to people: the new ones, and those that an event closes. */
import { waitsForAnswer } from "../kinds-sql.ts";

export const asks = (p: string) => `
asked as (
  insert into asks (activity_id, run_id, question, text, expires_at, state)
  select n.id, n.run_id, n.work ->> 'question', n.work ->> 'text', to_timestamp((n.work ->> 'expiresAt')::float8 / 1000), 'open'
  from next n where ${waitsForAnswer("n")}
  on conflict (activity_id) do update set expires_at = excluded.expires_at, state = 'open', answer = null, closed_at = null
), closed as (
  update asks k set state = x.state, answer = x.answer, answered_by = x.answered_by, closed_at = clock_timestamp()
  from json_to_recordset(${p}::json) as x(n integer, activity_id bigint, state text, answer text, answered_by text)
    join gate g on g.n = x.n
  where k.activity_id = x.activity_id
)`;
