ALTER TABLE "markmill"."budgets" ADD COLUMN "cap_characters" bigint;
ALTER TABLE "markmill"."budgets" ADD COLUMN "spent_characters" bigint DEFAULT 0 NOT NULL;
ALTER TABLE "markmill"."budgets" ADD COLUMN "reserved_characters" bigint DEFAULT 0 NOT NULL;
ALTER TABLE "markmill"."budgets" ADD COLUMN "outer_nanodollars" bigint DEFAULT 0 NOT NULL;
ALTER TABLE "markmill"."budgets" ADD COLUMN "outer_tokens" bigint DEFAULT 0 NOT NULL;
ALTER TABLE "markmill"."budgets" ADD COLUMN "outer_characters" bigint DEFAULT 0 NOT NULL;
ALTER TABLE "markmill"."reservations" ADD COLUMN "characters" bigint DEFAULT 0 NOT NULL;
