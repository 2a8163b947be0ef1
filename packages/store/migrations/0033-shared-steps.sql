CREATE TABLE "markmill"."step_pools" (
	"run_id" text PRIMARY KEY NOT NULL,
	"cap" bigint NOT NULL,
	"used" bigint NOT NULL
);

ALTER TABLE "markmill"."runs" ADD COLUMN "pools" text[] DEFAULT '{}' NOT NULL;
