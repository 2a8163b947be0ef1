-- A reservation belongs to a claim: a holder that lost its lease cannot free what its successor has reserved.
alter table reservations add column claim integer not null default 0;
alter table reservations drop constraint reservations_pkey;
alter table reservations add primary key (activity_id, call_index, budget_id, claim);

-- When it became ready after it was made: a callee's end, a further attempt, a resumed run, a claim given back. null: when it was made.
alter table activities add column ready_at timestamptz;

-- A budget opened for a run that was never born is found by its age; one of a batch may wait for its runs.
alter table budgets add column created_at timestamptz not null default clock_timestamp();
alter table budgets add column for_run boolean not null default false;

alter table sessions drop column deadline;
