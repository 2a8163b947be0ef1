CREATE INDEX "runs_queued" ON "markmill"."runs" USING btree ("tenant","created_at","id") WHERE "markmill"."runs"."rung_at" = 'infinity' and "markmill"."runs"."status" = 'doing';
