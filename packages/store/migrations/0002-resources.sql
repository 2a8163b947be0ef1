-- What runs use: paid calls, budgets, rate limits, sandbox sessions, workers, blobs.

create table calls (
  activity_id bigint not null,
  call_index integer not null,
  request_hash text not null,
  run_id text not null,
  root_id text not null,
  model text not null,
  request json not null,
  reply json not null,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  characters bigint not null,
  nanodollars bigint not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (activity_id, call_index, request_hash)
);
create index calls_by_root on calls (root_id);
create index calls_by_run on calls (run_id);

-- reserved is the sum of the budget's reservations, kept here because only the locked row is certain to be current.
create table budgets (
  id text primary key,
  cap_nanodollars bigint,
  cap_tokens bigint,
  spent_nanodollars bigint not null default 0,
  spent_tokens bigint not null default 0,
  reserved_nanodollars bigint not null default 0,
  reserved_tokens bigint not null default 0
) with (fillfactor = 50);

create table reservations (
  activity_id bigint not null,
  call_index integer not null,
  budget_id text not null,
  nanodollars bigint not null,
  tokens bigint not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (activity_id, call_index, budget_id)
);

create table rates (
  model text primary key,
  -- what is left in the buckets at `filled_at`; below zero: promised to those who wait
  requests double precision not null,
  tokens double precision not null,
  filled_at timestamptz not null,
  paused_until timestamptz
) with (fillfactor = 50);

create table sessions (
  id text primary key,
  kind text not null,
  host text not null,
  worker text not null,
  lease_until timestamptz not null,
  deadline timestamptz,
  state json not null default '{}',
  checkpoint_hash text,
  created_at timestamptz not null default clock_timestamp()
) with (fillfactor = 70);
create index sessions_by_lease on sessions (lease_until);

create table workers (
  id text primary key,
  host text not null,
  info json not null default '{}',
  started_at timestamptz not null default clock_timestamp(),
  heartbeat_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

create table blobs (
  hash text primary key,
  bytes bytea not null,
  size integer not null,
  created_at timestamptz not null default clock_timestamp()
);
