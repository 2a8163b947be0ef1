CREATE TABLE "markmill"."batch_members" (
	"batch_id" text NOT NULL,
	"key" text NOT NULL,
	"pseudonym" text NOT NULL,
	"person" json NOT NULL,
	CONSTRAINT "batch_members_pkey" PRIMARY KEY("batch_id","key"),
	CONSTRAINT "batch_members_pseudonym" UNIQUE("batch_id","pseudonym")
);

CREATE TABLE "markmill"."batch_runs" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "markmill"."batch_runs_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"batch_id" text NOT NULL,
	"work" text NOT NULL,
	"try" integer NOT NULL,
	"run_id" text NOT NULL,
	"definition_hash" text NOT NULL,
	"rubric_hash" text NOT NULL,
	"hash" text NOT NULL,
	"why" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"admitted_at" timestamp with time zone,
	"end_seen_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"refusal" json,
	CONSTRAINT "batch_runs_try" UNIQUE("batch_id","work","try")
);

CREATE TABLE "markmill"."batch_works" (
	"batch_id" text NOT NULL,
	"key" text NOT NULL,
	"tenant" text NOT NULL,
	"pseudonym" text NOT NULL,
	"members" text[] NOT NULL,
	"group_name" text,
	"attempt" integer NOT NULL,
	"counts" boolean NOT NULL,
	"label" text NOT NULL,
	"sources" text[] NOT NULL,
	"submitted_at" text,
	"lateness" json NOT NULL,
	"hash" text,
	"content" json NOT NULL,
	CONSTRAINT "batch_works_pkey" PRIMARY KEY("batch_id","key"),
	CONSTRAINT "batch_works_pseudonym" UNIQUE("batch_id","pseudonym")
);

CREATE TABLE "markmill"."batches" (
	"id" text PRIMARY KEY NOT NULL,
	"tenant" text NOT NULL,
	"key" text NOT NULL,
	"name" text NOT NULL,
	"definition_hash" text NOT NULL,
	"rubric" json NOT NULL,
	"rubric_hash" text NOT NULL,
	"settings" json NOT NULL,
	"secret" text NOT NULL,
	"state" text DEFAULT 'open' NOT NULL,
	"paused_by" text,
	"reason" text DEFAULT '' NOT NULL,
	"concurrency" integer NOT NULL,
	"roster" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "batches_tenant_key" UNIQUE("tenant","key"),
	CONSTRAINT "batches_state_check" CHECK ("markmill"."batches"."state" in ('open', 'paused', 'cancelled')),
	CONSTRAINT "batches_concurrency_check" CHECK ("markmill"."batches"."concurrency" > 0)
);

CREATE TABLE "markmill"."grade_events" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "markmill"."grade_events_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"batch_id" text NOT NULL,
	"work" text NOT NULL,
	"at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"who" text NOT NULL,
	"kind" text NOT NULL,
	"criterion" text,
	"points_from" double precision,
	"points_to" double precision,
	"reason" text NOT NULL,
	"comment" text NOT NULL,
	"rubric_hash" text NOT NULL,
	"content" text,
	"try" integer NOT NULL,
	CONSTRAINT "grade_events_kind_check" CHECK ("markmill"."grade_events"."kind" in ('override', 'reviewed', 'released', 'withdrawn')),
	CONSTRAINT "grade_events_reason_check" CHECK ("markmill"."grade_events"."reason" <> '' or "markmill"."grade_events"."kind" not in ('override', 'withdrawn'))
);

CREATE UNIQUE INDEX "batch_runs_by_run" ON "markmill"."batch_runs" USING btree ("run_id");
CREATE INDEX "batch_runs_waiting" ON "markmill"."batch_runs" USING btree ("batch_id","id") WHERE "markmill"."batch_runs"."admitted_at" is null;
CREATE INDEX "batch_runs_in_flight" ON "markmill"."batch_runs" USING btree ("batch_id") WHERE "markmill"."batch_runs"."admitted_at" is not null and "markmill"."batch_runs"."end_seen_at" is null;
CREATE INDEX "batches_by_time" ON "markmill"."batches" USING btree ("tenant","created_at" desc,"id" desc);
CREATE INDEX "grade_events_by_work" ON "markmill"."grade_events" USING btree ("batch_id","work","id");

-- What a work holds, and what the settings of a batch name (a script), is kept for as long as they are there, as what a run names is.
create function markmill.name_work_blob() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' and old.hash is not null then
    delete from markmill.blob_references where tenant = old.tenant and hash = old.hash and kind = 'work' and referrer = old.batch_id || '/' || old.key;
  end if;
  if tg_op <> 'DELETE' and new.hash is not null then
    insert into markmill.blob_references (tenant, hash, kind, referrer) values (new.tenant, new.hash, 'work', new.batch_id || '/' || new.key)
    on conflict do nothing;
  end if;
  return null;
end $$;
create trigger work_names_blob after insert or delete on markmill.batch_works for each row execute function markmill.name_work_blob();
create trigger work_changes_blob after update on markmill.batch_works for each row
  when (old.hash is distinct from new.hash) execute function markmill.name_work_blob();

create function markmill.name_batch_blobs() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    delete from markmill.blob_references where kind = 'batch' and referrer = old.id;
  end if;
  if tg_op <> 'DELETE' then
    insert into markmill.blob_references (tenant, hash, kind, referrer)
    select distinct new.tenant, m[1], 'batch', new.id from regexp_matches(new.settings::text, '[0-9a-f]{64}', 'g') as m
    on conflict do nothing;
  end if;
  return null;
end $$;
create trigger batch_names_blobs after insert or delete on markmill.batches for each row execute function markmill.name_batch_blobs();
create trigger batch_changes_blobs after update on markmill.batches for each row
  when (old.settings::text <> new.settings::text) execute function markmill.name_batch_blobs();

-- What people said of a grade stands: nobody changes it, and it goes only with its whole batch.
create function markmill.refuse_grade_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and not exists (select 1 from markmill.batches b where b.id = old.batch_id) then
    return old;
  end if;
  raise exception 'grade events are append-only' using errcode = 'insufficient_privilege';
end $$;
create function markmill.refuse_grade_truncate() returns trigger language plpgsql as $$
begin
  raise exception 'grade events are append-only' using errcode = 'insufficient_privilege';
end $$;
create trigger grade_events_stay before update or delete on markmill.grade_events for each row execute function markmill.refuse_grade_change();
create trigger grade_events_stay_whole before truncate on markmill.grade_events for each statement execute function markmill.refuse_grade_truncate();
revoke update, truncate on markmill.grade_events from public, current_user;
