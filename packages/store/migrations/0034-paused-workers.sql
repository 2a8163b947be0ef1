ALTER TABLE "markmill"."workers" ADD COLUMN "renewed_at" timestamp with time zone;
ALTER TABLE "markmill"."workers" ADD COLUMN "keeps_ms" integer DEFAULT 0 NOT NULL;
