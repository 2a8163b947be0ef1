-- What readers read. Where an open activity and a variable really stand is the matter of store/src/commit alone.

-- Activities that somebody does or is to do: of runs that are neither stopped nor ended, in their epoch. One that has no row stands on its
-- run's (`runs.light`); its run has one count of rings and one time of ringing for all of those, and the oldest of them counts: a run that goes
-- on in one branch may have lost the doorbell of another.
create view open_activities as
  select a.id, a.run_id, a.root_id, a.node, a.generation, a.item, a.attempt, a.kind, a.queue, a.epoch, a.state, a.lease_until, a.not_before,
    a.rings, a.rung_at, coalesce(a.ready_at, a.created_at) as ready_at, a.trouble, r.parent_job, r.parent_activity_id
  from activities a join runs r on r.id = a.run_id
  where a.state in ('ready', 'claimed', 'waiting') and r.status = 'doing' and a.epoch = r.epoch
  union all
  select l.id, r.id, r.root_id, l.node, l.generation, coalesce(l.item, -1), l.attempt, l.kind, 'control', r.epoch, 'ready', null, null,
    r.rings, greatest(r.rung_at, to_timestamp((r.light -> 0 ->> 'at')::float8 / 1000)), to_timestamp(l.at / 1000), null,
    r.parent_job, r.parent_activity_id
  from runs r cross join lateral json_to_recordset(r.light)
    as l(id bigint, node text, generation integer, item integer, attempt integer, kind text, at float8)
  where r.light is not null and r.status = 'doing';

-- All activities of a run, for its history. work, null: nothing but what its kind says.
create view run_activities as
  select run_id, id, node, generation, item, attempt, kind, state, work, seq, claimed_by, takeovers, created_at, ended_at from activities
  union all
  select r.id, l.id, l.node, l.generation, coalesce(l.item, -1), l.attempt, l.kind, case r.status when 'stopped' then 'void' else 'ready' end,
    null, null, null, 0, to_timestamp(l.at / 1000), null
  from runs r cross join lateral json_to_recordset(r.light)
    as l(id bigint, node text, generation integer, item integer, attempt integer, kind text, at float8)
  where r.light is not null
  union all
  select e.run_id, e.activity_id, x.node, x.generation, coalesce(x.item, -1), x.attempt, e.kind, 'done', null, e.seq, null, 0,
    coalesce(e.asked_at, e.at), e.at
  from events e cross join lateral json_to_record(e.body::json -> 'activity') as x(node text, generation integer, item integer, attempt integer)
  where e.activity_id is not null;

-- The variables of a run as they are now: what stands in its state goes before the rows. A state without variables, which may be long, is not
-- read for every row.
create view run_variables as
  select r.id as run_id, r.status, s.key as name, s.value
  from runs r cross join lateral json_each_text(r.kept::json -> 'variables') as s
  union all
  select v.run_id, r.status, v.name, v.value from variables v join runs r on r.id = v.run_id
  where v.value is not null
    and case when strpos(r.kept, '"variables":') > 0 then r.kept::json -> 'variables' -> v.name is null else true end;
