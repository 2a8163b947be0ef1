-- Checkpoints of sandbox sessions: what changed since the submission, piece by piece, and where the session stood.

-- On whose behalf a session is held: who has a later claim of the same activity need not wait for the lease.
alter table sessions add column activity_id bigint, add column claim integer;

-- latest: after the last activity that changed the workspace. begun: before the EXECUTE that began last.
create table session_marks (
  session_id text not null,
  name text not null,
  -- of begun: which EXECUTE
  activity_id bigint,
  -- the last checkpoint that counts; 0: the submission itself
  position integer not null,
  -- why there is none of the workspace as it was here
  problem text,
  -- of latest: false while an EXECUTE may have changed more
  settled boolean not null,
  state json not null,
  instance text not null,
  processes json not null,
  manifest bytea not null,
  -- another one each time the mark is made
  seal text not null,
  primary key (session_id, name)
);

create table checkpoints (
  session_id text not null,
  position integer not null,
  -- needs nothing of what was before
  whole boolean not null,
  removed bytea not null,
  size bigint not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (session_id, position)
);

create table checkpoint_parts (
  session_id text not null,
  position integer not null,
  part integer not null,
  bytes bytea not null,
  primary key (session_id, position, part)
);
-- A tar of sources is compressed by the server like any long value; what is compressed already costs one look.
