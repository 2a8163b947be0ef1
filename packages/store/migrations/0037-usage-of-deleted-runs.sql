CREATE TABLE "markmill"."deleted_usage" (
	"tenant" text NOT NULL,
	"hour" timestamp with time zone NOT NULL,
	"definition_hash" text NOT NULL,
	"model" text NOT NULL,
	"calls" bigint NOT NULL,
	"prompt_tokens" bigint NOT NULL,
	"completion_tokens" bigint NOT NULL,
	"characters" bigint NOT NULL,
	"nanodollars" bigint NOT NULL,
	"unsure_calls" bigint NOT NULL,
	"unsure_tokens" bigint NOT NULL,
	"unsure_nanodollars" bigint NOT NULL,
	CONSTRAINT "deleted_usage_pkey" PRIMARY KEY("tenant","hour","definition_hash","model")
);

ALTER TABLE "markmill"."charges" ADD COLUMN "deleted_definition" text;
CREATE INDEX "charges_of_deleted_runs" ON "markmill"."charges" USING btree ("tenant","id") WHERE "markmill"."charges"."deleted_definition" is not null;
