-- A passage goes with the run that inserted it. Those of runs that were deleted before should have gone with them.
UPDATE "markmill"."passages" p SET "root_id" = a."root_id" FROM "markmill"."activities" a WHERE a."id" = p."activity_id" AND p."root_id" IS NULL;
DELETE FROM "markmill"."passages" WHERE "root_id" IS NULL;
ALTER TABLE "markmill"."passages" ALTER COLUMN "root_id" SET NOT NULL;
ALTER TABLE "markmill"."tool_calls" ADD COLUMN "request_hash" text;
UPDATE "markmill"."tool_calls" t SET "request_hash" = CASE
  WHEN t."call_index" < 0 THEN encode(sha256(convert_to(t."name" || chr(10) || t."arguments", 'UTF8')), 'hex')
  ELSE coalesce((SELECT c."request_hash" FROM "markmill"."calls" c
    WHERE c."activity_id" = t."activity_id" AND c."call_index" = t."call_index" AND c."created_at" <= t."created_at"
    ORDER BY c."created_at" DESC LIMIT 1), '') END;
ALTER TABLE "markmill"."tool_calls" ALTER COLUMN "request_hash" SET NOT NULL;
ALTER TABLE "markmill"."tool_calls" DROP CONSTRAINT "tool_calls_pkey";
ALTER TABLE "markmill"."tool_calls" ADD CONSTRAINT "tool_calls_pkey" PRIMARY KEY("activity_id","call_index","request_hash","position","attempt");
