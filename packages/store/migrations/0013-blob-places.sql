-- Where the bytes of a blob are: on its row, in parts, or in an object store. The row says it, so blobs stay readable when the setting
-- changes for those to come.
alter table blobs alter column size type bigint;
alter table blobs alter column bytes drop not null;
-- row: in `bytes`. parts: in blob_parts. s3: in the bucket. The latter two under `object`.
alter table blobs add column place text not null default 'row' check (place in ('row', 'parts', 's3'));
alter table blobs add column object text;
alter table blobs add constraint blobs_have_bytes check ((place = 'row') = (bytes is not null) and (place = 'row') = (object is null));

create table blob_parts (
  object text not null,
  part integer not null,
  bytes bytea not null,
  primary key (object, part)
);

-- Objects that no blob names: on their way, or to be deleted. An object has a row here before its first byte is written, and again from
-- the moment its blob goes, so that what a kill leaves is found without looking through a bucket.
create table loose_objects (
  object text primary key,
  place text not null,
  -- when it may be deleted
  due timestamptz not null,
  -- somebody has begun to delete it: it cannot be named any more
  doomed boolean not null default false
);
create index loose_objects_by_due on loose_objects (due);
