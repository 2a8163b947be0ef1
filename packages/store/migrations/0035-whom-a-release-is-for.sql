ALTER TABLE "markmill"."grade_events" ADD COLUMN "students" text[];
