-- Who names which blob. Written by the server with what names it, in the same statement, whoever writes that: deleting what nobody names
-- then asks this table, and not every run there is.
create table blob_references (
  hash text not null,
  -- run: the root run with this id. session: the sandbox session of it.
  kind text not null,
  referrer text not null,
  primary key (hash, kind, referrer)
);
create index blob_references_by_referrer on blob_references (kind, referrer);
create index blobs_by_age on blobs (created_at);

-- What a run was asked with is opaque here: a blob whose hash stands anywhere in it is named.
create function name_run_blobs() returns trigger language plpgsql as $$
begin
  insert into markmill.blob_references (hash, kind, referrer)
  select distinct m[1], 'run', new.id from regexp_matches(concat(new.submission, new.options), '[0-9a-f]{64}', 'g') as m
  on conflict do nothing;
  return null;
end $$;
create function forget_run_blobs() returns trigger language plpgsql as $$
begin
  delete from markmill.blob_references where kind = 'run' and referrer = old.id;
  return null;
end $$;
create function name_session_blob() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' and old.checkpoint_hash is not null then
    delete from markmill.blob_references where kind = 'session' and referrer = old.id;
  end if;
  if tg_op <> 'DELETE' and new.checkpoint_hash is not null then
    insert into markmill.blob_references (hash, kind, referrer) values (new.checkpoint_hash, 'session', new.id) on conflict do nothing;
  end if;
  return null;
end $$;

-- Most runs name none, and no called run does: they pay for one comparison.
create trigger run_names_blobs after insert on runs for each row
  when (new.root_id = new.id and (new.submission is not null or new.options::text <> '{}')) execute function name_run_blobs();
create trigger run_forgets_blobs after delete on runs for each row
  when (old.root_id = old.id and (old.submission is not null or old.options::text <> '{}')) execute function forget_run_blobs();
create trigger session_names_blob after insert or delete or update of checkpoint_hash on sessions for each row
  execute function name_session_blob();

insert into blob_references (hash, kind, referrer)
select distinct m[1], 'run', r.id from runs r, regexp_matches(concat(r.submission, r.options), '[0-9a-f]{64}', 'g') as m
where r.root_id = r.id
union select checkpoint_hash, 'session', id from sessions where checkpoint_hash is not null;
