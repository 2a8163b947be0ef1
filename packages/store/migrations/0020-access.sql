-- Who may use an installation, and what they changed.
create table if not exists tenants (
  id text primary key,
  name text not null,
  created_at timestamptz not null default clock_timestamp()
);
insert into tenants (id, name) values ('default', 'default') on conflict do nothing;

create table users (
  id text primary key,
  tenant text not null,
  name text not null,
  -- scrypt, with its parameters and its salt
  password text not null,
  roles text[] not null,
  disabled boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  unique (tenant, name)
);

-- A key has 256 random bits, so one pass of SHA-256 hides it; a password would need more.
create table api_keys (
  id text primary key,
  tenant text not null,
  name text not null,
  secret_hash bytea not null,
  roles text[] not null,
  -- null: all that the roles allow
  scopes text[],
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  -- the one that an installation begins with
  first boolean not null default false
);
create index api_keys_by_tenant on api_keys (tenant, created_at);
create unique index api_keys_first on api_keys (first) where first;

-- Sessions of browsers. (`sessions` are those of sandboxes.)
create table logins (
  id text primary key,
  tenant text not null,
  secret_hash bytea not null,
  -- the one or the other
  user_id text,
  key_id text,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  check ((user_id is null) <> (key_id is null))
);
create index logins_by_expiry on logins (expires_at);
create index logins_by_user on logins (user_id) where user_id is not null;
create index logins_by_key on logins (key_id) where key_id is not null;

-- The audit log: what was asked for is written before it is done, what came of it after. An entry without an outcome was asked for, and
-- the process ended in between.
create table audit (
  id bigint generated always as identity primary key,
  tenant text not null,
  at timestamptz not null default clock_timestamp(),
  actor text not null,
  actor_name text not null,
  action text not null,
  target text,
  request_id text not null,
  address text not null,
  details json not null default '{}'
);
create index audit_by_tenant on audit (tenant, id);
create table audit_outcomes (
  audit_id bigint primary key,
  at timestamptz not null default clock_timestamp(),
  status integer not null,
  -- of what was made
  target text
);

-- Nobody changes or deletes what stands there: neither by right nor by mistake.
create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is append-only' using errcode = 'insufficient_privilege';
end $$;
create trigger audit_stays before update or delete or truncate on audit for each statement execute function refuse_audit_change();
create trigger audit_outcomes_stay before update or delete or truncate on audit_outcomes
  for each statement execute function refuse_audit_change();
revoke update, delete, truncate on audit, audit_outcomes from public, current_user;
