CREATE TABLE "markmill"."spendings" (
	"tenant" text NOT NULL,
	"budget_id" text NOT NULL,
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "markmill"."spendings_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"nanodollars" bigint NOT NULL,
	"tokens" bigint NOT NULL,
	CONSTRAINT "spendings_pkey" PRIMARY KEY("tenant","budget_id","id")
);

ALTER TABLE "markmill"."reservations" ADD COLUMN "counted" boolean DEFAULT true NOT NULL;
CREATE INDEX "reservations_uncounted" ON "markmill"."reservations" USING btree ("tenant","budget_id") WHERE not "markmill"."reservations"."counted";
