-- Works are found by their key: an index that begins with the batch, too, is taken for as good while the tables are young. Whether a batch has
-- more than one try of any work is asked many times a second.
ALTER TABLE "markmill"."batch_works" DROP CONSTRAINT "batch_works_pseudonym";
CREATE INDEX "batch_runs_again" ON "markmill"."batch_runs" USING btree ("batch_id") WHERE "markmill"."batch_runs"."try" > 1;
ALTER TABLE "markmill"."batch_works" ADD CONSTRAINT "batch_works_pseudonym" UNIQUE("pseudonym","batch_id");
