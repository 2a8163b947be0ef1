-- Definitions, runs and what a run consists of.
-- No foreign keys: the commit statement writes parents and children together, retention deletes whole trees, and a foreign key
-- costs a trigger and a row lock for every activity.
-- json, not jsonb, for what is written once and read whole: it is neither taken apart nor put together again by the server.
-- fillfactor leaves room on the page so that the update of every step stays on its page and touches no index.

create table definitions (
  hash text primary key,
  dialect text not null,
  name text not null,
  root text not null,
  programs json not null,
  files json not null,
  created_at timestamptz not null default clock_timestamp()
);

create table runs (
  id text primary key,
  root_id text not null,
  -- the call that made this run: a repeated delivery of the same try finds it, a retry or a resumed run calls anew
  parent_activity_id bigint,
  parent_attempt integer,
  parent_epoch integer,
  parent_job text,
  definition_hash text not null,
  program text not null,
  name text not null,
  status text not null check (status in ('created', 'doing', 'stopped', 'success', 'failed', 'cancelled')),
  phase text not null,
  word text,
  epoch integer not null,
  rev bigint not null,
  state json not null,
  depth integer not null,
  deadline timestamptz,
  labels jsonb not null default '{}',
  budgets text[] not null default '{}',
  options json not null default '{}',
  submission json,
  idempotency_key text unique,
  forked_from text,
  result text,
  reason json,
  steps integer not null default 0,
  calls integer not null default 0,
  prompt_tokens bigint not null default 0,
  completion_tokens bigint not null default 0,
  nanodollars bigint not null default 0,
  created_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  ended_at timestamptz,
  unique (parent_activity_id, parent_attempt, parent_epoch)
) with (fillfactor = 60);
create index runs_by_status on runs (status, created_at desc, id desc);
create index runs_by_definition on runs (definition_hash, created_at desc, id desc);
create index runs_by_time on runs (created_at desc, id desc);
create index runs_by_root on runs (root_id);
create index runs_by_label on runs using gin (labels jsonb_path_ops);
create index runs_by_deadline on runs (deadline) where deadline is not null;
create index runs_by_end on runs (ended_at) where ended_at is not null;

create table variables (
  run_id text not null,
  name text not null,
  -- null: no longer set
  value text,
  primary key (run_id, name)
) with (fillfactor = 80);
create index variables_by_value on variables (name, left(value, 64));

create view hits as
  select runs.id as run_id, hit.key as node, hit.value::integer as hits
  from runs, json_each_text(runs.state -> 'hits') as hit;

create table activities (
  id bigint generated always as identity primary key,
  run_id text not null,
  root_id text not null,
  node text not null,
  generation integer not null,
  -- -1: not part of a map (a null would be distinct from every other null in the unique index)
  item integer not null,
  attempt integer not null,
  kind text not null,
  queue text not null,
  epoch integer not null,
  state text not null check (state in ('ready', 'claimed', 'waiting', 'done', 'void')),
  -- fencing token: raised by every claim
  claim integer not null default 0,
  -- claims of this attempt that followed one which never ended
  takeovers integer not null default 0,
  claimed_by text,
  claimed_at timestamptz,
  lease_until timestamptz,
  not_before timestamptz,
  -- times published; part of the job id, so it never falls
  rings integer not null default 1,
  -- when the doorbell was, or is to be, rung
  rung_at timestamptz not null default clock_timestamp(),
  work json not null,
  -- what waits to be folded: a callee's end
  outcome json,
  usage json,
  -- the event that ended the latest attempt
  seq bigint,
  created_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  unique (run_id, node, generation, item)
) with (fillfactor = 80);
create index activities_ready on activities (rung_at) where state = 'ready';
create index activities_claimed on activities (lease_until) where state = 'claimed';

-- Part 0 is the event that was folded; later parts are warnings that came with it, for people only.
create table events (
  run_id text not null,
  seq bigint not null,
  part smallint not null default 0,
  type text not null,
  at timestamptz not null,
  body json not null,
  primary key (run_id, seq, part)
);

create table threads (
  id text primary key,
  run_id text not null,
  agent text not null,
  created_at timestamptz not null default clock_timestamp()
);
create index threads_by_run on threads (run_id);

create table messages (
  id bigint generated always as identity primary key,
  thread text not null,
  run_id text not null,
  seq bigint not null,
  position integer not null,
  role text not null,
  text text not null,
  activity_id bigint,
  unique (run_id, seq, position)
);
create index messages_by_thread on messages (thread, id);

create table asks (
  activity_id bigint primary key,
  run_id text not null,
  question text not null,
  text text not null,
  expires_at timestamptz,
  -- open: waits for a person. void: the run went on without.
  state text not null check (state in ('open', 'answered', 'expired', 'void')),
  answer text,
  answered_by text,
  created_at timestamptz not null default clock_timestamp(),
  closed_at timestamptz
);
create index asks_open on asks (expires_at) where state = 'open';
create index asks_by_run on asks (run_id);
