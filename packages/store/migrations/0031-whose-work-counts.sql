-- For whom a work counts, and under which other keys an upload may name a person or a work: identity survives a change of keys.
ALTER TABLE "markmill"."batch_members" ADD COLUMN "aliases" text[] DEFAULT '{}' NOT NULL;
ALTER TABLE "markmill"."batch_works" ADD COLUMN "counts_for" text[];
ALTER TABLE "markmill"."batch_works" ADD COLUMN "called" text;
