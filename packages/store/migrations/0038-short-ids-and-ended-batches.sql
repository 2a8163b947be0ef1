CREATE INDEX "runs_by_id_end" ON "markmill"."runs" USING btree ("tenant",reverse("id") collate "C");
CREATE INDEX "batches_by_id_end" ON "markmill"."batches" USING btree ("tenant",reverse("id") collate "C");
ALTER TABLE "markmill"."batches" ADD COLUMN "settled_at" timestamp with time zone;
CREATE INDEX "batches_by_settling" ON "markmill"."batches" USING btree ("tenant","settled_at") WHERE "markmill"."batches"."settled_at" is not null;
CREATE INDEX "idempotency_keys_unasked" ON "markmill"."idempotency_keys" USING btree ("created_at") WHERE "markmill"."idempotency_keys"."request_hash" is null;
