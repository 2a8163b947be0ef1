-- A light activity needs nothing but its run (a check, set or assign without files). While it is asked and not answered it stands on its
-- run's own row, which every step writes anyway; once it is done, the event that ended it is its row. Only what is claimed, leased, or
-- waits for somebody has a row in `activities`.

-- [{id, node, generation, item, attempt, kind, at}]; null: none
alter table runs add column light json;
-- how often the run's light activities were rung again; part of the job id, so it never falls
alter table runs add column rings integer not null default 1;
-- when the run was born, or the supervisor last rang them again or found them in the queue
alter table runs add column rung_at timestamptz not null default clock_timestamp();

-- of an event that ended a light activity
alter table events add column activity_id bigint;
alter table events add column kind text;
alter table events add column asked_at timestamptz;
-- Their ids. Far above those of rows, with which they share the queue; drawn by the block, because drawing one by one costs as much as
-- an index entry.
create sequence light_activity_ids start 1099511627776 increment 1024;

-- Read whole, by programs: the server need not look whether it is JSON in every step.
drop view hits;
alter table runs alter column state type text using state::text;
alter table events alter column body type text using body::text;
create view hits as
  select runs.id as run_id, hit.key as node, hit.value::integer as hits
  from runs, json_each_text(runs.state::json -> 'hits') as hit;

-- The variables of a run are indexed by value once it has ended: until then every step would write the index anew.
alter table variables add column final boolean not null default false;
update variables v set final = true from runs r where r.id = v.run_id and r.ended_at is not null;
drop index variables_by_value;
create index variables_by_value on variables (name, left(value, 64)) where final;

-- What hardly any run has need not be in an index for all of them.
alter table runs drop constraint runs_idempotency_key_key;
create unique index runs_by_idempotency_key on runs (idempotency_key) where idempotency_key is not null;
alter table runs drop constraint runs_parent_activity_id_parent_attempt_parent_epoch_key;
create unique index runs_by_call on runs (parent_activity_id, parent_attempt, parent_epoch) where parent_activity_id is not null;

-- Updates stay on their page and are cleaned up there; there is little left to vacuum.
alter table runs set (autovacuum_vacuum_scale_factor = 0.5, autovacuum_analyze_scale_factor = 0.3);
alter table variables set (autovacuum_vacuum_scale_factor = 0.5, autovacuum_analyze_scale_factor = 0.3);
alter table events set (autovacuum_vacuum_insert_scale_factor = 1, autovacuum_analyze_scale_factor = 0.5);
