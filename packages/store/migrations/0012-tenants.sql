-- Whose everything is. What there was before belongs to the one tenant that an installation without others has.
create table tenants (
  id text primary key,
  name text not null,
  created_at timestamptz not null default clock_timestamp()
);
insert into tenants (id, name) values ('default', 'default');

-- The default fills the rows there are and goes: whoever writes a row says whose it is.
alter table runs add column tenant text not null default 'default';
alter table runs alter column tenant drop default;
-- The status comes first: the supervisor looks for open runs of all tenants.
drop index runs_by_status;
create index runs_by_status on runs (status, tenant, created_at desc, id desc);
drop index runs_by_definition;
create index runs_by_definition on runs (tenant, definition_hash, created_at desc, id desc);
drop index runs_by_time;
create index runs_by_time on runs (tenant, created_at desc, id desc);

alter table definitions add column tenant text not null default 'default';
alter table definitions alter column tenant drop default;
alter table definitions drop constraint definitions_pkey;
alter table definitions add primary key (tenant, hash);
create index definitions_by_name on definitions (tenant, name, created_at desc);

alter table budgets add column tenant text not null default 'default';
alter table budgets alter column tenant drop default;
alter table budgets drop constraint budgets_pkey;
alter table budgets add primary key (tenant, id);
alter table reservations add column tenant text not null default 'default';
alter table reservations alter column tenant drop default;
create index budgets_of_runs on budgets (created_at) where for_run;

alter table charges add column tenant text not null default 'default';
alter table charges alter column tenant drop default;
create index charges_by_time on charges (tenant, created_at);

-- Tenants have keys of their own, with rates of their own. What stood here was worth minutes.
delete from rates;
alter table rates add column tenant text not null;
alter table rates drop constraint rates_pkey;
alter table rates add primary key (tenant, endpoint, model);

-- A key goes with its run. request_hash: what was asked for; null: made before requests were compared.
create table idempotency_keys (
  tenant text not null,
  key text not null,
  request_hash text,
  run_id text not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (tenant, key)
);
create index idempotency_keys_by_run on idempotency_keys (run_id);
insert into idempotency_keys (tenant, key, run_id, created_at)
select tenant, idempotency_key, id, created_at from runs where idempotency_key is not null;
alter table runs drop column idempotency_key;

alter table blobs add column tenant text not null default 'default';
alter table blobs alter column tenant drop default;
alter table blobs drop constraint blobs_pkey;
alter table blobs add primary key (tenant, hash);
alter table blob_references add column tenant text not null default 'default';
alter table blob_references alter column tenant drop default;
alter table blob_references drop constraint blob_references_pkey;
alter table blob_references add primary key (tenant, hash, kind, referrer);

create or replace function name_run_blobs() returns trigger language plpgsql as $$
begin
  insert into markmill.blob_references (tenant, hash, kind, referrer)
  select distinct new.tenant, m[1], 'run', new.id
  from regexp_matches(concat(new.submission, new.options), '[0-9a-f]{64}', 'g') as m
  on conflict do nothing;
  return null;
end $$;
-- A session is that of a root run.
create or replace function name_session_blob() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' and old.checkpoint_hash is not null then
    delete from markmill.blob_references where kind = 'session' and referrer = old.id;
  end if;
  if tg_op <> 'DELETE' and new.checkpoint_hash is not null then
    insert into markmill.blob_references (tenant, hash, kind, referrer)
    select r.tenant, new.checkpoint_hash, 'session', new.id from markmill.runs r where r.id = new.id
    on conflict do nothing;
  end if;
  return null;
end $$;
