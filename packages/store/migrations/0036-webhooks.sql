CREATE TABLE "markmill"."webhook_deliveries" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "markmill"."webhook_deliveries_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"webhook_id" text NOT NULL,
	"key" text NOT NULL,
	"event" text NOT NULL,
	"body" json NOT NULL,
	"state" text DEFAULT 'waiting' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"ended_at" timestamp with time zone,
	"status" integer,
	"answer" text,
	CONSTRAINT "webhook_deliveries_key" UNIQUE("webhook_id","key"),
	CONSTRAINT "webhook_deliveries_state_check" CHECK ("markmill"."webhook_deliveries"."state" in ('waiting', 'delivered', 'failed'))
);

CREATE TABLE "markmill"."webhooks" (
	"id" text PRIMARY KEY NOT NULL,
	"tenant" text NOT NULL,
	"url" text NOT NULL,
	"events" text[] NOT NULL,
	"secret" text NOT NULL,
	"enabled" boolean DEFAULT true NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"seen_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE "markmill"."webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_webhook_id_webhooks_id_fk" FOREIGN KEY ("webhook_id") REFERENCES "markmill"."webhooks"("id") ON DELETE cascade ON UPDATE no action;
CREATE INDEX "webhook_deliveries_due" ON "markmill"."webhook_deliveries" USING btree ("next_at") WHERE "markmill"."webhook_deliveries"."state" = 'waiting';
CREATE INDEX "webhook_deliveries_by_webhook" ON "markmill"."webhook_deliveries" USING btree ("webhook_id","id" desc);
CREATE INDEX "webhook_deliveries_by_time" ON "markmill"."webhook_deliveries" USING btree ("created_at");
CREATE INDEX "webhooks_by_tenant" ON "markmill"."webhooks" USING btree ("tenant","created_at");
CREATE INDEX "asks_by_time" ON "markmill"."asks" USING btree ("created_at");
CREATE INDEX "grade_events_released" ON "markmill"."grade_events" USING btree ("at") WHERE "markmill"."grade_events"."kind" = 'released';
