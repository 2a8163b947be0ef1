CREATE TABLE "markmill"."batch_rubrics" (
	"batch_id" text NOT NULL,
	"hash" text NOT NULL,
	"rubric" json NOT NULL,
	CONSTRAINT "batch_rubrics_pkey" PRIMARY KEY("batch_id","hash")
);

ALTER TABLE "markmill"."batches" ADD COLUMN "deleting_at" timestamp with time zone;
ALTER TABLE "markmill"."grade_events" ADD COLUMN "takes_back" bigint;
ALTER TABLE "markmill"."grade_events" ADD COLUMN "idempotency_key" text;
ALTER TABLE "markmill"."grade_events" ADD COLUMN "request_hash" text;
CREATE UNIQUE INDEX "grade_events_by_key" ON "markmill"."grade_events" USING btree ("batch_id","idempotency_key") WHERE "markmill"."grade_events"."idempotency_key" is not null;

-- Rubrics of batches that are there: the present one, and the earlier ones of the definitions their tries were graded by. A reader checks
-- each against its hash.
INSERT INTO "markmill"."batch_rubrics" (batch_id, hash, rubric) SELECT id, rubric_hash, rubric FROM "markmill"."batches";
INSERT INTO "markmill"."batch_rubrics" (batch_id, hash, rubric)
SELECT DISTINCT ON (t.batch_id, t.rubric_hash) t.batch_id, t.rubric_hash, p.value -> 'rubric'
FROM (SELECT DISTINCT batch_id, rubric_hash, definition_hash FROM "markmill"."batch_runs") t
  JOIN "markmill"."batches" b ON b.id = t.batch_id AND b.rubric_hash <> t.rubric_hash
  JOIN "markmill"."definitions" d ON d.tenant = b.tenant AND d.hash = t.definition_hash
  CROSS JOIN LATERAL json_each(d.programs) p
WHERE p.value -> 'rubric' IS NOT NULL
ORDER BY t.batch_id, t.rubric_hash, p.key <> d.root
ON CONFLICT DO NOTHING;
