-- Plain names: an activity is enqueued, and an inline activity stands on its run.
alter table activities rename column rings to enqueues;
alter table activities rename column rung_at to enqueued_at;
alter table runs rename column rings to enqueues;
alter table runs rename column rung_at to enqueued_at;
alter table runs rename column light to inline;
alter sequence light_activity_ids rename to inline_activity_ids;
alter view open_activities rename column rings to enqueues;
alter view open_activities rename column rung_at to enqueued_at;
