ALTER TABLE "markmill"."batch_runs" ADD COLUMN "criterion" text;
