-- The account: one row per request to a model that left us, whatever became of it. All that is shown of cost, tokens and calls is summed
-- from here. A reply and its price are written together; a request without a reply stays at the most it can have cost.
create table charges (
  id bigint generated always as identity primary key,
  activity_id bigint not null,
  call_index integer not null,
  claim integer not null,
  run_id text not null,
  root_id text not null,
  model text not null,
  -- open: on its way, or lost with its worker. paid: its reply is stored. unsure: no reply came, and it may have been billed.
  state text not null check (state in ('open', 'paid', 'unsure')),
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  characters bigint not null,
  nanodollars bigint not null,
  created_at timestamptz not null default clock_timestamp()
) with (fillfactor = 80);
create unique index charges_open on charges (activity_id, call_index, claim) where state = 'open';
create index charges_by_run on charges (run_id);
create index charges_by_root on charges (root_id);

insert into charges (activity_id, call_index, claim, run_id, root_id, model, state,
  prompt_tokens, completion_tokens, characters, nanodollars, created_at)
select activity_id, call_index, 0, run_id, root_id, model, 'paid', prompt_tokens, completion_tokens, characters, nanodollars, created_at
from calls;

-- The attempt of its activity that got the reply: an empty one is what became of that attempt.
alter table calls add column attempt integer not null default 1;

-- Rate and pause of a model at an endpoint, shared by all workers (rates.ts). What stood here was worth minutes.
drop table rates;
create table rates (
  endpoint text not null,
  model text not null,
  -- when what was granted so far is worked off at the allowed rate
  requests_until timestamptz not null,
  tokens_until timestamptz not null,
  -- of the slot that was granted last
  starts_at timestamptz not null,
  -- in a row; 0: not paused
  refusals integer not null default 0,
  paused_at timestamptz,
  paused_until timestamptz,
  reason text,
  -- who was let through to see whether it answers again, and for how long others wait for that
  prober text,
  probe_until timestamptz,
  primary key (endpoint, model)
) with (fillfactor = 50);
