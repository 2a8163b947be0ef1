ALTER TABLE "markmill"."session_marks" ADD COLUMN "call" text;
ALTER TABLE "markmill"."tool_calls" ADD COLUMN "in_session" boolean DEFAULT false NOT NULL;
