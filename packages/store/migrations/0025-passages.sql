CREATE TABLE "markmill"."passages" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "markmill"."passages_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"tenant" text NOT NULL,
	"scope" text NOT NULL,
	"root_id" text,
	"embedder" text NOT NULL,
	"activity_id" bigint NOT NULL,
	"position" integer NOT NULL,
	"text" text NOT NULL,
	"vector" "bytea" NOT NULL,
	"created_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE UNIQUE INDEX "passages_once" ON "markmill"."passages" USING btree ("activity_id","position");
CREATE INDEX "passages_by_scope" ON "markmill"."passages" USING btree ("tenant","scope","embedder","id");
CREATE INDEX "passages_by_root" ON "markmill"."passages" USING btree ("root_id");
