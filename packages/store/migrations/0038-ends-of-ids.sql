CREATE INDEX "runs_by_id_end" ON "markmill"."runs" USING btree ("tenant",reverse("id") collate "C");
CREATE INDEX "batches_by_id_end" ON "markmill"."batches" USING btree ("tenant",reverse("id") collate "C");
