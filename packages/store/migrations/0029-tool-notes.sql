-- A note on what a tool gave belongs to its result: whoever finds the one tells the other.
ALTER TABLE "markmill"."tool_calls" ADD COLUMN "note" text;
