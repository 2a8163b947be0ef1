CREATE TABLE "markmill"."tool_calls" (
	"activity_id" bigint NOT NULL,
	"call_index" integer NOT NULL,
	"position" integer NOT NULL,
	"attempt" integer NOT NULL,
	"claim" integer NOT NULL,
	"run_id" text NOT NULL,
	"root_id" text NOT NULL,
	"tenant" text NOT NULL,
	"name" text NOT NULL,
	"arguments" text NOT NULL,
	"state" text NOT NULL,
	"result" text,
	"failure" json,
	"ms" integer,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT "tool_calls_pkey" PRIMARY KEY("activity_id","call_index","position","attempt"),
	CONSTRAINT "tool_calls_state_check" CHECK ("markmill"."tool_calls"."state" in ('begun', 'done', 'failed')),
	CONSTRAINT "tool_calls_end_check" CHECK (("markmill"."tool_calls"."state" = 'done') = ("markmill"."tool_calls"."result" is not null) and ("markmill"."tool_calls"."state" = 'failed') = ("markmill"."tool_calls"."failure" is not null))
);

CREATE INDEX "tool_calls_by_root" ON "markmill"."tool_calls" USING btree ("root_id");
CREATE INDEX "tool_calls_by_run" ON "markmill"."tool_calls" USING btree ("run_id");
