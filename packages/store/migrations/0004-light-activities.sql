-- A light activity needs nothing but its run (a check, set or assign without files). While it is asked and not answered it stands on its
-- run's own row, which every step writes anyway; once it is done, the event that ended it is its row. Only what is claimed, leased, or
-- waits for somebody has a row in `activities`.

-- [{id, node, generation, item, attempt, kind, at}]; null: none
alter table runs add column light json;
-- how often the run's light activities were rung again; part of the job id, so it never falls
alter table runs add column rings integer not null default 1;
-- when they were rung
alter table runs add column rung_at timestamptz not null default clock_timestamp();

-- of an event that ended a light activity
alter table events add column activity_id bigint;
alter table events add column kind text;
alter table events add column asked_at timestamptz;
