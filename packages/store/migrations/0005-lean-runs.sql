-- While a run is open its short variables stand in its state (kept-variables.ts): what an open run has in rows stays valid, and is
-- looked at after them. A worker from before that still runs would not see them, and would write the state without them: the column has
-- a new name, so that all it does fails, and is put off, until it is replaced.
alter table runs rename column state to kept;

-- The store writes nothing else, and reading the constraint anew was a fiftieth of every commit.
alter table runs drop constraint runs_status_check;

-- What hardly any run has need not be in an index for all of them: it is written when a run is made, and again when it ends.
drop index runs_by_root;
create index runs_by_root on runs (root_id) where root_id <> id;
drop index runs_by_label;
create index runs_by_label on runs using gin (labels jsonb_path_ops) where labels <> '{}';
